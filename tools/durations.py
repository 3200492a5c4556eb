"""Lengths of periods: what a table's headings and a sentence say of them, in months.

Under one year a 10-Q prints the quarter and the half, a release the quarter and the year; which of
them a number is, its column's heading tells: "Three Months Ended", "13 Weeks Ended", "Year ended".
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence
from datetime import date, timedelta

from deskwork.tools.columns import YEAR
from deskwork.tools.documents import Table
from deskwork.tools.rows import headings

_MONTHS = {"three": 3, "six": 6, "nine": 9, "twelve": 12, "3": 3, "6": 6, "9": 9, "12": 12}
_WEEKS = {
    "13": 3, "14": 3, "26": 6, "27": 6, "39": 9, "40": 9, "52": 12, "53": 12, "thirteen": 3,
    "fourteen": 3, "twenty-six": 6, "twenty-seven": 6, "thirty-nine": 9, "forty": 9,
    "fifty-two": 12, "fifty-three": 12,
}  # fmt: skip
_ANY_MONTHS = "|".join(_MONTHS)
_ANY_WEEKS = "|".join(_WEEKS)
_HEADING = re.compile(
    rf"(?i)\b(?:(?P<months>{_ANY_MONTHS})[- ]months?|(?P<weeks>{_ANY_WEEKS})[- ]weeks?"
    r"|(?P<quarter>quarters?)|(?P<half>half[- ]years?)|(?P<year>(?:fiscal )?years?))"
    r"(?: periods?)? end(?:ed|ing)\b"
)
_SPOKEN = re.compile(
    rf"(?i)\b(?:(?P<months>{_ANY_MONTHS})[- ]months?|(?P<weeks>{_ANY_WEEKS})[- ]weeks?"
    r"|(?P<quarter>quarter(?:s|ly)?|[1-4]Q(?:\d\d)?|Q[1-4])"
    r"|(?P<half>(?:first|second|1st|2nd)[- ]half|half[- ]year(?:ly)?|H[12]|1H|2H)"
    r"|(?P<open>year[- ]to[- ]date|ytd|so far)"
    r"|(?P<year>(?:full|whole|entire|calendar)[- ](?:fiscal |financial )?years?|annual(?:ly)?"
    r"|all of (?:fiscal )?(?:19|20)\d\d|(?:for|in|of) the (?:fiscal |financial )?years?"
    r"|(?:fiscal |financial )?years? ended))\b"
)
_LOOK_UP = 60
"""Lines above a row in which the headings over its columns may stand."""
_BETWEEN = 4
"""Lines between the columns' dates and the heading that tells their length."""
_ROW = re.compile(r"\d.*\s\S*\d")
_PART_OF_YEAR = re.compile(
    r"(?i)(?:quarter|half|months|weeks|\bQ[1-4]|\bH[12]|\b[1-4]Q|to[- ]date)\W*"
    r"(?:(?:of|in|for|ended|ending|through)\W+)?(?:[A-Z]\w+ \d{1,2},? )?"
    r"(?:the )?(?:fiscal |financial )?(?:years? )?(?:FY ?)?(?:19|20)\d\d"
)
_DAY = re.compile(
    r"(?i)\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? \d{1,2}\b|\d{4}-\d\d-\d\d"
    r"|\b\d{1,2} (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
)
_DASH = re.compile(r"(?<!\S)[-\u2013\u2014](?!\S)")
_WEEKS_IN = {3: 13, 6: 26, 9: 39, 12: 52}


def _length(match: re.Match[str]) -> int:
    found = match.groupdict()
    if found["months"]:
        return _MONTHS[found["months"].lower()]
    if found["weeks"]:
        return _WEEKS[found["weeks"].lower()]
    return 3 if found["quarter"] else 6 if found["half"] else 12


def headed(text: str) -> list[int]:
    """The lengths that a heading names, in order: ``Three Months Ended  Six Months Ended``."""
    return [_length(match) for match in _HEADING.finditer(text)]


