"""Figures of the same thing that differ between sources: shown, the primary source first."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from deskwork.tools.figures import Figure
from deskwork.tools.tool import Evidence

_RANKS = (
    (re.compile(r"(?i)10-?k|10-?q|20-?f|40-?f|annual.?report|companyfacts"), 0),
    (re.compile(r"(?i)8-?k|earnings|press|release|6-?k"), 1),
)
_FILLERS = frozenset(["the", "of", "and", "total", "net", "a", "an", "in", "for"])


@dataclass(frozen=True)
class Conflict:
    """Figures of one label and period that no rounding brings together, best source first."""

    label: str
    period_end: str
    figures: tuple[str, ...]
    shown: str


def conflicts_of(figures: Sequence[Figure], evidence: Mapping[str, Evidence]) -> list[Conflict]:
    """The conflicts among bound figures. Derived ones follow from others, and are left out."""
    groups: dict[tuple[object, ...], list[Figure]] = {}
    for figure in figures:
        if figure.status == "derived" or not figure.label or not figure.period_end:
            continue
        words = re.findall(r"[a-z]+", figure.label.casefold())
        label = tuple(sorted(word for word in words if word not in _FILLERS))
        period = (figure.period_start, figure.period_end[:4])
        groups.setdefault((label, period, figure.unit, figure.currency, figure.basis), []).append(
            figure
        )
    found = []
    for group in groups.values():
        group.sort(key=lambda figure: _rank(figure, evidence))
        first = group[0]
        others = [f for f in group[1:] if _files(f, evidence) != _files(first, evidence)]
        if any(not _agree(first, other) for other in others):
            shown = "; ".join(
                f"{figure.printed()} ({', '.join(sorted(_files(figure, evidence)))})"
                for figure in (first, *others)
            )
            ids = tuple(figure.id for figure in (first, *others))
            found.append(Conflict(first.label, first.period_end, ids, shown))
    return found


def _files(figure: Figure, evidence: Mapping[str, Evidence]) -> set[str]:
    return {evidence[name].file for name in figure.evidence if name in evidence}


def _rank(figure: Figure, evidence: Mapping[str, Evidence]) -> int:
    name = " ".join(sorted(_files(figure, evidence)))
    return next((rank for pattern, rank in _RANKS if pattern.search(name)), 2)


def _agree(one: Figure, other: Figure) -> bool:
    """Whether two amounts are the same at the coarser one's precision."""
    steps = [Decimal(10) ** (figure.scale - _digits(figure)) for figure in (one, other)]
    return bool(abs(one.amount - other.amount) * 2 <= max(steps))


def _digits(figure: Figure) -> int:
    exponent = figure.value.as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0
