"""Prefect's worker for processes, with two changes: each run is written down, a crash told once."""

from __future__ import annotations

import asyncio
import functools
import shlex
import sys
import warnings
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import httpx

from deskwork.tasks import logs
from deskwork.tools.errors import DeskworkError

if TYPE_CHECKING:
    from anyio.abc import TaskStatus
    from prefect.client.schemas.objects import FlowRun
    from prefect.workers.process import (
        ProcessJobConfiguration,
        ProcessWorker,
        ProcessWorkerResult,
    )

    from deskwork.tasks.holdings import Holdings


def worker_class(holdings: Holdings) -> type[ProcessWorker]:
    """A worker whose runs are in ``holdings`` as long as they run.

    Prefect's own reports a crash again some ten seconds later, and so takes back a Retry that came
    in between: the run would stay crashed, or a live one be called so (Prefect 3.9.1).
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
                name = str(flow_run.id)
                if not configuration._command_configured:
                    # Else Prefect puts a supervisor between, which imports all of Prefect too.
                    configuration.command = f"{shlex.quote(sys.executable)} -m prefect.engine"
                    configuration._command_configured = True
                await repeat(lambda: asyncio.to_thread(holdings.take, name), 2.0, once=True)
                status: Any = _Noted(task_status, holdings, name)
                over = False
                try:
                    result = await super().run(flow_run, configuration, status)
                    now = (await self.client.read_flow_run(flow_run.id)).state
                    open_ = now is not None and (now.is_running() or now.is_pending())
                    over = now is not None and not open_ and not now.is_crashed()
                    unreported = open_ and await asyncio.to_thread(holdings.has, name)
                finally:
                    # Also when the server is away: else nobody would dare to go on with it.
                    await asyncio.gather(*status.notes, return_exceptions=True)
                    leave = functools.partial(holdings.leave, name, over=over)
                    await repeat(lambda: asyncio.to_thread(leave), 2.0, once=True)
                return result if unreported else result.model_copy(update={"status_code": 0})

    return Worker


class _Noted:
    """A task status that notes the process which a run has become."""

    def __init__(self, inner: TaskStatus[int] | None, holdings: Holdings, run: str) -> None:
        self.inner = inner
        self.holdings = holdings
        self.run = run
        self.notes: list[asyncio.Task[None]] = []

    def started(self, pid: int) -> None:
        began = asyncio.to_thread(self.holdings.began, self.run, pid)
        self.notes.append(asyncio.ensure_future(began))
        if self.inner is not None:
            self.inner.started(pid)


async def repeat(call: Callable[[], Awaitable[Any]], seconds: float, *, once: bool = False) -> None:
    """Call it every so many seconds, for ever, or until it worked ``once``.

    The Prefect server or the journal's database may be away: they are waited for.
    """
    from prefect.exceptions import PrefectException

    away = ""
    while True:
        try:
            await call()
            if once:
                return
            away = ""
        except (httpx.HTTPError, PrefectException, DeskworkError) as error:
            cause = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
            if not away:
                logs.said(f"Waiting, and trying again: {cause}")
            away = cause
        await asyncio.sleep(seconds)
