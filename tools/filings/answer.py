"""What is said of a concept: the chosen periods as rows, each with the lines that bear it out."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from deskwork.tools.documents import markdown_row
from deskwork.tools.errors import NotFound
from deskwork.tools.filings.concepts import Concepts, find_concepts
from deskwork.tools.filings.facts import CompanyFacts, Vintage
from deskwork.tools.filings.periods import Calendar, Kind
from deskwork.tools.filings.series import Entry, Value, can_be_added, join
from deskwork.tools.filings.splits import basis_notes, find_splits

MOST = 12
"""Rows that are shown where no periods are named: the latest."""
_NAMED = 40
Cited = Callable[[Vintage], str]
"""The id of the evidence for a fact."""


@dataclass(frozen=True)
class Row:
    """One period's value, with its label in the company's calendar.

    ``own`` is what the filing of the period itself calls it, where there is one; ``basis`` tells
    of splits.
    """

    label: str
    entry: Entry
    basis: str = ""
    own: str = ""

    @property
    def vintage(self) -> str:
        """``as filed``, or what changed, by how much, and which filing changed it."""
        entry = self.entry
        if not entry.difference:
            return "as filed"
        how = "rounded" if entry.rounded else "restated"
        first, last = entry.original, entry.latest
        by = "; ".join(_filing(v) for v in last.rests_on if v not in first.rests_on)
        return (
            f"{how}: originally {first.amount:,f} ({_filings(first)}), difference "
            f"{entry.difference:+,f}" + (f", by {by}" if by else "")
        )

    def as_json(self, cited: Cited) -> dict[str, Any]:
        """Plain values; numbers as texts, so that no digit is lost."""
        entry, latest = self.entry, self.entry.latest
        return {
            "label": self.label,
            "own_label": self.own,
            "concept": entry.concept,
            "value": f"{latest.amount:f}",
            "unit": entry.unit,
            "start": "" if entry.period.instant else entry.period.start.isoformat(),
            "end": entry.period.end.isoformat(),
            "days": entry.period.days,
            "form": latest.rests_on[0].form,
            "accession": latest.rests_on[0].accession,
            "filed": latest.rests_on[0].filed,
            "vintage": _state(entry),
            "original": f"{entry.original.amount:f}",
            "original_accession": entry.original.rests_on[0].accession,
            "original_filed": entry.original.rests_on[0].filed,
            "difference": f"{entry.difference:f}",
            "derived": entry.derived,
            "formula": latest.formula,
            "basis": self.basis,
            "evidence": [cited(vintage) for vintage in latest.rests_on],
            "original_evidence": [cited(vintage) for vintage in entry.original.rests_on],
        }


@dataclass(frozen=True)
class Answer:
    """Rows of one concept and unit, oldest first, and the notes that belong to them."""

    facts: CompanyFacts
    concepts: tuple[str, ...]
    unit: str
    kind: Kind
    rows: tuple[Row, ...]
    notes: tuple[str, ...]

    def vintages(self) -> list[Vintage]:
        """Every filed value that a row rests on, once."""
        return list(
            dict.fromkeys(
                vintage
                for row in self.rows
                for value in (row.entry.latest, row.entry.original)
                for vintage in value.rests_on
            )
        )

    def text(self, cited: Cited) -> str:
        """A table for a reader, with the id of each value's evidence."""
        head = ("period", "value", "start", "end", "days", "form", "accession", "filed")
        lines = [
            f"{self.facts.name} (CIK {self.facts.cik}) · {', '.join(self.concepts)} · {self.unit} "
            f"· {self.kind}",
            markdown_row((*head, "vintage", "evidence")),
        ]
        several = len(self.concepts) > 1
        for row in self.rows:
            period, latest = row.entry.period, row.entry.latest
            newest = latest.rests_on[0]
            vintage = f"DERIVED {latest.formula}; {row.vintage}" if latest.formula else row.vintage
            start = "" if period.instant else period.start.isoformat()
            ids = [cited(v) for v in (*latest.rests_on, *row.entry.original.rests_on)]
            cells = (
                *(row.label, f"{latest.amount:,f}", start, period.end.isoformat()),
                *(str(period.days or ""), newest.form, newest.accession, newest.filed),
                vintage
                + (f"; {row.basis}" if row.basis else "")
                + (f"; {row.entry.concept}" if several else ""),
                " ".join(dict.fromkeys(ids)),
            )
            lines.append(markdown_row(cells))
        return "\n".join([*lines, *(f"Note: {note}" for note in self.notes)])


