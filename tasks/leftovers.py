"""Closing what killed runs of a job have left on the Prefect page: it is for the eye only.

Only whoever holds the job may do this: nothing else knows that nobody runs those any more.
"""

from __future__ import annotations

import asyncio
import contextlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from deskwork.tasks.deployments import close_orphans

if TYPE_CHECKING:
    from prefect.client.orchestration import PrefectClient
    from prefect.client.schemas.objects import FlowRun

LONGEST = 20.0
"""Seconds after which closing is given up: a server that is away must not hold a job back."""
MESSAGE = "Its process ended before it did."


class Leftovers:
    """The runs of a job before ``own``, the run that holds it now.

    ``earlier`` is the run that held it last; ``own`` itself if a worker has taken it up again.
    """

    def __init__(self, job: str, own: str, earlier: str) -> None:
        self.job = job
        self.own = UUID(own)
        self.earlier = UUID(earlier)
        self.since = datetime.now(UTC)

    async def close(self) -> None:
        """Mark them as crashed, and their tasks; one that waits for an answer as answered.

        Called twice: the server records task runs a little late, so that what began just before
        a kill may be missed at first. Whatever fails here isn't worth a job.
        """
        from prefect.client.orchestration import get_client

        with contextlib.suppress(Exception):
            async with asyncio.timeout(LONGEST), get_client() as client:
                if self.earlier == self.own:
                    await close_orphans(client, self.own, before=self.since)
                    return
                runs = {run.id: run for run in await self._unfinished(client)}
                for name in runs.keys() | {self.earlier}:
                    await close_orphans(client, name)
                for run in runs.values():
                    await _end(client, run)

    async def _unfinished(self, client: PrefectClient) -> list[FlowRun]:
        """The job's runs that look as if they ran, those too that died before they held it."""
        from prefect.client.schemas.filters import (
            FlowRunFilter,
            FlowRunFilterId,
            FlowRunFilterState,
            FlowRunFilterStateType,
            FlowRunFilterTags,
        )
        from prefect.client.schemas.objects import StateType

        # A suspended one has asked what was answered elsewhere.
        types = [StateType.RUNNING, StateType.PENDING, StateType.CANCELLING, StateType.PAUSED]
        state = FlowRunFilterState(type=FlowRunFilterStateType(any_=types))
        found = []
        for which in (
            FlowRunFilter(tags=FlowRunFilterTags(all_=[self.job]), state=state),
            FlowRunFilter(id=FlowRunFilterId(any_=[self.earlier]), state=state),
        ):
            found += await client.read_flow_runs(flow_run_filter=which)
        return [run for run in found if run.id != self.own]


async def _end(client: PrefectClient, run: FlowRun) -> None:
    from prefect.states import Cancelled, Crashed

    state: Any = Crashed(message=MESSAGE)
    if run.state is not None and run.state.is_paused():
        state = Cancelled(name="Answered elsewhere", message="Its job has gone on in another run.")
    await client.set_flow_run_state(run.id, state, force=True)
