"""The report as data: sections, claims, figures, evidence. Every published form is made from it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from deskwork.tasks.claims import Claim
from deskwork.tasks.conflicts import Conflict
from deskwork.tasks.sentences import Section, sections_of
from deskwork.tools.charts.chart import Chart
from deskwork.tools.figures import Figure
from deskwork.tools.tool import Evidence


@dataclass(frozen=True)
class Report:
    """What a research job found.

    ``charts`` are those that the text puts in, with their pictures. ``sources`` has a row for every
    document: ``file``, ``kind``, ``pages``, ``sha256``, ``url``, ``retrieved``. ``as_of`` is when
    the model last answered (ISO 8601, UTC); ``reviewed`` holds ``by``, ``at`` and ``note`` once a
    person has approved it. ``changes`` is what a standing report says otherwise than the run before
    (`deskwork.tasks.changes`); None where there was none.
    """

    job: str
    state: str
    question: str
    text: str
    evidence: tuple[Evidence, ...]
    claims: tuple[Claim, ...]
    figures: tuple[Figure, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    charts: tuple[Chart, ...] = ()
    notes: tuple[str, ...] = ()
    usage: dict[str, Any] = field(default_factory=dict)
    sources: tuple[dict[str, Any], ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    as_of: str = ""
    reviewed: dict[str, str] = field(default_factory=dict)
    changes: dict[str, Any] | None = None

    @property
    def review_line(self) -> str:
        """Whether a person has reviewed it, and who when."""
        if not self.reviewed:
            return "Not reviewed by a person."
        by = f" by {self.reviewed['by']}" if self.reviewed.get("by") else ""
        note = f": {self.reviewed['note']}" if self.reviewed.get("note") else ""
        anyway = self.reviewed.get("anyway", "")
        told = f", although {anyway}" if anyway else ""
        return f"Reviewed{by} on {self.reviewed.get('at', '')}{told}{note}."

    @property
    def sections(self) -> list[Section]:
        """The text by its headings."""
        return sections_of(self.text)

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Report:
        """A report from what `as_json` gave."""
        return cls(
            job=row["job"],
            state=row["state"],
            question=row["question"],
            text=row["text"],
            evidence=tuple(Evidence.from_json(item) for item in row["evidence"]),
            claims=tuple(Claim.from_json(item) for item in row["claims"]),
            figures=tuple(Figure.from_json(item) for item in row["figures"]),
            conflicts=tuple(
                Conflict(**{**item, "figures": tuple(item["figures"])}) for item in row["conflicts"]
            ),
            charts=tuple(Chart.from_json(item) for item in row.get("charts", ())),
            notes=tuple(row["notes"]),
            usage=row["usage"],
            sources=tuple(row["sources"]),
            settings=row["settings"],
            as_of=row["as_of"],
            reviewed=row["reviewed"] or {},
            changes=row.get("changes"),
        )

    def as_json(self) -> dict[str, Any]:
        """The object in ``report.json``."""
        cited = {name for claim in self.claims for name in claim.evidence}
        cited |= {name for figure in self.figures for name in figure.evidence}
        return {
            "job": self.job,
            "state": self.state,
            "question": self.question,
            "text": self.text,
            "sections": [asdict(section) for section in self.sections],
            "claims": [asdict(claim) for claim in self.claims],
            "figures": [_figure_row(figure) for figure in self.figures],
            "evidence": [asdict(item) for item in self.evidence if item.id in cited],
            "conflicts": [asdict(conflict) for conflict in self.conflicts],
            "charts": [chart.as_json() for chart in self.charts],
            "rejected": [asdict(c) for c in self.claims if c.status == "unsupported"],
            "notes": list(self.notes),
            "usage": self.usage,
            "sources": list(self.sources),
            "settings": self.settings,
            "as_of": self.as_of,
            "reviewed": self.reviewed or None,
            "changes": self.changes,
        }


def _figure_row(figure: Figure) -> dict[str, Any]:
    row = figure.as_json()
    return {**row, "evidence": list(figure.evidence), "inputs": list(figure.inputs)}
