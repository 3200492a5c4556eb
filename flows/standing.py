"""The flow `briefing`: one run of a standing report.

It is a research job whose report is compared with the last run's and then delivered. That it is
published stands in the journal before anything is delivered: going on after a failed delivery
costs no research, whatever has become of the files meanwhile.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run as current_run

from deskwork.flows.attending import attended
from deskwork.flows.delivering import deliver_all
from deskwork.flows.investigation import Research
from deskwork.flows.running import RESEARCHED, Run
from deskwork.tasks.briefing_requests import BriefingRequest
from deskwork.tasks.comparing import changes_between
from deskwork.tasks.issues import check_filings, issue_of
from deskwork.tasks.progress import tell
from deskwork.tasks.publishing import publish
from deskwork.tasks.report import Report
from deskwork.tasks.republishing import collected, load_report, stored_report
from deskwork.tasks.reviews import holding, reviewed, reviews_of, standing
from deskwork.tasks.settings import load_settings
from deskwork.tasks.states import NeedsReview
from deskwork.tasks.workbench import Workbench
from deskwork.tools.errors import WrongUse

UNDELIVERED = "not delivered"
"""The note of a report that says nothing new, where its file wants such ones skipped."""


@flow(name="briefing", persist_result=False)
async def briefing_flow(request: BriefingRequest) -> State[Any]:
    """Make a standing report, say what has changed since the last one, and deliver it.

    Args:
        request: The standing report's definition, and which run of it this is.
    """
    moment = current_run.scheduled_start_time or datetime.now(UTC)
    issued = await asyncio.to_thread(_issued, request, current_run.id, moment)

    async def work(run: Run) -> None:
        out = run.bench.settings.home / "reports" / run.session.job
        await Standing(run, Path(out)).work()

    return await attended("briefing", issued, work)


def _issued(request: BriefingRequest, flow_run: str | None, moment: datetime) -> BriefingRequest:
    """The request with its job: the one that this flow run has had already, else by its moment."""
    if request.issue:
        return request
    bench = Workbench(load_settings())
    try:
        known = bench.journal.jobs(flow_run=flow_run) if flow_run else []
        if known:
            request = request.model_copy(update={"job": known[-1].id})
        return issue_of(bench.journal, request, moment)
    finally:
        bench.journal.database.close()


class Standing:
    """One run of a standing report."""

    def __init__(self, run: Run, out: Path) -> None:
        self.run = run
        self.out = out
        self.session = run.session
        self.request: dict[str, Any] = run.start["request"]
        self.issue: dict[str, Any] = self.request["issue"]

    async def work(self) -> None:
        """Do the job. Raises `NeedsReview` once all is delivered, and what research raises."""
        note = self.session.history.notes.get(RESEARCHED)
        if note is None:
            await self._researched()
            note = self.session.history.notes[RESEARCHED]
        self.run.report, self.run.files = note["report"], tuple(note["files"])
        report = await asyncio.to_thread(self._at_hand)
        self.run.answer = (self.out / "report.md").read_text(encoding="utf-8")
        nothing = bool(report.changes and report.changes["nothing"])
        refused: list[str] = []
        if nothing and self.request["when_unchanged"] == "skip":
            tell("notice", self.session.job, "nothing has changed: the report is not delivered")
            if UNDELIVERED not in self.session.history.notes:
                await self.session.note(UNDELIVERED, why="nothing has changed")
        else:
            refused = await deliver_all(self.run, report)
        if note["problem"]:
            raise NeedsReview(*note["problem"])
        if refused:
            raise NeedsReview("; ".join(refused), "Mend the addresses for the next run.")

    async def _researched(self) -> None:
        """Make the report, and record that it is made."""
        check_filings(self.request["filings_of"], self.session.settings)
        problem: list[str] = []
        try:
            await Research(self.run, self.out, self._compared).work()
        except NeedsReview as error:
            problem = [error.message, error.hint]
        await self.session.note(
            RESEARCHED, report=self.run.report, files=list(self.run.files), problem=problem
        )

    def _compared(self, report: Report) -> Report:
        """The report with what has changed since the last run; a partial one stays as it is."""
        previous = self.issue["previous"]
        if not previous or report.state == "out of budget":
            return report
        journal = self.run.bench.journal
        try:
            before, _ = stored_report(self.run.bench, previous)
        except WrongUse:
            return report
        # Both as their reviewers left them: what was corrected once is no change.
        corrections = standing(journal, report.job)
        before = reviewed(before, corrections)
        after = reviewed(report, [*corrections, *reviews_of(journal, report.job)])
        changes = changes_between(before, after, self.issue["since"])
        return replace(report, changes=changes.as_json())

    def _at_hand(self) -> Report:
        """The report as data; its files are written again where they are missing."""
        bench, job = self.run.bench, self.session.job
        report = load_report(bench, self.run.report)
        report = reviewed(report, holding(bench.journal, job))
        if not all(Path(path).exists() for path in self.run.files):
            made = publish(report, self.out, collected(bench, job), self.request["outputs"])
            for problem in made.problems:
                tell("trouble", job, problem)
        return report
