"""The facts of a company, with every value that was ever filed for a period.

A fact is keyed by taxonomy, tag, unit, start and end. ``fy`` and ``fp`` describe the filing and
not the period (measured: one year's revenue under three ``fy``), so that they only name things.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any

from deskwork.tools.documents import markdown_row
from deskwork.tools.errors import ToolError
from deskwork.tools.filings.periods import Calendar, Own, Period
from deskwork.tools.readers.company_facts import fact_lists, fact_row, is_company_facts
from deskwork.tools.readers.encodings import decode
from deskwork.tools.readers.structured import Written

ANNUAL_FORMS = ("10-K", "20-F", "40-F")
_PERIODIC = (*ANNUAL_FORMS, "10-Q", "6-K")
_SHARE = 5
"""A date is a filing's own where a fifth as many facts bear it as bear its commonest one."""


@dataclass(frozen=True)
class Vintage:
    """A value as one filing gave it. ``filed`` is an ISO date; ``line`` is the fact's line in the
    document that the readers make of the file.
    """

    value: Decimal
    accession: str
    form: str
    filed: str
    line: str
    concept: str


@dataclass(frozen=True)
class Fact:
    """All that was filed under one concept (``taxonomy:tag``) and unit for one period.

    ``vintages`` stand in the order in which they were filed; there is at least one.
    """

    concept: str
    unit: str
    period: Period
    vintages: tuple[Vintage, ...]

    def known(self, filed: str) -> Vintage:
        """The value as it was known on a day; the first one where none was filed by then."""
        by_then = [vintage for vintage in self.vintages if vintage.filed <= filed]
        return by_then[-1] if by_then else self.vintages[0]

    @property
    def first(self) -> Vintage:
        """The value as it was first filed."""
        return self.vintages[0]

    @property
    def latest(self) -> Vintage:
        """The value that holds now, by the filing that gave it first."""
        last = self.vintages[-1].value
        at = len(self.vintages) - 1
        while at and self.vintages[at - 1].value == last:
            at -= 1
        return self.vintages[at]


class CompanyFacts:
    """One companyfacts file. ``concepts`` maps ``taxonomy:tag`` to its label, "" without one."""

    def __init__(self, value: Mapping[str, Any]) -> None:
        self._value = value
        self.cik = str(value["cik"]).lstrip("0").rjust(10, "0")
        self.name = str(value["entityName"])
        self.concepts: dict[str, str] = {
            f"{taxonomy}:{tag}": str(concept.get("label") or "")
            for taxonomy, tags in value["facts"].items()
            for tag, concept in tags.items()
        }
        self.calendar = _calendar(value)

    @classmethod
    def read(cls, data: bytes, name: str) -> CompanyFacts:
        """From the file's bytes. Raises `ToolError` when it holds something else."""
        try:
            text, _ = decode(data)
            value = json.loads(text, parse_float=Written, parse_int=Written, parse_constant=Written)
        except (ValueError, RecursionError):
            value = None
        if not is_company_facts(value):
            raise ToolError(
                f"{name} holds no facts of a company.",
                "Name a ticker, a CIK or a company, or a file of data.sec.gov/api/xbrl/"
                "companyfacts.",
            )
        return cls(value)

    def units(self, concept: str) -> dict[str, tuple[Fact, ...]]:
        """The facts of a concept by unit, ordered by period; none for a concept it lacks."""
        taxonomy, _, tag = concept.partition(":")
        units = self._value["facts"].get(taxonomy, {}).get(tag, {}).get("units", {})
        return {unit: _facts(concept, unit, rows) for unit, rows in units.items()}


def _facts(concept: str, unit: str, rows: Sequence[Mapping[str, Any]]) -> tuple[Fact, ...]:
    found: dict[Period, list[Vintage]] = defaultdict(list)
    for row in rows:
        try:
            period = Period.of(str(row.get("start") or ""), str(row["end"]))
            value = Decimal(str(row["val"]))
        except (ValueError, InvalidOperation):
            continue  # no date, or no number: nothing that could be compared
        if not value.is_finite():
            continue
        vintage = Vintage(
            value,
            str(row.get("accn") or ""),
            str(row.get("form") or ""),
            str(row.get("filed") or ""),
            markdown_row(fact_row(concept, unit, row)),
            concept,
        )
        found[period].append(vintage)
    return tuple(
        Fact(concept, unit, period, tuple(sorted(of, key=lambda v: (v.filed, v.accession))))
        for period, of in sorted(found.items())
    )


def _dated(value: Mapping[str, Any]) -> Iterator[tuple[str, Period, Mapping[str, Any]]]:
    """The facts over spans of time in periodic reports: they tell which period a report is of."""
    for taxonomy, _, _, rows in fact_lists(value):
        # The cover's facts are dated at the cover, behind the period.
        for row in rows if taxonomy != "dei" else ():
            if row.get("start") and str(row.get("form", "")).startswith(_PERIODIC):
                try:
                    yield str(row.get("accn")), Period.of(row["start"], row["end"]), row
                except ValueError:
                    continue


def _calendar(value: Mapping[str, Any]) -> Calendar:
    ends: dict[str, Counter[date]] = defaultdict(Counter)
    years: dict[str, Counter[date]] = defaultdict(Counter)
    heads: dict[str, Mapping[str, Any]] = {}
    other_years: set[date] = set()
    for accession, period, row in _dated(value):
        ends[accession][period.end] += 1
        heads[accession] = row
        if period.kind == "year":
            if str(row["form"]).startswith(ANNUAL_FORMS):
                years[accession][period.end] += 1
            else:
                other_years.add(period.end)
    own: dict[date, Own] = {}
    for accession in sorted(heads, key=lambda each: str(heads[each].get("filed"))):
        head = heads[accession]
        try:
            name = Own(int(str(head.get("fy"))), str(head.get("fp")), accession)
        except ValueError:
            continue
        own.setdefault(max(_common(ends[accession])), name)
    annual = {end for counted in years.values() for end in _common(counted)}
    return Calendar.of(annual or other_years, own)


def _common(counted: Counter[date]) -> list[date]:
    most = max(counted.values())
    return [day for day, count in counted.items() if count * _SHARE >= most]
