"""Setting dead runs going again on the Prefect server: what `recovery` decides, carried out.

A dead run is marked as crashed and scheduled again, so that any worker of the pool takes it up. One
that the server no longer knows gets a new run, which goes on with the same job.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from deskwork.tasks.deployments import NAME, PLAIN, POOL, retry_run
from deskwork.tasks.entries import Draft
from deskwork.tasks.journal import Journal
from deskwork.tasks.recovery import ENDED, OPEN, Decision, Recovery, Run
from deskwork.tasks.starts import first_entry
from deskwork.tools.errors import JobHeld

if TYPE_CHECKING:
    from prefect.client.orchestration import PrefectClient
    from prefect.client.schemas.objects import FlowRun, State

DIED = "Its process ended before it did."
PAGE = 200
"""Runs that Prefect tells of at once, at most."""


class Reviver:
    """Looks for dead runs and sets them going again. ``say`` is told of each in a sentence."""

    def __init__(
        self,
        client: PrefectClient,
        journal: Journal,
        recovery: Recovery,
        say: Callable[[str], None],
    ) -> None:
        self.client = client
        self.journal = journal
        self.recovery = recovery
        self.say = say

    async def look(self) -> None:
        """One look. Raises what the server or the journal raises when it is away."""
        suspects = await asyncio.to_thread(self.recovery.suspects)
        for run in await self._runs(suspects):
            decision = await asyncio.to_thread(self.recovery.claim, run)
            if decision:
                await self._act(run, decision)

    async def _runs(self, suspects: Sequence[str]) -> list[Run]:
        """The pool's runs that look as if they ran, and suspects that have ended or are gone."""
        from prefect.client.schemas.filters import (
            FlowRunFilter,
            FlowRunFilterId,
            FlowRunFilterState,
            FlowRunFilterStateType,
            WorkPoolFilter,
            WorkPoolFilterName,
        )
        from prefect.client.schemas.objects import StateType

        open_ = FlowRunFilterStateType(any_=[StateType(name) for name in OPEN])
        found = await self._pages(
            flow_run_filter=FlowRunFilter(state=FlowRunFilterState(type=open_)),
            work_pool_filter=WorkPoolFilter(name=WorkPoolFilterName(any_=[POOL])),
        )
        known = {str(run.id) for run in found}
        rest = [UUID(name) for name in suspects if name not in known]
        for start in range(0, len(rest), PAGE):
            some = FlowRunFilter(id=FlowRunFilterId(any_=rest[start : start + PAGE]))
            found += await self.client.read_flow_runs(flow_run_filter=some, limit=PAGE)
        known |= {str(run.id) for run in found}
        # Only what a worker had is gone on with here: nothing tells that a plain call made it.
        gone = [Run(name, "MISSING", 0.0, plain=True) for name in suspects if name not in known]
        seen = [run for run in map(_run, found) if run.state in (*OPEN, *ENDED, "CRASHED")]
        return [*seen, *gone]

    async def _pages(self, **filters: Any) -> list[FlowRun]:
        from prefect.client.schemas.sorting import FlowRunSort

        found: list[FlowRun] = []
        while True:
            page = await self.client.read_flow_runs(
                **filters, sort=FlowRunSort.ID_DESC, limit=PAGE, offset=len(found)
            )
            found += page
            if len(page) < PAGE:
                return found

    async def _act(self, run: Run, decision: Decision) -> None:
        name = f"Job {decision.job}" if decision.job else f"Run {run.id}"
        if decision.todo == "close":
            await self._close(run, decision)
        elif run.state in ("CANCELLING", "CANCELLED"):
            await self._cancelled(run, decision)
        elif decision.todo == "failed":
            await self._failed(run, decision)
        elif decision.todo == "anew" and decision.job:
            await self._anew(run, decision.job)
            self.say(f"{name} goes on in a new run: Prefect no longer knows the old one.")
        elif decision.todo == "again":
            await self._again(run, decision)
            self.say(f"{name} goes on: its process was gone.")

    async def _again(self, run: Run, decision: Decision) -> None:
        now = await self.client.read_flow_run(UUID(run.id))
        kind = now.state.type.value if now.state else ""
        if kind in OPEN:
            await self._set(run, _crashed(DIED))
        elif kind not in ("CRASHED", "FAILED"):
            return  # a person has pressed a button since
        if now.deployment_id is None and decision.job:
            # A subflow of another flow: no worker can take it up by itself.
            await self._anew(run, decision.job)
            return
        await retry_run(self.client, now.id)

    async def _anew(self, run: Run, job: str) -> None:
        """A new run of the job's deployment. The job has it before any worker can."""
        from prefect.states import Scheduled

        found = await asyncio.to_thread(self.journal.job, job)
        deployment = await self.client.read_deployment_by_name(f"{found.flow}/{NAME}")
        parameters = await asyncio.to_thread(parameters_of, self.journal, job)
        state: State[Any] = Scheduled(message="Goes on with a job whose run is lost.")
        made = await self.client.create_flow_run_from_deployment(
            deployment.id, parameters=parameters, name=job, state=state
        )
        await asyncio.to_thread(self.recovery.moved, job, run.id, str(made.id))

    async def _failed(self, run: Run, decision: Decision) -> None:
        then = (
            f"then `deskwork resume {decision.job}` goes on with it."
            if decision.job
            else "then press Retry."
        )
        reason = (
            f"Its process died {decision.times} times in a row without recording anything new. "
            f"Look for the cause in the worker's log and at the machine's memory, {then}"
        )
        if decision.job:
            await asyncio.to_thread(self._leave, decision.job, "failed", reason)
        if run.state != "MISSING":
            await self._set(run, _failed(reason))
        self.say(f"{'Job ' + decision.job if decision.job else 'Run ' + run.id} failed: {reason}")

    async def _cancelled(self, run: Run, decision: Decision) -> None:
        from prefect.states import Cancelled

        if decision.job:
            reason = f"It was cancelled. `deskwork resume {decision.job}` goes on with it."
            await asyncio.to_thread(self._leave, decision.job, "stopped", reason)
        await self._set(run, Cancelled(message="Its process had ended already."))

    async def _close(self, run: Run, decision: Decision) -> None:
        from prefect.states import Completed

        if decision.state in ("done", "needs review"):
            name = "Needs review" if decision.state == "needs review" else None
            await self._set(run, Completed(name=name, message=f"Job {decision.job} had ended."))
        else:
            await self._set(run, _crashed(f"{DIED} Job {decision.job}: {decision.state}."))

    def _leave(self, job: str, state: str, reason: str) -> None:
        """End a job that nobody holds; whoever takes it meanwhile keeps it."""
        try:
            writer = self.journal.acquire(job)
        except JobHeld:
            return
        try:
            writer.append([Draft("outcome", {"state": state, "answer": "", "reason": reason})])
        finally:
            writer.release(state, reason)

    async def _set(self, run: Run, state: State[Any]) -> None:
        await self.client.set_flow_run_state(UUID(run.id), state, force=True)


def parameters_of(journal: Journal, job: str) -> dict[str, Any]:
    """The parameters of a run that goes on with a job as it is."""
    recorded = first_entry(journal, job)
    limits = journal.metas(job, "start", "resumed")[-1][2]["limits"]
    budget = recorded["settings"]["budget"]
    return {"request": {**recorded["request"], "budget": budget, "limits": limits, "job": job}}


def _run(found: FlowRun) -> Run:
    state = found.state
    age = (datetime.now(UTC) - state.timestamp).total_seconds() if state else 0.0
    kind = state.type.value if state else "PENDING"
    return Run(str(found.id), kind, age, plain=PLAIN in found.labels)


def _crashed(message: str) -> State[Any]:
    from prefect.states import Crashed

    return Crashed(message=message)


def _failed(message: str) -> State[Any]:
    from prefect.states import Failed

    return Failed(message=message)
