"""The flow `research`: plan, investigations side by side, draft, check, repair, publish.

The plan, the draft and the repairs are conversations of the job itself; each investigation is a
child job with a journal of its own. What is done follows from those journals, so that a run that
was killed anywhere goes on there.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from deskwork.flows import prompts
from deskwork.flows.attending import attended
from deskwork.flows.checking import Checking
from deskwork.flows.children import Child, investigate
from deskwork.flows.findings import Findings
from deskwork.flows.loop import Budget, check_limits, run_conversation
from deskwork.flows.planning import planned
from deskwork.flows.reflecting import reflect
from deskwork.flows.running import Run
from deskwork.flows.sorting import budget_of
from deskwork.tasks.claims import CHART, Checked, check
from deskwork.tasks.conflicts import conflicts_of
from deskwork.tasks.outcomes import descendants, usage_of
from deskwork.tasks.plan import Plan
from deskwork.tasks.profiles import Tier
from deskwork.tasks.progress import tell
from deskwork.tasks.publishing import FORMS, publish
from deskwork.tasks.report import Report
from deskwork.tasks.requests import ResearchRequest
from deskwork.tasks.reviews import reviewed, reviews_of, standing
from deskwork.tasks.session import Brief
from deskwork.tasks.settings import BUILTIN_MODEL
from deskwork.tasks.states import NeedsReview, OutOfBudget
from deskwork.tasks.subjects import empty_sections, strangers


@flow(name="research", persist_result=False)
async def research_flow(request: ResearchRequest) -> State[Any]:
    """Research a question over documents and publish a cited report; resumable at every step.

    Args:
        request: What to research, from which files, within which limits, and where the report goes.
    """

    async def work(run: Run) -> None:
        out = request.out or run.bench.settings.home / "reports" / run.session.job
        await Research(run, Path(out), spread=request.spread).work()

    return await attended("research", request, work)


class Research:
    """One research job being run."""

    def __init__(
        self,
        run: Run,
        out: Path,
        finish: Callable[[Report], Report] = lambda report: report,
        *,
        spread: bool = False,
    ) -> None:
        """``finish`` sees each report before it is published, and may add to it.

        With ``spread`` other workers may take up investigations.
        """
        self.run = run
        self.spread = spread
        self.out = out
        self.finish = finish
        self.session = run.session
        self.question: str = run.start["request"]["question"]
        self.schedule = run.session.settings.schedule
        self.tier: Tier = "high"
        self.files = [file.name for file in run.collection.files if file.state == "ready"]
        self.budget = Budget(self.session.history.limits, [self.session])
        self.corrections = standing(run.bench.journal, run.session.job)
        self.findings = Findings(run, (), self.corrections)
        self.web = bool(run.start["request"].get("web"))

    async def work(self) -> None:
        """Do the job. Raises `NeedsReview` or `OutOfBudget` once the report is published."""
        try:
            self.tier = await budget_of(self.run, self.budget)
            tier = self.schedule.tier("plan", self.tier)
            plan = await planned(self.run, self.budget, self.files, tier, self.out)
            children = await self._investigated(plan)
            if not self.findings.evidence:
                nothing = self.findings.nothing(self.question)
                self._publish(nothing, "needs review", Checked((), ()), [])
                raise NeedsReview(
                    "No evidence was found, so there is no report, only what was tried.",
                    "Ask in other words, or add files that hold the answer.",
                )
            tier = self.schedule.tier("draft", self.tier)
            text = await self._converse("draft", prompts.DRAFT, self._draft_brief, tier)
            checking = Checking(
                self.run, self.findings, self.question, self.budget, self.corrections
            )
            text, found = await checking.checked(text, self.tier)
        except OutOfBudget as error:
            # What was found is worth keeping: a partial report, labelled, with no model call.
            text = self.findings.partial(error.message)
            # The limits are no claims of it: they are told beside what is checked.
            said = self.findings.partial("")
            found = await asyncio.to_thread(check, said, self.findings.ledger())
            self._publish(text, "out of budget", found, [error.message])
            raise
        unfinished = [child.problem for child in children if child.problem]
        unfinished += await asyncio.to_thread(self._doubts, text)
        problems = found.problems
        state = "needs review" if problems or unfinished else "done"
        self._publish(text, state, found, unfinished)
        if state != "done":
            raise NeedsReview(
                f"The report has {_counted(len(problems), 'claim')} that the check marked."
                if problems
                else " ".join(unfinished),
                f"Read {self.out / 'report.md'}; the list is at its end.",
            )

    def _doubts(self, text: str) -> list[str]:
        """Why the report may be about something else than was asked, or about nothing."""
        evidence = [f"{item.file} {item.quote}" for item in self.findings.evidence.values()]
        names = strangers(
            self.question, self.run.collection.unknown, [*self.files, *evidence, *self._fetched()]
        )
        doubts = []
        if names:
            doubts.append(
                f"The question names {', '.join(names)}, and none of the sources does: the report "
                "may be about something else."
            )
        empty = empty_sections(text)
        if empty:
            doubts.append(f"Nothing stands under {', '.join(f'“{heading}”' for heading in empty)}.")
        return doubts

    def _fetched(self) -> list[str]:
        return [str(source) for source in self.findings.sources()]

    async def _investigated(self, plan: Plan) -> list[Child]:
        """The plan's investigations, and those that reflection adds to them."""
        turns = self.schedule.tier("tool_turn", self.tier)
        parts, children, number = plan.investigations, list[Child](), 1
        while parts:
            first = len(children) + 1
            names = (f"{self.session.job}.{number}" for number, _ in enumerate(parts, first))
            self.run.parts |= {name: part.title for name, part in zip(names, parts, strict=False)}
            children += await investigate(
                self.run, self.budget, parts, turns, first, spread=self.spread
            )
            self.findings = await asyncio.to_thread(Findings, self.run, children, self.corrections)
            if any(child.problem for child in children):
                # Investigations that the whole job's limit cut short say nothing of the files.
                check_limits(self.session.job, self.budget)
            tier = self.schedule.tier("plan", self.tier)
            parts = await reflect(self.run, self.findings, self.question, self.budget, tier, number)
            number += 1
        return children

    async def _converse(self, label: str, system: str, text: Any, tier: Tier) -> str:
        return await run_conversation(
            self.session,
            label,
            lambda: Brief(system, text(), (), tier),
            [self.budget],
            title=label,
            steps=self.run.steps,
        )

    def _as_of(self) -> str:
        """When the model last answered: the same however often the report is published."""
        entries = self.session.writer.journal.entries(self.session.job)
        answered = [entry.created for entry in entries if entry.kind == "assistant"]
        return _moment(answered[-1]) if answered else ""

    def _settings(self) -> dict[str, Any]:
        """What the report says of how it was made."""
        recorded = self.run.start["settings"]
        names = ("model", "protocol", "profile", "budget", "deskwork")
        return {name: recorded[name] for name in names if recorded.get(name)}

    def _draft_brief(self) -> str:
        findings = self.findings
        return prompts.draft_brief(
            self.question, findings.in_words(), findings.listed(), findings.corrections()
        )

    def _publish(self, text: str, state: str, found: Checked, notes: list[str]) -> None:
        bench, job = self.run.bench, self.session.job
        model = self.run.start["settings"]["model"]
        used = usage_of(bench.journal, [job, *descendants(bench.journal, job)])
        used["by"] = (
            "No language model was used: the built-in answerer quotes passages as they stand"
            if model == BUILTIN_MODEL
            else f"Written by {model}"
        )
        evidence = self.findings.evidence
        # A figure that the text states rests on others, which belong to the report as well.
        figures = {figure.id: figure for figure in found.figures}
        used_charts = [
            replace(chart, png=bench.blobs.get(chart.sha256))
            for name in dict.fromkeys(CHART.findall(text))
            if (chart := self.findings.charts.get(name))
        ]
        drawn = [name for chart in used_charts for name in chart.figures]
        inputs = [*(name for figure in found.figures for name in figure.inputs), *drawn]
        figures |= {n: f for n in inputs if (f := self.findings.figures.get(n))}
        report = Report(
            job=job,
            state=state,
            question=self.question,
            text=text,
            evidence=tuple(evidence.values()),
            claims=found.claims,
            figures=tuple(figures.values()),
            conflicts=tuple(conflicts_of(list(figures.values()), evidence)),
            charts=tuple(used_charts),
            notes=(*notes, *self.findings.unread()),
            usage=used,
            sources=tuple(self.findings.sources()),
            settings=self._settings(),
            as_of=self._as_of(),
        )
        report = self.finish(report)
        text = json.dumps(report.as_json(), ensure_ascii=False)
        self.run.report = bench.blobs.put(text.encode())
        report = reviewed(report, [*self.corrections, *reviews_of(bench.journal, job)])
        forms = self.run.start["request"].get("outputs", FORMS)
        made = publish(report, self.out, self.findings.collection, forms)
        for problem in made.problems:
            tell("trouble", job, problem)
        markdown = self.out / "report.md"
        self.run.answer = (
            markdown.read_text(encoding="utf-8") if markdown in made.paths else report.text
        )
        self.run.files = tuple(str(path) for path in made.paths)
        tell("publish", job, f"report: {self.out}")


def _moment(created: float) -> str:
    return datetime.fromtimestamp(created, UTC).isoformat(timespec="seconds")


def _counted(number: int, name: str) -> str:
    return f"{number} {name}" if number == 1 else f"{number} {name}s"