def answer(
    facts: CompanyFacts,
    wanted: str,
    periods: Sequence[str] = (),
    kind: Kind | None = None,
    unit: str = "",
) -> Answer:
    """The values of a concept. ``periods`` are named as in `chooser`; without, the latest.

    Raises `NotFound` for a concept, unit, kind or period that the company's facts don't have, with
    those that they have.
    """
    found = find_concepts(facts, wanted)
    notes = [found.note] if found.note else []
    kind = kind or _usual_kind(facts, found, periods)
    unit = _unit(facts, found, unit, kind, notes)
    series = join(facts, found.names, unit, kind)
    notes += series.notes
    if not series.entries:
        raise _no_kind(facts, found, unit, kind)
    entries, missing = chosen(series.entries, facts.calendar, periods)
    if missing and not entries:
        known = ", ".join(facts.calendar.label(entry.period) for entry in series.entries[-MOST:])
        raise NotFound(f"{facts.name} has no {kind} {', '.join(missing)}.", f"It has {known}.")
    if missing:
        notes.append(f"Not among the facts: {', '.join(missing)}.")
    if not periods and len(series.entries) > len(entries):
        notes.append(f"The latest {len(entries)} of {len(series.entries)} periods; name others.")
    if kind == "quarter" and not can_be_added(found.names[0], unit):
        notes.append("A quarter that wasn't filed alone is missing: these values don't add up.")
    splits = find_splits(facts) if "shares" in unit else []
    notes += [f"Stock split: {split}." for split in splits]
    basis = basis_notes(entries, splits)
    notes += [note for entry in entries for note in entry.notes]
    notes += [doubt for entry in entries if (doubt := facts.calendar.doubt(entry.period))]
    rows = tuple(
        Row(
            _label(facts.calendar, entry),
            entry,
            basis.get(place, ""),
            str(facts.calendar.own.get(entry.period.end, "")),
        )
        for place, entry in enumerate(entries)
    )
    used = tuple(dict.fromkeys(entry.concept for entry in entries))
    return Answer(facts, used, unit, kind, rows, tuple(dict.fromkeys(notes)))


def _label(calendar: Calendar, entry: Entry) -> str:
    if entry.concept.startswith("dei:") and entry.period.instant:
        return f"cover, {entry.period.end}"
    return calendar.label(entry.period)


def _usual_kind(facts: CompanyFacts, found: Concepts, periods: Sequence[str]) -> Kind:
    kinds = {fact.period.kind for of in facts.units(found.names[0]).values() for fact in of}
    if kinds == {"instant"}:
        return "instant"
    if any(re.search(r"q[1-4]|[1-4]q", text, re.I) for text in periods):
        return "quarter"
    return "year"


def _unit(facts: CompanyFacts, found: Concepts, unit: str, kind: Kind, notes: list[str]) -> str:
    """The unit asked for, else the one that is used last and most; the others are noted."""
    weights: dict[str, tuple[str, int]] = {}
    for name in found.names:
        for each, of in facts.units(name).items():
            ends = [fact.period.end.isoformat() for fact in of if fact.period.kind == kind]
            last, count = weights.get(each, ("", 0))
            weights[each] = (max([last, *ends]), count + len(ends))
    if unit:
        same = [each for each in weights if each.casefold() == unit.casefold()]
        if not same:
            raise NotFound(
                f"{facts.name} has no {found.names[0]} in {unit}.", f"Units: {', '.join(weights)}."
            )
        return same[0]
    best = max(weights, key=lambda each: weights[each])
    others = [f"{each} ({count})" for each, (_, count) in weights.items() if each != best and count]
    if others:
        notes.append(f"Also filed in other units, not shown: {', '.join(others)}.")
    return best


def _no_kind(facts: CompanyFacts, found: Concepts, unit: str, kind: Kind) -> NotFound:
    kinds = {fact.period.kind for name in found.names for fact in facts.units(name).get(unit, ())}
    return NotFound(
        f"{facts.name} has no {kind} under {', '.join(found.names)} in {unit}.",
        f"Kinds of period it has: {', '.join(sorted(kinds))}.",
    )


def chosen(
    entries: Sequence[Entry], calendar: Calendar, periods: Sequence[str]
) -> tuple[list[Entry], list[str]]:
    """The entries that are named, and the names that fit none.

    A name is a year (``FY2022``, ``2022``), a quarter (``Q3 FY2022``, ``2022Q3``), the date of an
    end (``2022-01-29``), a span (``2021-01-31..2022-01-29``) or ``latest``. Without names the
    latest `MOST` entries.
    """
    if not periods:
        return list(entries[-MOST:]), []
    picked: dict[int, Entry] = {}
    missing = []
    for text in periods:
        hits = [n for n, entry in enumerate(entries) if _fits(entry, calendar, text)]
        if text.strip().casefold() == "latest":
            hits = [len(entries) - 1]
        if not hits:
            missing.append(text)
        picked |= {n: entries[n] for n in hits}
    return [picked[n] for n in sorted(picked)][-_NAMED:], missing


def _fits(entry: Entry, calendar: Calendar, text: str) -> bool:
    dates = re.findall(r"\d{4}-\d{2}-\d{2}", text)
    if dates:
        start = entry.period.start.isoformat()
        return entry.period.end.isoformat() == dates[-1] and (len(dates) < 2 or start == dates[0])
    year = re.search(r"(?<!\d)(?:19|20)\d{2}(?!\d)", text)
    quarter = re.search(r"q\s*([1-4])|([1-4])\s*q", text, re.I)
    place = calendar.place(entry.period.end)
    if entry.period.kind == "year":
        if year is None or quarter:
            return False
        return calendar.year(entry.period.end) == int(year.group())
    if place is None or year is None or place.year != int(year.group()):
        return False
    if quarter is None:
        return entry.period.kind != "instant" or place.quarter == 4
    return place.quarter == int(quarter.group(1) or quarter.group(2))


def _state(entry: Entry) -> str:
    if not entry.difference:
        return "as filed"
    return "rounded" if entry.rounded else "restated"


def _filing(vintage: Vintage) -> str:
    return f"{vintage.form} {vintage.accession} filed {vintage.filed}"


def _filings(value: Value) -> str:
    return "; ".join(_filing(vintage) for vintage in value.rests_on)
