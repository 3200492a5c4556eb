"""What a user's commands do with the server, each as a process of its own that can be killed.

``python -m tests.prefect_commands NAME HOME [ARGUMENT]`` prints one JSON line at the end.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from deskwork.tasks import machine
from deskwork.tasks.deployments import attach_run, close_orphans, connect, register, retry_run
from deskwork.tasks.prefect_server import ensure_server
from deskwork.tasks.prefect_settings import client_settings

if TYPE_CHECKING:
    from prefect import Flow


def flows() -> Sequence[Flow[..., Any]]:
    from tests.prefect_flows import count_flow, plain_flow

    return [count_flow, plain_flow]


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def ensure(home: Path) -> Any:
    return asdict(ensure_server(home, say=say))


def up(home: Path) -> Any:
    return asdict(machine.up(home, flows, say=say))


def down(home: Path) -> Any:
    return machine.down(home)


def retry(home: Path, run_id: str) -> Any:
    """What the Retry button does."""
    info = ensure_server(home, say=say)
    os.environ.update(client_settings(info))

    async def call() -> str:
        async with connect(info) as client:
            await retry_run(client, UUID(run_id))
            # A worker may have taken it up already; what counts is that it was scheduled.
            states = await client.read_flow_run_states(UUID(run_id))
        return "scheduled" if any(state.name == "AwaitingRetry" for state in states) else "no"

    return asyncio.run(call())


def run(home: Path, folder: str) -> Any:
    """A plain call of the flow, attached to its deployment; again with the run's id to resume."""
    info = ensure_server(home, say=say)
    os.environ.update(client_settings(info))
    given, _, known = folder.partition(",")
    wait_at = None if known or not given.endswith("waits") else 1
    parameters = {"request": {"folder": given, "steps": 3, "wait_at": wait_at}}

    async def call() -> Any:
        from prefect.flow_engine import run_flow
        from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings

        flow = flows()[0]
        async with connect(info) as client:
            closed = 0
            if known:
                flow_run = await client.read_flow_run(UUID(known))
                closed = await close_orphans(client, flow_run.id)
            else:
                ids = await register(client, flows(), info)
                flow_run = await attach_run(
                    client, ids["count/deskwork"], parameters, name="by hand", tags=["plain"]
                )
            say(f"run {flow_run.id}")
            with temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
                result = await asyncio.to_thread(
                    run_flow,
                    flow,
                    flow_run=flow_run,
                    parameters=flow.validate_parameters(parameters),
                )
            return {"id": str(flow_run.id), "result": result, "closed": closed}

    return asyncio.run(call())


def asks(home: Path, url: str, count: str) -> Any:
    """A flow that asks an endpoint under its limits."""
    os.environ.update(client_settings(ensure_server(home, say=say)))

    from tests.prefect_flows import asks_flow

    return asyncio.run(asks_flow(url, int(count)))


if __name__ == "__main__":
    command, home, *rest = sys.argv[1:]
    print(json.dumps(globals()[command](Path(home), *rest), default=str))
