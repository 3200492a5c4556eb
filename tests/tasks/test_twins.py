"""Which records are the same record twice."""

from __future__ import annotations

from typing import Any

from deskwork.tasks.extracted import Found
from deskwork.tasks.twins import Twins


def records(*values: dict[str, Any]) -> list[Found]:
    return [Found("", [1], value) for value in values]


def test_the_same_record_in_two_files_is_told() -> None:
    twins = Twins()
    for number in ("A-1", 77):
        first, second = records({"number": number}), records({"number": number})
        twins.tell("a", first)
        twins.tell("b", second)
        assert first[0].problems == []
        assert second[0].problems == ["/: the same record as in a"]


def test_many_in_one_file_are_told_once() -> None:
    found = records(*[{"number": "A-1", "total": 5.0}] * 500, {"number": "A-2", "total": 5.0})
    Twins().tell("a", found)
    assert [problem for item in found for problem in item.problems] == [
        "/: the same record 500 times in this file"
    ]


def test_a_date_alone_makes_no_twin() -> None:
    twins = Twins()
    for value in ({"date": "2025-01-02"}, {"date": "2025-01-02", "city": "Rome"}, {"total": 5}, {}):
        for file in ("a", "b"):
            (item,) = records(value)
            twins.tell(file, [item])
            assert item.problems == []
    three = {"date": "2025-01-02", "city": "Rome", "name": "Ann"}
    twins.tell("a", records(three))
    (item,) = records(three)
    twins.tell("b", [item])
    assert item.problems
