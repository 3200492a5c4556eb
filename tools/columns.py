"""The years of a row's numbers, told by the headings above it in the page's text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from deskwork.tools.numerals import Numeral

YEAR = re.compile(r"(?<![\d.,])(?:FY\s?)?'?((?:19|20)\d\d)(?!\d|[.,]\d)")
_LOOK_UP = 60
"""Lines above a row in which its columns' headings may stand."""
_DATE_LINES = 8
_DATE_PART = re.compile(r"\s*(?:[A-Z][a-z]{2,8}\.?)?\s*(?:\d{1,2},?)?\s*")
_EARLY = re.compile(r"(?i)\b(?:jan|feb)")


@dataclass(frozen=True)
class Column:
    """The heading over a number: its year, and whether a period ends there in January or February,
    as the fiscal years of retailers do.
    """

    year: int
    early: bool


def columns_of(numbers: Sequence[Numeral], page: str, start: int) -> dict[int, Column]:
    """The column of each number of a row that begins at ``start`` of a page, by the number's place.

    Percentages beside amounts may have columns of their own or share theirs: headings that name as
    many years as the row has numbers come first, then as many as it has of either kind.
    """
    places = list(range(len(numbers)))
    amounts = [n for n in places if not numbers[n].percent]
    percents = [n for n in places if numbers[n].percent]
    found: dict[int, Column] = {}
    for group in (places, amounts, percents):
        if group and group[0] not in found:
            columns = _above(page, start, len(group))
            found |= {n: c for n, c in zip(group, columns, strict=False) if n not in found}
    return found


def _heading_lines(lines: Sequence[str], at: int) -> str:
    """A line of years with what stands above it of their dates, given in lines of their own."""
    first = max(0, at - 1)
    while first > 0 and at - first < _DATE_LINES and _DATE_PART.fullmatch(lines[first]):
        first -= 1
    return " ".join(lines[first : at + 1])


def _above(page: str, start: int, count: int) -> list[Column]:
    """The columns over a row, from the nearest lines above that name as many years."""
    lines = page[:start].split("\n")[-_LOOK_UP:]
    run: list[Column] = []  # of short lines one under another: a heading to a line
    for at in range(len(lines) - 1, -1, -1):
        line = lines[at]
        words = re.findall(r"[A-Za-z]{3,}", line)
        near = _heading_lines(lines, at)
        years = [Column(int(year), bool(_EARLY.search(near))) for year in YEAR.findall(line)]
        if len(years) == count and len(words) <= 4 * count + 4:
            return years
        if len(words) > 3 or re.search(r"\d[\d,.]{3,}.*\d[\d,.]{3,}", line):
            run = []
        run = [*years, *run]
        if len(run) == count > 1:
            return run
    return []
