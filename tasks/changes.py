"""What has changed between two reports, as data and in words (`deskwork.tasks.comparing`)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

SHOWN = 30
"""So many of a kind are listed in the report; ``report.json`` has all."""


@dataclass(frozen=True)
class ClaimChange:
    """A claim: ``before`` is empty for a new one, ``after`` for one that is gone.

    ``evidence`` is what the newer one cites.
    """

    before: str
    after: str
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True)
class FigureChange:
    """A figure, as each report prints it: ``before`` is empty for a new one, ``after`` for one
    that is gone. ``id`` is the newer one's, else the older one's; ``why`` is what else to know.
    """

    id: str
    label: str
    period_end: str
    before: str
    after: str
    file: str = ""
    why: str = ""
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True)
class Changes:
    """What a report says otherwise than the one before, the job ``previous`` of the day ``since``.

    Each claim and each figure stands in one list at most.
    """

    since: str
    previous: str
    new_claims: tuple[ClaimChange, ...] = ()
    changed_claims: tuple[ClaimChange, ...] = ()
    gone_claims: tuple[ClaimChange, ...] = ()
    new_figures: tuple[FigureChange, ...] = ()
    restated_figures: tuple[FigureChange, ...] = ()
    gone_figures: tuple[FigureChange, ...] = ()

    @property
    def nothing(self) -> bool:
        """True when both say the same."""
        return not any(getattr(self, name) for name in _LISTS)

    def as_json(self) -> dict[str, Any]:
        """The object under ``changes`` in ``report.json``."""
        return {**asdict(self), "nothing": self.nothing}

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Changes:
        """The inverse of `as_json`."""
        lists: dict[str, Any] = {}
        for name in _LISTS:
            kind = FigureChange if "figures" in name else ClaimChange
            lists[name] = tuple(
                kind(**{**item, "evidence": tuple(item["evidence"])}) for item in row[name]
            )
        return cls(since=row["since"], previous=row["previous"], **lists)


_LISTS = (
    *("restated_figures", "new_figures", "gone_figures"),
    *("changed_claims", "new_claims", "gone_claims"),
)
_TITLES = {
    "restated_figures": "Figures restated",
    "new_figures": "New figures",
    "gone_figures": "Figures no longer reported",
    "changed_claims": "Changed",
    "new_claims": "New",
    "gone_claims": "No longer said",
}


def in_words(changes: Changes) -> str:
    """The section that stands at the top of the report, in Markdown."""
    title = f"## What has changed since {changes.since}"
    if changes.nothing:
        return f"{title}\n\nNothing has changed since the report of {changes.since}."
    parts = [title]
    for name in _LISTS:
        rows = getattr(changes, name)
        if not rows:
            continue
        lines = [f"- {_line(row)}" for row in rows[:SHOWN]]
        if more := len(rows) - SHOWN:
            lines += [f"- and {more} more, in report.json"] if more > 0 else []
        parts.append(f"**{_TITLES[name]}**\n\n" + "\n".join(lines))
    return "\n\n".join(parts)


def _line(row: ClaimChange | FigureChange) -> str:
    cites = f" [{', '.join(row.evidence)}]" if row.evidence else ""
    if isinstance(row, ClaimChange):
        before = f" (before: {row.before})" if row.before and row.after else ""
        return f"{row.after or row.before}{before}{cites}"
    named = ", ".join(part for part in (row.label, row.period_end) if part)
    told = row.after or row.before
    if row.before and row.after:
        told = f"{row.after}, before {row.before}"
    why = f" ({row.why})" if row.why else ""
    return f"{named}: {told}{why}{cites}"
