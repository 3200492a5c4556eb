"""Periods: what a fact's dates say, whatever ``fy`` and ``fp`` beside it say of its filing.

Kinds go by length in days, since years of 52 and 53 weeks end on a weekday and not on a date. A
company's calendar is read from its annual reports; its own name for a year is taken from the
filings whose own period it is, by majority.
"""

from __future__ import annotations

import datetime
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["year", "quarter", "half", "nine months", "instant", "other"]

_LENGTHS: dict[Kind, tuple[int, int]] = {
    "quarter": (80, 100),  # 12 to 14 weeks
    "half": (165, 200),  # 24 to 28 weeks
    "nine months": (250, 290),  # 36 to 41 weeks
    "year": (350, 380),
}
_LONG_QUARTERS = (112, 119)
"""16 and 17 weeks: the odd quarter of retailers that count by four weeks."""
_QUARTER_DAYS = 91.31
_TURN = datetime.timedelta(days=14)
"""A year that ends in the first half of January is the year before's: 52 weeks ran over."""
_SLACK = datetime.timedelta(days=7)


@dataclass(frozen=True, order=True)
class Period:
    """A span of days, both ends included; ``start`` equals ``end`` and ``instant`` for a moment."""

    end: datetime.date
    start: datetime.date
    instant: bool = False

    @classmethod
    def of(cls, start: str, end: str) -> Period:
        """From ISO dates; an empty ``start`` makes an instant. Raises `ValueError`."""
        last = datetime.date.fromisoformat(end)
        return cls(last, datetime.date.fromisoformat(start) if start else last, not start)

    @property
    def days(self) -> int:
        """Its length; 0 for an instant."""
        return 0 if self.instant else (self.end - self.start).days + 1

    @property
    def kind(self) -> Kind:
        """What it is by its length."""
        if self.instant:
            return "instant"
        if self.days in _LONG_QUARTERS:
            return "quarter"
        for kind, (least, most) in _LENGTHS.items():
            if least <= self.days <= most:
                return kind
        return "other"

    def overlaps(self, other: Period) -> bool:
        """Whether they have more than a week in common; instants, whether they are one."""
        if self.instant or other.instant:
            return self == other
        return min(self.end, other.end) - max(self.start, other.start) > _SLACK

    def after(self, first: Period) -> Period | None:
        """What is left of it behind another that begins with it; None where nothing is."""
        if self.instant or first.instant or first.start != self.start or first.end >= self.end:
            return None
        return Period(self.end, first.end + datetime.timedelta(days=1))


@dataclass(frozen=True)
class Own:
    """What a filing calls its own period: ``fy`` and ``fp`` ("FY", "Q1" to "Q3")."""

    fy: int
    fp: str
    accession: str

    def __str__(self) -> str:
        return f"FY{self.fy}" if self.fp == "FY" else f"{self.fp} FY{self.fy}"


@dataclass(frozen=True)
class Place:
    """Where a date stands in the company's calendar: the quarter that ends there."""

    quarter: int
    year: int


@dataclass(frozen=True)
class Calendar:
    """A company's fiscal years. ``own`` has, for the end of a period, the name its filing gave."""

    year_ends: tuple[datetime.date, ...] = ()
    own: Mapping[datetime.date, Own] = field(default_factory=dict)
    offset: int = 0

    @classmethod
    def of(cls, year_ends: Iterable[datetime.date], own: Mapping[datetime.date, Own]) -> Calendar:
        """The calendar with these ends; how its years are numbered follows from ``own``."""
        told = Counter(
            name.fy - nominal_year(end)
            for end, name in own.items()
            if name.fp == "FY" and abs(name.fy - nominal_year(end)) <= 1
        )
        return cls(tuple(sorted(set(year_ends))), own, told.most_common(1)[0][0] if told else 0)

    def year(self, end: datetime.date) -> int:
        """The number of the fiscal year that ends on that day."""
        return nominal_year(end) + self.offset

    def place(self, end: datetime.date) -> Place | None:
        """The quarter that ends about that day, counted from the nearest year's end."""
        at = bisect_left(self.year_ends, end - _SLACK)
        if at < len(self.year_ends) and (self.year_ends[at] - end).days < 350:
            following = self.year_ends[at]
            back = round((following - end).days / _QUARTER_DAYS)
            year = self.year(following)
            return Place(4 - back, year) if back < 4 else Place(4, year - 1)
        if at == 0:
            named = self.own.get(end)
            if named and named.fp[:1] == "Q" and named.fp[1:].isdigit():
                return Place(int(named.fp[1:]), named.fy)
            return None
        before = self.year_ends[at - 1]
        quarters = max(1, round((end - before).days / _QUARTER_DAYS))
        return Place((quarters - 1) % 4 + 1, self.year(before) + (quarters - 1) // 4 + 1)

    def label(self, period: Period) -> str:
        """What a period is called: ``FY2022``, ``Q3 FY2022``, ``9M to Q3 FY2022``, ``as of …``."""
        kind, place = period.kind, self.place(period.end)
        if kind == "year":
            at_year_end = place is None or place.quarter == 4
            return f"FY{self.year(period.end)}" if at_year_end else f"12M to {_name(place)}"
        if kind == "instant":
            known = period.end in self.own or period.end in self.year_ends
            return f"end of {_name(place)}" if known and place else f"as of {period.end}"
        if kind == "other" or place is None:
            return f"{period.days} days to {period.end}"
        months = {"quarter": "", "half": "6M to ", "nine months": "9M to "}[kind]
        return months + _name(place)

    def doubt(self, period: Period) -> str:
        """A sentence where the period's own filing calls it otherwise; else empty."""
        named, place = self.own.get(period.end), self.place(period.end)
        if named is None or place is None:
            return ""
        quarter = "FY" if place.quarter == 4 else f"Q{place.quarter}"
        if (named.fy, named.fp) == (place.year, quarter):
            return ""
        return (
            f"The filing {named.accession} calls its period to {period.end} {named}; by the "
            f"company's other filings it is {_name(place)}."
        )


def nominal_year(end: datetime.date) -> int:
    """The calendar year that a fiscal year's end belongs to."""
    return (end - _TURN).year


def _name(place: Place | None) -> str:
    return f"Q{place.quarter} FY{place.year}" if place else "?"
