"""The process that takes up runs on this machine: ``python -m deskwork.tasks.worker_host``.

Its environment is the caller's with ``client_settings``; the runs inherit it, ``DESKWORK_*`` too.
SIGTERM ends it and its runs at once: a run's job loses nothing, it is resumed later.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import socket
import warnings
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from anyio.abc import TaskStatus
    from prefect.client.schemas.objects import FlowRun
    from prefect.workers.process import (
        ProcessJobConfiguration,
        ProcessWorker,
        ProcessWorkerResult,
    )

STARTED = "The worker has started."


async def work(limit: int) -> None:
    """Take up runs of the pool, ``limit`` at a time, until cancelled."""
    from prefect.settings import get_current_settings

    from deskwork.tasks.deployments import POOL

    task = asyncio.current_task()
    assert task is not None
    # Prefect's own handler would wait for the runs to finish, which may take a day.
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    settings = get_current_settings().worker
    worker = _worker_class()(
        name=f"deskwork on {socket.gethostname()}", work_pool_name=POOL, limit=limit
    )
    with contextlib.suppress(asyncio.CancelledError):
        # Not `worker.start()`: that gives up, and takes its runs with it, when the server is
        # away for some minutes.
        async with worker, asyncio.TaskGroup() as group:
            group.create_task(repeat(worker.get_and_submit_flow_runs, settings.query_seconds))
            group.create_task(repeat(worker.sync_with_backend, settings.heartbeat_seconds))
            print(STARTED, flush=True)


def _worker_class() -> type[ProcessWorker]:
    """Prefect's worker for processes, which reports a crash once.

    Its own reports it again some seconds later, and so takes back a Retry that was pressed in
    between: the run would stay crashed, without a word (Prefect 3.9.1).
    """
    from prefect.workers.process import ProcessWorker

    with warnings.catch_warnings():
        # It takes the place of the one registered for the pool's type; that is wanted.
        warnings.simplefilter("ignore")

        class Worker(ProcessWorker):
            async def run(
                self,
                flow_run: FlowRun,
                configuration: ProcessJobConfiguration,
                task_status: TaskStatus[int] | None = None,
            ) -> ProcessWorkerResult:
                result = await super().run(flow_run, configuration, task_status)
                now = await self.client.read_flow_run(flow_run.id)
                reported = now.state and not (now.state.is_running() or now.state.is_pending())
                return result.model_copy(update={"status_code": 0}) if reported else result

    return Worker


async def repeat(call: Callable[[], Awaitable[Any]], seconds: float) -> None:
    """Call it every so many seconds, for ever; a server that is away is waited for."""
    away = False
    while True:
        try:
            await call()
            away = False
        except httpx.HTTPError as error:
            if not away:
                print(f"The server is away, waiting for it: {error!r}", flush=True)
            away = True
        await asyncio.sleep(seconds)


def main() -> None:
    """Work until SIGTERM."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=int, default=4, help="runs at the same time")
    asyncio.run(work(parser.parse_args().limit))


if __name__ == "__main__":
    main()
