"""Cancel on the Prefect page, for a run without a worker: the command that runs it looks itself."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from uuid import UUID

import httpx

from deskwork.tasks.deployments import connect
from deskwork.tasks.prefect_settings import ServerInfo

if TYPE_CHECKING:
    from prefect.client.schemas.objects import State

LOOK_SECONDS = 5.0
"""Between two looks at the run's state; a job's own calls are ten times as many."""


async def until_cancelled(info: ServerInfo, run: UUID) -> None:
    """Return once someone has asked for the run to be cancelled. A server may be away."""
    from prefect.exceptions import PrefectException

    while True:
        await asyncio.sleep(LOOK_SECONDS)
        try:
            async with connect(info) as client:
                state = (await client.read_flow_run(run)).state
        except (httpx.HTTPError, PrefectException):
            continue
        if state is not None and state.is_cancelling():
            return


async def mark_cancelled(info: ServerInfo, run: UUID) -> None:
    """Say on the page that the run has ended as was asked for."""
    from prefect.states import Cancelled

    state: State[Any] = Cancelled(message="The job is stopped; `deskwork resume` goes on with it.")
    async with connect(info) as client:
        await client.set_flow_run_state(run, state, force=True)
