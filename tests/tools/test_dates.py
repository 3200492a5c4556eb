"""Dates in texts."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskwork.tools.dates import date_order, states_date


@pytest.mark.parametrize(
    "text",
    [
        "Invoice date: 2026-03-05",
        "5 March 2026",
        "March 5th, 2026",
        "the 5th of March, 2026",
        "05.03.2026",
        "on 2026/03/05",
        "5. März 2026",
        "5 mars 2026",
        "le 5 de marzo de 2026",
        "20260305T120000",
        "2026年3月5日",
    ],
)
def test_a_date_that_is_stated(text: str) -> None:
    assert states_date(text, "2026-03-05")


@pytest.mark.parametrize(
    "text",
    ["6 March 2026", "5 April 2026", "5 March 2025", "March 2026", "2026", "no date", "15.03.2026"],
)
def test_a_date_that_is_not(text: str) -> None:
    assert not states_date(text, "2026-03-05")


def test_juin_and_juillet_are_two_months() -> None:
    assert states_date("3 juillet 2026", "2026-07-03")
    assert states_date("3 juin 2026", "2026-06-03")
    assert not states_date("3 juin 2026", "2026-07-03")


@given(
    st.dates(min_value=datetime.date(1950, 1, 1), max_value=datetime.date(2049, 12, 31)),
    st.dates(min_value=datetime.date(1950, 1, 1), max_value=datetime.date(2049, 12, 31)),
    st.sampled_from(["%d.%m.%Y", "%m/%d/%Y", "%B %d, %Y", "%d %b %Y", "%Y-%m-%d"]),
)
def test_any_date_in_any_form(day: datetime.date, other: datetime.date, form: str) -> None:
    printed = f"due on {day.strftime(form)}, without fail"
    order = "mdy" if form == "%m/%d/%Y" else ""
    assert states_date(printed, day.isoformat(), order)
    if (other.year, {other.month, other.day}) != (day.year, {day.month, day.day}):
        assert not states_date(printed, other.isoformat(), order)


def test_a_date_with_two_readings_is_neither_yes_nor_no() -> None:
    assert states_date("3/5/26", "2026-03-05") is None
    assert states_date("3/5/26", "2026-03-05", "mdy") is True
    assert states_date("3/5/26", "2026-03-05", "dmy") is False
    assert states_date("3/5/26", "2026-06-05") is False
    assert [date_order(text) for text in ("25/03/2026", "03/25/2026", "03/04/2026")] == [
        "dmy",
        "mdy",
        "",
    ]
