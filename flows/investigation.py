"""The flow `research`: plan, investigations side by side, draft, check, repair, publish.

The plan, the draft and the repairs are conversations of the job itself; each investigation is a
child job with a journal of its own. What is done follows from those journals, so that a run that
was killed anywhere goes on there.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run as current_run

from deskwork.flows import prompts
from deskwork.flows.agent import prefect_state
from deskwork.flows.children import Child, investigate
from deskwork.flows.loop import Budget, check_limits, run_conversation
from deskwork.flows.running import Run, run_job
from deskwork.flows.sorting import budget_of
from deskwork.tasks.job_desk import with_sources
from deskwork.tasks.outcomes import descendants, usage_of
from deskwork.tasks.plan import Plan, read_plan
from deskwork.tasks.profiles import Tier
from deskwork.tasks.progress import tell
from deskwork.tasks.publishing import publish
from deskwork.tasks.report import Claim, Report, check, problems_of
from deskwork.tasks.requests import ResearchRequest
from deskwork.tasks.session import Brief
from deskwork.tasks.settings import BUILTIN_MODEL
from deskwork.tasks.starts import read_image
from deskwork.tasks.states import NeedsReview, OutOfBudget
from deskwork.tools.errors import Stop
from deskwork.tools.tool import Evidence

PLAN_TRIES = 3


@flow(name="research", persist_result=False)
async def research_flow(request: ResearchRequest) -> State[Any]:
    """Research a question over documents and publish a cited report; resumable at every step.

    Args:
        request: What to research, from which files, within which limits, and where the report goes.
    """

    async def work(run: Run) -> None:
        out = request.out or run.bench.settings.home / "reports" / run.session.job
        await Research(run, Path(out)).work()

    return prefect_state(await run_job("research", request, work, current_run.id))


class Research:
    """One research job being run."""

    def __init__(self, run: Run, out: Path) -> None:
        self.run = run
        self.out = out
        self.session = run.session
        self.question: str = run.start["request"]["question"]
        self.schedule = run.session.settings.schedule
        self.tier: Tier = "high"
        self.files = [file.name for file in run.collection.files if file.state == "ready"]
        self.budget = Budget(self.session.history.limits, [self.session])
        self.children: list[Child] = []
        self.web = bool(run.start["request"].get("web"))
        self.collection = run.collection

    async def work(self) -> None:
        """Do the job. Raises `NeedsReview` or `OutOfBudget` once the report is published."""
        try:
            self.tier = await budget_of(self.run, self.budget)
            plan = await self._plan()
            turns = self.schedule.tier("tool_turn", self.tier)
            self.children = await investigate(self.run, self.budget, plan, turns)
            await asyncio.to_thread(self._collect)
            if any(child.problem for child in self.children):
                # Investigations that the whole job's limit cut short say nothing of the files.
                check_limits(self.session.job, self.budget)
            evidence = self._evidence()
            if not evidence:
                self._publish(self._nothing_found(), "needs review", [], [])
                raise NeedsReview(
                    "No evidence was found, so there is no report, only what was tried.",
                    "Ask in other words, or add files that hold the answer.",
                )
            tier = self.schedule.tier("draft", self.tier)
            text = await self._converse("draft", prompts.DRAFT, self._draft_brief, tier)
            text, claims = await self._checked(text, evidence)
        except OutOfBudget as error:
            # What was found is worth keeping: a partial report, labelled, with no model call.
            text = self._partial(error)
            claims = check(text, self._evidence(), self._find)
            self._publish(text, "out of budget", claims, [error.message])
            raise
        problems = problems_of(claims)
        unfinished = [child.problem for child in self.children if child.problem]
        state = "needs review" if problems or unfinished else "done"
        self._publish(text, state, claims, unfinished)
        if state != "done":
            raise NeedsReview(
                f"{len(problems)} claims of the report don't stand and are marked in it."
                if problems
                else f"{len(unfinished)} investigations did not finish.",
                f"Read {self.out / 'report.md'}; the list is at its end.",
            )

    async def _plan(self) -> Plan:
        tier = self.schedule.tier("plan", self.tier)

        def brief() -> Brief:
            images = tuple(read_image(Path(p)) for p in self.run.start["request"]["images"])
            text = prompts.plan_brief(self.question, self.files, web=self.web)
            return Brief(prompts.PLAN, text, (), tier, images)

        for number in range(PLAN_TRIES):
            answer = await run_conversation(
                self.session,
                "plan",
                brief,
                [self.budget],
                title="plan",
                steps=self.run.steps,
            )
            try:
                plan = read_plan(answer)
            except ValueError as error:
                conversation = self.session.history.conversations["plan"]
                why = f"invalid {number + 1}"
                if number + 1 < PLAN_TRIES and why not in conversation.told:
                    await self.session.say(conversation, str(error), why)
                continue
            for part in plan.investigations:
                tell("plan", self.session.job, f"investigation: {part.title}")
            return plan
        raise Stop(
            "The model gave no usable plan in three tries.",
            f"`deskwork show {self.session.job}` has them; try a larger --budget or another model.",
        )

    async def _converse(self, label: str, system: str, text: Any, tier: Tier) -> str:
        return await run_conversation(
            self.session,
            label,
            lambda: Brief(system, text(), (), tier),
            [self.budget],
            title=label,
            steps=self.run.steps,
        )

    async def _checked(self, text: str, evidence: dict[str, Evidence]) -> tuple[str, list[Claim]]:
        """The text after at most as many repairs as there are tiers for, and its claims.

        What still fails after the last is marked in the report.
        """
        claims = await asyncio.to_thread(check, text, evidence, self._find)
        for number, tier in enumerate(self.schedule.repair, 1):
            problems = problems_of(claims)
            if not problems:
                break
            tell("plan", self.session.job, f"repair {number}: {len(problems)} claims don't stand")
            before = text

            def brief(before: str = before, problems: list[str] = problems) -> str:
                listed = self._listed_evidence()
                return prompts.repair_brief(self.question, before, problems, listed)

            text = await self._converse(f"repair {number}", prompts.REPAIR, brief, tier)
            claims = await asyncio.to_thread(check, text, evidence, self._find)
        return text, claims

    def _find(self, item: Evidence) -> Evidence:
        return self.collection.find_quote(item.file, item.page, item.quote)

    def _collect(self) -> None:
        """The files and all that the investigations fetched, as one collection."""
        for child in self.children:
            fetched = child.sources
            # Two investigations may have fetched one address at different times.
            names = {source.name: self.collection.name_for(source) for source in fetched}
            self.collection = with_sources(self.collection, fetched, self.run.bench.blobs)
            child.evidence = {
                name: replace(item, file=names.get(item.file, item.file)) if item.url else item
                for name, item in child.evidence.items()
            }

    def _evidence(self) -> dict[str, Evidence]:
        return {name: item for child in self.children for name, item in child.evidence.items()}

    def _draft_brief(self) -> str:
        findings = "\n\n".join(
            f"Findings of investigation {child.number}, {child.title} ({child.question}):\n\n"
            f"{child.answer or 'none: ' + child.problem}"
            for child in self.children
        )
        return prompts.draft_brief(self.question, findings, self._listed_evidence())

    def _listed_evidence(self) -> str:
        return "\n".join(
            f'[{item.id}] {item.file}, page {item.page}: "{" ".join(item.quote.split())}"'
            for item in self._evidence().values()
        )

    def _nothing_found(self) -> str:
        parts = [f"# No evidence found\n\nThe question was: {self.question}", "## What was tried"]
        for child in self.children:
            tried = "\n".join(f"- {line}" for line in child.tried) or "- no search was made"
            parts.append(f"### {child.title}\n\n{child.question}\n\n{tried}")
        read = "\n".join(
            f"- {file.name}: {file.reason or f'{file.pages} pages'}"
            for file in self.run.collection.files
        )
        parts.append(f"## Files\n\n{read or '- none were given'}")
        return "\n\n".join(parts)

    def _partial(self, error: OutOfBudget) -> str:
        parts = [f"# Partial report\n\n**The job did not finish.** {error.message}"]
        for child in self.children:
            if child.answer:
                parts.append(f"## {child.title}\n\n{child.answer}")
        return "\n\n".join(parts)

    def _publish(self, text: str, state: str, claims: list[Claim], notes: list[str]) -> None:
        bench, job = self.run.bench, self.session.job
        unread = [
            f"{file.name} could not be read: {file.reason}"
            for file in self.run.collection.files
            if file.state != "ready"
        ]
        unread += dict.fromkeys(line for child in self.children for line in child.unreached)
        model = self.run.start["settings"]["model"]
        used = usage_of(bench.journal, [job, *descendants(bench.journal, job)])
        used["by"] = (
            "No language model was used: the built-in answerer quotes passages as they stand"
            if model == BUILTIN_MODEL
            else f"Written by {model}"
        )
        report = Report(
            job,
            state,
            self.question,
            text,
            tuple(self._evidence().values()),
            tuple(claims),
            tuple(notes + unread),
            used,
        )
        paths = publish(report, self.out, self.collection)
        self.run.answer = (self.out / "report.md").read_text(encoding="utf-8")
        self.run.files = tuple(str(path) for path in paths)
        tell("publish", job, f"report: {self.out}")
