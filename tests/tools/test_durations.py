"""Lengths of periods, as headings and sentences tell them."""

from __future__ import annotations

import pytest

from deskwork.tools.documents import Table
from deskwork.tools.durations import headed, meant, months_between, spoken, start_of
from deskwork.tools.printed import printed_in

RELEASE = """Statements of income
Three Months Ended Six Months Ended
July 1,
2023
June 25,
2022
July 1,
2023
June 25,
2022
Net sales $ 60,584 $ 63,355 $ 230,901 $ 245,241
Other income - 12 5 -
Balance sheet
July 1, 2023 June 25, 2022
Assets held for sale here 11,000 12,000
"""


def _lengths(line: str, *, tables: tuple[Table, ...] = ()) -> list[tuple[str, int]]:
    found = printed_in(line, RELEASE, RELEASE.index(line), tables)
    return [(printed.numeral.text, printed.months) for printed in found]


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        ("Three Months Ended Six Months Ended", [3, 6]),
        ("13 Weeks Ended 52 Weeks Ended", [3, 12]),
        ("For the fiscal years ended June 30,", [12]),
        ("For the nine-month periods ending", [9]),
        ("Quarter ended March 31", [3]),
        ("Months of inventory", []),
    ],
)
def test_lengths_in_a_heading(text: str, lengths: list[int]) -> None:
    assert headed(text) == lengths


@pytest.mark.parametrize(
    ("text", "months"),
    [
        ("Revenue rose in the third quarter of 2023.", {3}),
        ("Q2 2023 revenue was 5; the first half of 2023 brought 9.", {3, 6}),
        ("Year-to-date sales came to 8.", {3, 6, 9}),
        ("Sales were 8 in 2023.", {12}),
        ("In the quarter sales were 2, and 8 in all of 2023.", {3, 12}),
        ("Sales were 8.", set()),
        ("Sales were 8 in the period ended July 1, 2023.", set()),
    ],
)
def test_lengths_a_sentence_means(text: str, months: set[int]) -> None:
    assert meant(text) == months


def test_a_report_of_a_quarter_need_not_say_so_in_every_sentence() -> None:
    assert meant("Sales were 8 in 2023.", elsewhere="Apple's third quarter") == frozenset()
    assert spoken("quarterly sales") == {3}


def test_columns_share_the_headings_over_them() -> None:
    row = "Net sales $ 60,584 $ 63,355 $ 230,901 $ 245,241"
    assert _lengths(row) == [("60,584", 3), ("63,355", 3), ("230,901", 6), ("245,241", 6)]


def test_a_dash_is_a_column_too() -> None:
    row = "Other income - 12 5 -"
    assert _lengths(row) == [("12", 3), ("5", 6)] or _lengths(row) == [("12", 0), ("5", 0)]


def test_a_balance_has_no_length() -> None:
    row = "Assets held for sale here 11,000 12,000"
    assert _lengths(row) == [("11,000", 0), ("12,000", 0)]


def test_a_headings_length_stands_in_the_table() -> None:
    table = Table(
        (
            ("", "Three Months Ended", "Three Months Ended", "Twelve Months Ended"),
            ("", "2023", "2022", "2023"),
            ("Net sales", "5", "4", "19"),
        )
    )
    found = printed_in("Net sales 5 4 19", "Net sales 5 4 19", 0, (table,))
    assert [(p.years, p.months) for p in found] == [((2023,), 3), ((2022,), 3), ((2023,), 12)]


@pytest.mark.parametrize(
    ("end", "months", "start"),
    [
        ("2023-06-30", 3, "2023-04-01"),
        ("2023-12-31", 12, "2023-01-01"),
        ("2023-07-29", 3, "2023-04-30"),
        ("2023-01-28", 12, "2022-01-30"),
        ("2023", 12, ""),
        ("2023-06-30", 0, ""),
    ],
)
def test_a_period_begins_its_length_before_its_end(end: str, months: int, start: str) -> None:
    assert start_of(end, months) == start
    assert not start or months_between(start, end) == months