def spoken(text: str) -> set[int]:
    """The lengths that a sentence speaks of; empty where it says nothing of it."""
    found: set[int] = set()
    for match in _SPOKEN.finditer(text):
        found |= {3, 6, 9} if match["open"] else {_length(match)}
    return found


def meant(text: str, scope: str = "", elsewhere: str = "") -> frozenset[int]:
    """The lengths that the figures of a sentence may be of: those it and its ``scope`` speak of.

    A year alone means a year ("in 2023"), unless a day is named or the report's headings
    (``elsewhere``) speak of other lengths. Empty: it may be of any.
    """
    told = spoken(f"{text} {scope}")
    bare = _PART_OF_YEAR.sub("", text)
    if told:
        return frozenset(told | {12} if YEAR.search(bare) else told)
    if spoken(elsewhere) - {12} or _DAY.search(text) or not YEAR.search(f"{text} {scope}"):
        return frozenset()
    return frozenset({12})


def lengths_of(
    places: Sequence[int], line: str, page: str, start: int, table: Table | None, row: int
) -> list[int]:
    """For each number of a row the length of its period in months, 0 where nothing tells it.

    The numbers begin at ``places`` of ``line``, which is row ``row`` of ``table`` or, without one,
    stands at ``start`` of its page. Where several headings stand over it, each has its share of
    the columns, those with a dash among them, if they share evenly.
    """
    first = min(places, default=0)
    dashes = [m.start() for m in _DASH.finditer(line) if m.start() > first]
    columns = sorted({*places, *dashes})
    named = _over_table(table, row) if table else []
    named = named or _over_line(page, start, len(columns))
    if len(set(named)) == 1:
        return [named[0]] * len(places)
    if named and len(columns) % len(named) == 0:
        share = len(columns) // len(named)
        return [named[columns.index(place) // share] for place in places]
    return [0] * len(places)


def _over_table(table: Table, row: int) -> list[int]:
    for cells in reversed(table.rows[: min(headings(table), row)]):
        # A heading over several columns may be given for each of them.
        told = [cell for n, cell in enumerate(cells) if cell and (n == 0 or cell != cells[n - 1])]
        if named := headed(" ".join(told)):
            return named
    return []


def _over_line(page: str, start: int, count: int) -> list[int]:
    left = _LOOK_UP
    for line in reversed(page[:start].split("\n")[-_LOOK_UP:]):
        named = headed(line)
        words = len(re.findall(r"[A-Za-z]{3,}", line))
        if named and words <= 5 * max(len(named), count) + 4:
            return named
        if YEAR.search(line) and words <= 2 * count + 4:
            left = min(left, _BETWEEN)  # the columns' dates: what tells of them is near
        # One date may be given a line for each of its parts.
        left -= words > 2
        if left <= _BETWEEN and _ROW.search(_DAY.sub("", YEAR.sub("", line))):
            break  # a row of another table
        if left < 0:
            break
    return []


def months_between(start: str, end: str) -> int:
    """The length of a period of two ISO dates in months, 0 where it is none of 3, 6, 9 and 12."""
    try:
        days = (date.fromisoformat(end) - date.fromisoformat(start)).days + 1
    except ValueError:
        return 0
    return next((m for m in _WEEKS_IN if abs(days - m * 30.44) <= 12), 0)


def start_of(end: str, months: int) -> str:
    """The first day of a period of so many months that ends on an ISO date; "" for none.

    One that ends within a month is of weeks, as retailers have them.
    """
    try:
        last = date.fromisoformat(end)
    except ValueError:
        return ""
    if months not in _WEEKS_IN:
        return ""
    if last.day != calendar.monthrange(last.year, last.month)[1]:
        return (last - timedelta(weeks=_WEEKS_IN[months]) + timedelta(days=1)).isoformat()
    year, month = divmod(last.year * 12 + last.month - months, 12)
    return date(year, month + 1, 1).isoformat()
