"""What a research job's investigations brought, as one: documents, evidence, figures, words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from deskwork.flows.children import Child
from deskwork.flows.running import Run
from deskwork.tasks.figure_corrections import amounts, corrected_figures
from deskwork.tasks.job_desk import with_sources
from deskwork.tasks.ledger import Ledger
from deskwork.tasks.review import Review
from deskwork.tasks.reviews import plain
from deskwork.tools.charts.chart import Chart
from deskwork.tools.collection import Collection
from deskwork.tools.figures import Figure
from deskwork.tools.tool import Evidence


class Findings:
    """The results of investigations over a run's documents."""

    def __init__(
        self, run: Run, children: Sequence[Child] = (), reviews: Sequence[Review] = ()
    ) -> None:
        self.run = run
        self.reviews = list(reviews)
        self.children = list(children)
        self.collection: Collection = run.collection
        for child in self.children:
            fetched = child.sources
            # Two investigations may have fetched one address at different times.
            names = {source.name: self.collection.name_for(source) for source in fetched}
            self.collection = with_sources(self.collection, fetched, run.bench.blobs)
            child.evidence = {
                name: replace(item, file=names.get(item.file, item.file)) if item.url else item
                for name, item in child.evidence.items()
            }

    @property
    def evidence(self) -> dict[str, Evidence]:
        """Every quote that was cited, by its id."""
        return {name: item for child in self.children for name, item in child.evidence.items()}

    @property
    def figures(self) -> dict[str, Figure]:
        """Every figure that was bound or derived, by its id, as a person corrected it."""
        found = {name: item for child in self.children for name, item in child.figures.items()}
        return corrected_figures(found, self.reviews)

    @property
    def charts(self) -> dict[str, Chart]:
        """Every chart that was drawn, by its id; their pictures are in the blobs."""
        return {name: item for child in self.children for name, item in child.charts.items()}

    def ledger(self) -> Ledger:
        """What a report over these findings may state."""
        corrected = [
            (review.evidence, *amounts(review, 0))
            for review in self.reviews
            if review.what == "figure" and review.evidence and review.scale
        ]
        return Ledger(self.collection, self.evidence, self.figures, self.charts, corrected)

    def in_words(self) -> str:
        """The answers of all investigations."""
        return "\n\n".join(
            f"Findings of investigation {child.number}, {child.title} ({child.question}):\n\n"
            f"{child.answer or 'none: ' + child.problem}"
            for child in self.children
        )

    def listed(self) -> str:
        """The evidence and the figures, a line each."""
        lines = [
            f'[{item.id}] {item.file}, page {item.page}: "{" ".join(item.quote.split())}"'
            for item in self.evidence.values()
        ]
        lines += [
            f"{{{figure.id}}} {figure.label}, {figure.period_end}: {figure.printed()}"
            + (f" = {figure.formula}" if figure.formula else f" [{figure.evidence[0]}]")
            for figure in self.figures.values()
        ]
        lines += [f"{{{chart.id}}} chart: {chart.title}" for chart in self.charts.values()]
        return "\n".join(lines)

    def corrections(self) -> list[str]:
        """What a person corrected in earlier runs, in words."""
        return [
            f"“{plain(review.before)}” is to be: “{plain(review.after)}”"
            if review.what == "claim"
            else f"{review.label}, {review.period_end}: {review.after}, not {review.before}"
            for review in self.reviews
        ]

    def nothing(self, question: str) -> str:
        """The report of a job that found no evidence: what was tried."""
        parts = [f"# No evidence found\n\nThe question was: {question}", "## What was tried"]
        for child in self.children:
            tried = "\n".join(f"- {line}" for line in child.tried) or "- no search was made"
            parts.append(f"### {child.title}\n\n{child.question}\n\n{tried}")
        read = "\n".join(
            f"- {file.name}: {file.reason or f'{file.pages} pages'}"
            for file in self.run.collection.files
        )
        parts.append(f"## Files\n\n{read or '- none were given'}")
        return "\n\n".join(parts)

    def partial(self, why: str) -> str:
        """The report of a job that a limit stopped: what is known so far."""
        parts = [f"# Partial report\n\n**The job did not finish.** {why}"]
        parts += [f"## {child.title}\n\n{child.answer}" for child in self.children if child.answer]
        return "\n\n".join(parts)

    def sources(self) -> list[dict[str, Any]]:
        """A row for every document: given files first, then what was fetched."""
        return [
            {
                "file": file.name,
                "kind": file.kind,
                "pages": file.pages,
                "sha256": file.sha256,
                "url": file.url,
                "retrieved": file.retrieved,
            }
            for file in self.collection.files
            if file.state == "ready"
        ]

    def unread(self) -> list[str]:
        """What could not be read or reached, and why."""
        files = [
            f"{file.name} could not be read: {file.reason}"
            for file in self.run.collection.files
            if file.state != "ready"
        ]
        return [*files, *dict.fromkeys(line for c in self.children for line in c.unreached)]
