"""Investigations offered to other workers: a flow run of its own for each, which any may take up.

An offer binds nobody. Whoever takes an investigation's lease first makes it; the job's own process
makes those that nobody has taken, and takes over from workers that die. So an offer that can't be
made, or that nobody takes up, costs time at most.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from deskwork.flows.loop import Budget
from deskwork.tasks.deployments import NAME
from deskwork.tasks.journal import Journal
from deskwork.tasks.limits import Spend
from deskwork.tasks.outcomes import descendants, usage_of
from deskwork.tasks.page_text import run_name
from deskwork.tasks.plan import Part
from deskwork.tasks.profiles import Tier
from deskwork.tasks.requests import InvestigationRequest

if TYPE_CHECKING:
    from uuid import UUID

    from prefect.client.schemas.objects import FlowRun

T = TypeVar("T")

LONGEST = 20.0
"""Seconds after which the server is left alone."""


def spent_elsewhere(journal: Journal, family: Sequence[str], budget: Budget) -> Spend:
    """What those jobs of a family used whose history isn't held here."""
    here = {session.job for session in budget.sessions}
    used = usage_of(journal, [job for job in family if job not in here])
    tokens = used["input"] + used["output"]
    return Spend(steps=used["calls"], tokens=tokens, cost=used.get("cost"))


class Offer:
    """The flow runs of a job's investigations that other workers may take up."""

    def __init__(self, journal: Journal, parent: str, total: Budget) -> None:
        self._journal = journal
        self._parent = parent
        self._total = total
        self._runs: list[UUID] = []

    async def make(self, parts: Sequence[tuple[int, Part]], tier: Tier) -> Budget:
        """Offer the parts, by number. The job's budget, with what others use counted in it.

        Made again after a kill, it finds the same runs.
        """
        from prefect.client.orchestration import get_client

        with contextlib.suppress(Exception):
            async with asyncio.timeout(LONGEST), get_client() as client:
                found = await client.read_deployment_by_name(f"investigation/{NAME}")
                for number, part in parts:
                    job = f"{self._parent}.{number}"
                    request = InvestigationRequest(
                        parent=self._parent, number=number, part=part, tier=tier
                    )
                    run: FlowRun | None = None
                    while run is None or (run.state and run.state.is_final()):
                        # An earlier offer that is over, as after a Cancel, is made anew.
                        key = f"{job} after {run.id}" if run else job
                        run = await client.create_flow_run_from_deployment(
                            found.id,
                            parameters={"request": request.model_dump(mode="json")},
                            name=run_name(part.title, job),
                            tags=["research", self._parent, job],
                            idempotency_key=key,
                        )
                    self._runs.append(run.id)
        return replace(self._total, elsewhere=self._elsewhere)

    async def closing(self, work: Awaitable[T]) -> T:
        """What the work comes to; then no run is left that nobody needs.

        One that is under way while the work is stopped is stopped as well.
        """
        try:
            result = await work
        except BaseException:
            await asyncio.shield(self._close("CANCELLING"))
            raise
        await self._close("")
        return result

    def _elsewhere(self) -> Spend:
        return spent_elsewhere(self._journal, descendants(self._journal, self._parent), self._total)

    async def _close(self, running: str) -> None:
        if not self._runs:
            return
        from prefect.client.orchestration import get_client
        from prefect.client.schemas.objects import State, StateType
        from prefect.states import Cancelled

        with contextlib.suppress(Exception):
            async with asyncio.timeout(LONGEST), get_client() as client:
                for run in self._runs:
                    state = (await client.read_flow_run(run)).state
                    if state is None or state.is_final():
                        continue
                    if state.is_scheduled():
                        await client.set_flow_run_state(
                            run, Cancelled(message="Made by the job's own process."), force=True
                        )
                    elif running:
                        await client.set_flow_run_state(run, State(type=StateType(running)))
