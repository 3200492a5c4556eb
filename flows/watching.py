"""The flow `watch`: one look for new filings; each starts a run of its standing report, once.

What was seen is on record in the job ``watch-NAME``: what a form of a company had filed when it was
first looked at, then each filing once its run came to an end. The run's job is named for the
filing, so that a look that was killed anywhere goes on with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run as current_run
from prefect.states import Completed

from deskwork.flows.attending import prefect_state
from deskwork.flows.running import Ended
from deskwork.flows.standing import briefing_flow
from deskwork.flows.stopping import take_signals
from deskwork.tasks import faults, logs
from deskwork.tasks.briefing_requests import BriefingRequest, NewFiling, WatchRequest
from deskwork.tasks.issues import issue_of
from deskwork.tasks.journal import FINISHED
from deskwork.tasks.progress import tell
from deskwork.tasks.settings import load_settings
from deskwork.tasks.starts import find_or_create, make_start
from deskwork.tasks.states import NeedsReview, state_of
from deskwork.tasks.watched import Seen, seen_in
from deskwork.tasks.workbench import Workbench
from deskwork.tasks.writer import Writer
from deskwork.tools.errors import DeskworkError, JobHeld, NotFound, Stop, ToolError
from deskwork.tools.filings.companies import Company, find_company
from deskwork.tools.filings.edgar import Edgar
from deskwork.tools.filings.submissions import Filing, list_filings
from deskwork.tools.web.access import Web

Start = Callable[[BriefingRequest], Awaitable[None]]
MOST = 200
"""So many new filings of a company are taken at one look."""


@flow(name="watch", persist_result=False)
async def watch_flow(request: WatchRequest) -> State[Any]:
    """Ask the SEC for new filings; each starts a run of the standing report, once.

    Args:
        request: Which forms of which companies, and what a new filing starts.
    """
    take_signals()
    bench = Workbench(load_settings())
    logs.begin(bench.settings.log, current_run.id)
    try:
        writer = await asyncio.to_thread(_held, bench, request, current_run.id)
    except JobHeld as error:
        bench.journal.database.close()
        return Completed(name="Under way", message=error.message)
    state, reason = "done", ""
    try:
        reason = await Watch(bench, writer, request, _as_subflow).look()
    except DeskworkError as error:
        state, reason = state_of(error)
    except BaseException as error:
        state, reason = state_of(error)
        raise
    finally:
        writer.release(state, reason)
        tell("end", writer.job, f"{state}: {reason}", state=state)
        bench.journal.database.close()
    return prefect_state(Ended(writer.job, state, reason, reason))


async def _as_subflow(request: BriefingRequest) -> None:
    state: State[Any] = await briefing_flow(request=request, return_state=True)
    # Its job tells how it ended, unless something kept it from having one.
    result = await state.aresult(raise_on_failure=False)
    if isinstance(result, DeskworkError) and not isinstance(result, JobHeld):
        raise result


def _held(bench: Workbench, request: WatchRequest, flow_run: str | None) -> Writer:
    start = make_start("watch", request, bench.recorded_settings())
    job = find_or_create(bench.journal, start, request.name, settings_may_differ=True)
    return bench.journal.acquire(job.id, flow_run)


class Watch:
    """One look."""

    def __init__(
        self, bench: Workbench, writer: Writer, request: WatchRequest, start: Start
    ) -> None:
        """``start`` runs the standing report to its end, whatever that is."""
        self.bench = bench
        self.start = start
        self.writer = writer
        self.request = request
        settings = bench.settings
        self.edgar = Edgar(Web(settings.web, settings.home))
        # What was fetched an hour ago says nothing of what is new.
        self.fresh = Edgar(Web(replace(settings.web, max_age=0), settings.home))
        self.ended: list[str] = []
        self.left: list[str] = []

    async def look(self) -> str:
        """Look at each company; what came of it in words.

        A company that can't be looked at keeps none of the others. Raises `ToolError` for those,
        and `NeedsReview` for runs that did not come to their end.
        """
        problems: list[ToolError] = []
        for text in self.request.companies:
            try:
                company = await find_company(self.edgar, text)
                await self._look_at(company)
            except ToolError as error:
                tell("trouble", self.writer.job, str(error), error=type(error).__name__)
                problems.append(error)
        if problems:
            raise ToolError("; ".join(one.message for one in problems), problems[0].hint)
        told = "; ".join([*self.left, *self.ended])
        if self.left:
            raise NeedsReview(f"{told}.", "`deskwork resume JOB` goes on with each.")
        return told or "no new filing"

    async def _look_at(self, company: Company) -> None:
        seen = await asyncio.to_thread(seen_in, self.bench.journal, self.writer.job, company.cik)
        wanted = [form.strip().upper() for form in self.request.forms]
        first = [form for form in wanted if form not in seen.forms]
        filings = await list_filings(
            self.fresh, company, forms=wanted, since=seen.since(datetime.now(UTC)), top=MOST
        )
        if first:
            known = [filing for filing in filings if _form(filing) in first]
            await self._remember(company, known, first, seen)
        for filing in reversed(filings):
            if _form(filing) not in first and filing.accession not in seen.accessions:
                await self._started(company, filing)
                await self._remember(company, [filing], [], seen)

    async def _started(self, company: Company, filing: Filing) -> None:
        """Run the standing report on a filing, or go on with that run; not if it has ended."""
        new = NewFiling(
            accession=filing.accession,
            form=filing.form,
            company=company.name,
            filed=filing.filed,
            url=filing.url,
        )
        request = self.request.briefing.model_copy(update={"filing": new})
        now = datetime.now(UTC)
        issued = await asyncio.to_thread(issue_of, self.bench.journal, request, now)
        job = str(issued.job)
        if await asyncio.to_thread(self._has_ended, job):
            return
        tell("job", self.writer.job, f"new: {filing.form} of {company.name}: job {job}")
        faults.point("filing-found")
        await self.start(issued)
        faults.point("filing-reported")
        found = await asyncio.to_thread(self.bench.journal.job, job)
        if found.state == "stopped":
            raise Stop(f"Job {job} was stopped.", "The next look goes on with it.")
        (self.ended if found.state in FINISHED else self.left).append(f"{job}: {found.state}")

    def _has_ended(self, job: str) -> bool:
        try:
            return self.bench.journal.job(job).state in FINISHED
        except NotFound:
            return False

    async def _remember(
        self, company: Company, filings: list[Filing], first: list[str], seen: Seen
    ) -> None:
        rows = [(filing.accession, filing.filed) for filing in filings]
        draft = seen.take(company.cik, rows, first, datetime.now(UTC))
        await asyncio.to_thread(self.writer.append, [draft])


def _form(filing: Filing) -> str:
    """The form that is asked for: an amendment is of the form that it amends."""
    return filing.form.upper().removesuffix("/A")
