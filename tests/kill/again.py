"""Other ways to go on with a job: ``python -m tests.kill.again call QUESTION`` or ``run ID``.

``call`` is the same call from Python; ``run`` runs the same Prefect flow run again.
"""

from __future__ import annotations

import asyncio
import os
import sys
from uuid import UUID

from deskwork.tasks.prefect_server import ensure_server
from deskwork.tasks.prefect_settings import client_settings
from deskwork.tasks.settings import load_settings


async def call(question: str) -> None:
    from deskwork.flows import ask

    done = await ask(question, tools=["tests.kill.tools:look_up"])
    print(done.answer)


async def run(flow_run_id: str) -> None:
    os.environ.update(client_settings(ensure_server(load_settings().home, say=print)))
    from prefect.client.orchestration import get_client
    from prefect.flow_engine import run_flow

    from deskwork.flows.agent import ask_flow

    async with get_client() as client:
        flow_run = await client.read_flow_run(UUID(flow_run_id))
    parameters = ask_flow.validate_parameters(flow_run.parameters)
    await run_flow(ask_flow, flow_run=flow_run, parameters=parameters, return_type="state")  # type: ignore[misc]  # typed for sync and async flows at once


if __name__ == "__main__":
    asyncio.run({"call": call, "run": run}[sys.argv[1]](sys.argv[2]))
