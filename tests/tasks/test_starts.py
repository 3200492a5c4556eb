"""Which job a call means: the id follows from what is asked, and only limits may change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deskwork.tasks.journal import Journal
from deskwork.tasks.limits import Limits
from deskwork.tasks.requests import AskRequest, JobRequest
from deskwork.tasks.starts import differing, find_or_create, make_start
from deskwork.tools.errors import WrongUse

SETTINGS = {"model": "m", "protocol": "chat", "profile": "gateway", "model_url": "http://a/v1"}


@pytest.fixture
def journal(tmp_path: Path, database_url: str | None) -> Iterator[Journal]:
    journal = Journal.open(database_url, tmp_path)
    yield journal
    journal.database.close()


def find(journal: Journal, settings: dict[str, Any] | None = None, **request: Any) -> str:
    given: JobRequest = AskRequest(**{"question": "How much?", **request})
    start = make_start("ask", given, {**SETTINGS, **(settings or {})})
    return find_or_create(journal, start, given.job).id


def end(journal: Journal, job: str, state: str) -> None:
    journal.acquire(job).release(state)


def test_the_same_call_goes_on_until_the_job_is_finished(journal: Journal) -> None:
    first = find(journal)
    for state in ("stopped", "failed", "out of budget", "waiting for a person"):
        end(journal, first, state)
        assert find(journal) == first
    end(journal, first, "done")
    second = find(journal)
    assert second == f"{first}-2"
    assert find(journal) == second
    end(journal, second, "needs review")
    assert find(journal) == f"{first}-3"


def test_the_id_follows_from_question_tools_and_the_files_contents(
    journal: Journal, tmp_path: Path
) -> None:
    files = [tmp_path / name / "a.txt" for name in ("one", "two")]
    for file in files:
        file.parent.mkdir()
        file.write_text("The same.")
    jobs = [find(journal, files=[file]) for file in files]
    assert jobs[0] == jobs[1]  # where a file lies doesn't matter
    files[1].write_text("Changed.")
    others = [
        find(journal, files=[files[1]]),
        find(journal),
        find(journal, question="How many?"),
        find(journal, tools=["calculate"]),
    ]
    assert len({jobs[0], *others}) == 5


@pytest.mark.parametrize(
    ("settings", "request_", "told"),
    [
        ({"model": "other"}, {}, "model 'm', not 'other'"),
        ({"protocol": "messages"}, {}, "protocol 'chat', not 'messages'"),
        ({}, {"budget": "max"}, "budget 'high', not 'max'"),
        ({}, {"question": "Else?", "job": "mine"}, "exists already, with other inputs"),
    ],
)
def test_anything_but_limits_is_refused_with_the_way_to_fork(
    journal: Journal, settings: dict[str, Any], request_: dict[str, Any], told: str
) -> None:
    named: dict[str, Any] = {"job": "mine"} if "job" in request_ else {}
    job = find(journal, **named)
    with pytest.raises(WrongUse, match=told) as caught:
        find(journal, settings, **request_)
    assert f"deskwork fork {job} --at N" in caught.value.hint
    # The endpoint may have moved, and limits may change.
    assert find(journal, {"model_url": "http://b/v1"}, **named) == job
    assert find(journal, limits=Limits(max_steps=500), **named) == job


def test_files_that_differ_are_named() -> None:
    before = [("a.pdf", "1"), ("b.pdf", "2"), ("c.pdf", "3")]
    now = [("a.pdf", "1"), ("b.pdf", "9"), ("d.pdf", "4")]
    assert differing(before, now) == "b.pdf has changed, c.pdf is gone, d.pdf is new"
    many = [(f"{n}.pdf", "1") for n in range(7)]
    assert differing(many, []).endswith("4.pdf is gone, and 2 more")
