"""Whether a text states a date, in whatever order and language it writes it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise

# The first letters by which a month is told, in the languages of western business papers.
_MONTHS = (
    "jan gen ene sty led ocak",
    "feb fev fév fevr helmi lut uno subat şubat",
    "mar mär maer mrz maa bře",
    "apr avr abr kwi dub nis",
    "may mai mag maj mei maio toukok kvě kve",
    "jun juin giu kes cze čer haz",
    "jul juil lug heinä lip čvc tem",
    "aug aoû aou ago elo sie srp ağu agu",
    "sep set syys wrz zář eyl",
    "oct okt ott out loka paź říj eki",
    "nov marras lis kas",
    "dec dez dic déc des joulu gru pro ara",
)
_BY_NAME = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
_TOKEN = re.compile(r"\d+|[^\W\d_]+")
_BETWEEN = "of de den der the st nd rd th del di le er do 年 月 日"
_FILLERS = frozenset(_BETWEEN.split())
_NUMERIC = re.compile(r"(?<![\d/-])(\d{1,2})([/-])(\d{1,2})\2(?:\d{4}|\d\d)(?![\d/-])")
_GAP = 4
"""Characters between the parts of a date, at most."""


def states_date(text: str, date: str, order: str = "") -> bool | None:
    """Whether a date (``YYYY-MM-DD``, with or without a time behind it) stands in a text.

    The month may stand by name, the year by two digits. None where it is only one of two readings:
    ``03/04/2025`` is in March or in April unless ``order`` ("dmy" or "mdy") tells.
    """
    year, month, day = (int(part) for part in date[:10].split("-"))
    if f"{year:04}{month:02}{day:02}" in text:
        return True
    found: bool | None = False
    for window, marks in _windows(text):
        orders = _orders(window, marks)
        readings = [o for o in orders if _is_date([window[at] for at in o], year, month, day)]
        if not readings:
            continue
        same = window[0].isdigit() and window[1].isdigit() and int(window[0]) == int(window[1])
        if len(orders) == 1 or same or _ORDERS.get(order) in readings:
            return True
        if order not in _ORDERS:
            found = None
    return found


def date_order(text: str) -> str:
    """The order "dmy" or "mdy" where the dates of a text tell it by a number over 12, else ""."""
    first = second = 0
    for match in _NUMERIC.finditer(text):
        first += int(match[1]) > 12
        second += int(match[3]) > 12
    if bool(first) is bool(second):
        return ""
    return "dmy" if first else "mdy"


_ORDERS = {"dmy": (2, 1, 0), "mdy": (2, 0, 1)}


def _windows(text: str) -> Iterator[tuple[list[str], list[str]]]:
    """Three words that stand close together, and what stands between them."""
    tokens = [match for match in _TOKEN.finditer(text) if match.group().lower() not in _FILLERS]
    for window in zip(tokens, tokens[1:], tokens[2:], strict=False):
        marks = [re.sub(r"\w", "", text[a.end() : b.start()]) for a, b in pairwise(window)]
        if all(len(mark) <= _GAP for mark in marks):
            yield [match.group() for match in window], marks


def _orders(parts: Sequence[str], marks: Sequence[str]) -> list[tuple[int, int, int]]:
    """The places of year, month and day that three words may have."""
    if len(parts[0]) == 4 and parts[0].isdigit():
        return [(0, 1, 2)]
    if not parts[0].isdigit():
        return [(2, 0, 1)]  # March 5, 2026
    if not parts[1].isdigit():
        return [(2, 1, 0)]  # 5 March 2026
    if all(mark.strip() == "." for mark in marks):
        return [(2, 1, 0)]  # with points the day is always first
    possible = [(2, 1, 0), (2, 0, 1)]
    return [order for order in possible if int(parts[order[1]]) <= 12] or possible


def _is_date(parts: Sequence[str], year: int, month: int, day: int) -> bool:
    """Whether words in the order of year, month, day are this date."""
    its_year, its_month, its_day = parts
    return (
        _number(its_year) in ((year, year % 100) if len(its_year) == 2 else (year,))
        and _month(its_month) == month
        and _number(its_day) == day
    )


def _number(word: str) -> int | None:
    return int(word) if word.isdigit() and len(word) <= 4 else None


def _month(word: str) -> int | None:
    if word.isdigit():
        return int(word) if len(word) <= 2 else None
    folded = word.casefold()
    plain = "".join(
        letter
        for letter in unicodedata.normalize("NFKD", folded)
        if not unicodedata.combining(letter)
    )
    for length in (6, 5, 4, 3):
        for form in (folded, plain):
            if (number := _BY_NAME.get(form[:length])) and len(form) >= 3:
                return number
    return None
