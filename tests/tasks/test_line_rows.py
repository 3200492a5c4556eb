"""Lines of records against the rows of the page that they were quoted from."""

from __future__ import annotations

from typing import Any

from deskwork.tasks.extracted import Found
from deskwork.tasks.line_rows import Look, line_problems, rows_quoted
from deskwork.tools.documents import Table
from deskwork.tools.tool import Evidence

HEAD = ("Description", "Quantity", "Unit price", "Amount")
BOLTS = ("Steel bolts", "10", "12.50", "125.00")
WIRE = ("Copper wire", "3", "99.00", "297.00")
NET = ("Net total", "", "", "422.00")
TABLE = Table((HEAD, BOLTS, WIRE, NET))
MARKDOWN = "\n".join("| " + " | ".join(row) + " |" for row in TABLE.rows)
PLAIN = "\n".join(" ".join(row) for row in TABLE.rows)


def found(page: str, *lines: dict[str, tuple[Any, str]]) -> Found:
    """A record's lines; each field has its value and the quote it was found by."""
    record = {"lines": [{name: value for name, (value, _) in line.items()} for line in lines]}
    evidence = {
        f"/lines/{number}/{name}": Evidence("E1", "a", 1, quote, "", page.index(quote))
        for number, line in enumerate(lines)
        for name, (_, quote) in line.items()
    }
    return Found("invoice", [1], record, evidence)


def shown(text: str, tables: list[Table]) -> Look:
    return lambda page: (text, tables)


def bolts(page: str, quote: str = "", **changes: tuple[Any, str]) -> dict[str, tuple[Any, str]]:
    row = quote or next(line for line in page.splitlines() if "bolts" in line)
    values = {"description": "Steel bolts", "quantity": 10, "unit_price": 12.5, "amount": 125.0}
    return {name: (value, row) for name, value in values.items()} | changes


def wire(page: str) -> dict[str, tuple[Any, str]]:
    row = next(line for line in page.splitlines() if "wire" in line)
    values = {"description": "Copper wire", "quantity": 3, "unit_price": 99.0, "amount": 297.0}
    return {name: (value, row) for name, value in values.items()}


def test_lines_as_they_stand() -> None:
    for page, tables in ((MARKDOWN, [TABLE]), (PLAIN, [])):
        assert line_problems(found(page, bolts(page), wire(page)), shown(page, tables)) == []


def test_a_line_mixed_from_two_rows() -> None:
    for page, tables in ((MARKDOWN, [TABLE]), (PLAIN, [])):
        row = next(line for line in page.splitlines() if "wire" in line)
        mixed = bolts(page, quantity=(3, row), unit_price=(99.0, row), amount=(297.0, row))
        problems = line_problems(found(page, mixed, wire(page)), shown(page, tables))
        assert any("description and quantity stand in different rows" in p for p in problems)


def test_a_line_on_two_lines_of_the_page_is_no_mixture() -> None:
    page = "Steel bolts, zinc, box of 50\n10 pcs 12.50 125.00"
    line = {"description": ("Steel bolts", "Steel bolts"), "amount": (125.0, "10 pcs 12.50 125.00")}
    assert line_problems(found(page, line), shown(page, [])) == []


def test_quantity_times_price() -> None:
    def line(**values: float) -> Found:
        return Found("invoice", [1], {"lines": [values]})

    def problems(**values: float) -> list[str]:
        return line_problems(line(**values), lambda n: ("", []))

    (problem,) = problems(quantity=10, unit_price=125.0, amount=12.5)
    assert problem.startswith("/lines/0: quantity 10 times unit_price 125.00 make 1,250.00")
    (problem,) = problems(menge=2, einzelpreis=5.0, betrag=11.0)
    assert "betrag is 11.00" in problem
    assert problems(quantity=3, unit_price=0.333, amount=1.0) == []
    assert problems(quantity=2, unit_price=5.0, discount=1.0, amount=9.0) == []
    assert problems(quantity=2, unit_price=5.0, vat=1.9, total=11.9) == []
    assert problems(quantity=-2, unit_price=5.0, amount=-10.0) == []


def test_one_row_taken_for_two_lines() -> None:
    for page, tables in ((MARKDOWN, [TABLE]), (PLAIN, [])):
        twice = found(page, bolts(page), bolts(page), wire(page))
        (problem,) = line_problems(twice, shown(page, tables))
        assert problem.startswith("/lines/0: quoted from the same place as /lines/1")


def test_a_row_that_is_left_out() -> None:
    (problem,) = line_problems(found(MARKDOWN, bolts(MARKDOWN)), shown(MARKDOWN, [TABLE]))
    assert problem == (
        "/lines: 1 of the rows of the table on page 1 is left out: “Copper wire 3 99.00 297.00”"
    )


def test_rows_of_a_sheet_around_the_lines_are_none_of_them() -> None:
    table = Table((("Date", "2025-05-01"), ("Number", "X-1"), HEAD, BOLTS, WIRE, ("Net", "422.00")))
    page = "\n".join("| " + " | ".join(row) + " |" for row in table.rows)
    assert line_problems(found(page, bolts(page), wire(page)), shown(page, [table])) == []


def test_a_row_of_another_record_is_not_left_out() -> None:
    one, two = found(MARKDOWN, bolts(MARKDOWN)), found(MARKDOWN, wire(MARKDOWN))
    look = shown(MARKDOWN, [TABLE])
    quoted = rows_quoted([one, two], look)
    assert line_problems(one, look, quoted) == []
    assert line_problems(two, look, quoted) == []
