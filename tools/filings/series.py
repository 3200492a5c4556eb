"""A series: a concept's values period by period, filed as such or subtracted from longer ones.

A quarter that was not filed alone is the difference of two spans that begin together: the fourth
is the year minus nine months. Both are taken as they were known at one time, since the difference
of a restated and an unrestated one is no quarter of anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from deskwork.tools.filings.facts import CompanyFacts, Fact, Vintage
from deskwork.tools.filings.periods import Kind, Period

_LONGER: dict[Kind, Kind] = {"year": "nine months", "nine months": "half", "half": "quarter"}
_NOT_ADDED = ("WeightedAverage", "PerShare", "Percent", "Rate", "Ratio", "AdjustedWeighted")
_ROUNDING = (3, 6)
"""Powers of ten between which a scale of presentation lies; round sums have more zeros."""


@dataclass(frozen=True)
class Value:
    """A number and the filed ones it rests on: one, or the longer and the shorter span's."""

    amount: Decimal
    rests_on: tuple[Vintage, ...]

    @property
    def formula(self) -> str:
        """``A - B`` in accessions and values; empty for a filed one."""
        parts = [f"{vintage.value:,f} ({vintage.accession})" for vintage in self.rests_on]
        return " - ".join(parts) if len(parts) > 1 else ""

    @property
    def filed(self) -> str:
        """When the last of them was filed."""
        return max(vintage.filed for vintage in self.rests_on)


@dataclass(frozen=True)
class Entry:
    """One period's value: as it was first known, and as it is known now."""

    concept: str
    unit: str
    period: Period
    original: Value
    latest: Value
    spans: tuple[Period, ...] = ()
    notes: tuple[str, ...] = field(default=())

    @property
    def derived(self) -> bool:
        """Whether it was subtracted and not filed."""
        return bool(self.spans)

    @property
    def difference(self) -> Decimal:
        """What later filings added to the first value."""
        return self.latest.amount - self.original.amount

    @property
    def rounded(self) -> bool:
        """Whether the later filing only shows fewer digits of the same value."""
        return only_rounded(self.original.amount, self.latest.amount)


def only_rounded(exact: Decimal, coarse: Decimal) -> bool:
    """Whether one is the other to fewer digits, as when thousands become millions."""
    digits = f"{coarse:f}"
    if "." in digits or exact == coarse:
        return False
    least, most = _ROUNDING
    power = min(most, len(digits) - len(digits.rstrip("0")))
    return power >= least and abs(exact - coarse) * 2 <= Decimal(10) ** power


def can_be_added(concept: str, unit: str) -> bool:
    """Whether a long span is the sum of its parts: not so for averages, ratios and per share."""
    tag = concept.partition(":")[2]
    return "/" not in unit and unit != "pure" and not any(word in tag for word in _NOT_ADDED)


def filed(facts: Sequence[Fact], kind: Kind) -> list[Entry]:
    """The entries of one kind that were filed as such."""
    return [
        Entry(
            fact.concept,
            fact.unit,
            fact.period,
            Value(fact.first.value, (fact.first,)),
            Value(fact.latest.value, (fact.latest,)),
        )
        for fact in facts
        if fact.period.kind == kind
    ]


def derived(facts: Sequence[Fact]) -> list[Entry]:
    """The quarters that are differences of two spans of one concept and unit.

    Each pair is of adjacent kinds (half and quarter, nine months and half, year and nine months)
    and begins on one day. Empty where spans don't add up.
    """
    found: dict[Period, Entry] = {}
    spans = [fact for fact in facts if can_be_added(fact.concept, fact.unit)]
    by_start: dict[object, list[Fact]] = {}
    for fact in spans:
        by_start.setdefault(fact.period.start, []).append(fact)
    for long in spans:
        for short in by_start[long.period.start]:
            rest = long.period.after(short.period)
            adjacent = _LONGER.get(long.period.kind) == short.period.kind
            if rest and adjacent and rest.kind == "quarter":
                found.setdefault(rest, _difference(long, short, rest))
    return list(found.values())


def _difference(long: Fact, short: Fact, rest: Period) -> Entry:
    at = max(long.first.filed, short.first.filed)
    first = (long.known(at), short.known(at))
    last = (long.latest, short.latest)
    notes = []
    changed = [_changed(a.value, b.value) for a, b in zip(first, last, strict=True)]
    if changed[0] != changed[1]:
        names = (f"{long.period.days} days", f"{short.period.days} days")
        moved, still = names if changed[0] else names[::-1]
        notes.append(
            f"Derived quarter to {rest.end}: the value for {moved} was restated later, the one for "
            f"{still} was not, so that the latest difference may mix two bases."
        )
    return Entry(
        long.concept,
        long.unit,
        rest,
        Value(first[0].value - first[1].value, first),
        Value(last[0].value - last[1].value, last),
        (long.period, short.period),
        tuple(notes),
    )


def _changed(before: Decimal, now: Decimal) -> bool:
    return before != now and not only_rounded(before, now)


@dataclass(frozen=True)
class Series:
    """Entries ordered by period, all of one unit; ``notes`` say what was joined."""

    entries: tuple[Entry, ...]
    unit: str
    notes: tuple[str, ...]


def join(facts: CompanyFacts, concepts: Sequence[str], unit: str, kind: Kind) -> Series:
    """One series of several concepts: the first one's values, then others' where it has none."""
    entries: list[Entry] = []
    notes: list[str] = []
    by_concept = {name: facts.units(name).get(unit, ()) for name in concepts}
    ways: list[Callable[[Sequence[Fact]], list[Entry]]] = [lambda of: filed(of, kind)]
    if kind == "quarter":
        ways.append(derived)
    for way in ways:
        for of in by_concept.values():
            taken = list(entries)
            for entry in way(of):
                if entry.derived and any(entry.period.overlaps(other.period) for other in taken):
                    continue
                clash = next((e for e in taken if entry.period.overlaps(e.period)), None)
                if clash is None:
                    entries.append(entry)
                elif clash.concept != entry.concept and clash.period == entry.period:
                    entries[entries.index(clash)] = _contradicted(clash, entry)
    used = list(dict.fromkeys(entry.concept for entry in entries))
    if len(used) > 1:
        spans = "; ".join(
            f"{name} for {sum(e.concept == name for e in entries)} periods" for name in used
        )
        notes.insert(0, f"Joined from several concepts where their periods don't overlap: {spans}.")
    entries.sort(key=lambda entry: entry.period)
    return Series(tuple(entries), unit, tuple(notes))


def _contradicted(taken: Entry, other: Entry) -> Entry:
    """The entry, with a note where another concept says something else of the same period."""
    if taken.latest.amount == other.latest.amount:
        return taken
    note = (
        f"{other.concept} says {other.latest.amount:,f} for the period to {other.period.end}, "
        f"{taken.concept} {taken.latest.amount:,f}; the latter is taken."
    )
    return replace(taken, notes=(*taken.notes, note))
