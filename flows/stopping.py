"""Ctrl-C and SIGTERM: the job is left as `stopped`, and the process is gone within seconds.

What was recorded stays; a tool or a server start that can't be interrupted is not waited for.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any, TypeVar

import httpx

from deskwork.tasks.prefect_server import credentials
from deskwork.tasks.states import EXIT_CODES

T = TypeVar("T")

LONGEST = 5.0
"""Seconds between the signal and the end of the process, at most."""

_handler: ContextVar[Callable[[], None] | None] = ContextVar("stop", default=None)


async def stoppable(job: Coroutine[Any, Any, T], report: Callable[[], None]) -> T | None:
    """The job's result, or None once it was stopped by a signal and ``report`` was called.

    A second signal ends the process at once. For the main thread of a command.
    """
    task = asyncio.current_task()
    assert task is not None
    stopped = False

    def leave() -> None:
        os._exit(EXIT_CODES["stopped"])

    def stop() -> None:
        nonlocal stopped
        if stopped:
            leave()
        stopped = True
        _exit_after(LONGEST, EXIT_CODES["stopped"])
        task.cancel()

    _handler.set(stop)
    take_signals()
    try:
        return await job
    except asyncio.CancelledError:
        if not stopped:
            raise
        report()
        return None


def take_signals() -> None:
    """Let the signals stop the command's job, if one runs in this context.

    Prefect sets a handler of its own for SIGTERM, which raises an error wherever the process
    happens to be; a flow takes the signal back with this.
    """
    handler = _handler.get()
    if handler is not None:
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, handler)


def by_worker(flow_run: str | None) -> bool:
    """Whether a worker has started this very run, and so can start it again."""
    return bool(flow_run) and os.environ.get("PREFECT__FLOW_RUN_ID") == flow_run


def goes_on(flow_run: str | None) -> bool:
    """Whether a stopped run is to be gone on with by whichever worker comes next.

    So it is where its worker was stopped, or the machine: nobody has asked for the run's own end.
    A server that doesn't answer knows of nobody. Not async: it must work while being cancelled.
    """
    if not by_worker(flow_run):
        return False
    url = f"{os.environ.get('PREFECT_API_URL')}/flow_runs/{flow_run}"
    try:
        answer = httpx.get(url, timeout=2.0, headers=credentials())
        state = answer.raise_for_status().json()["state"]["type"]
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError):
        return True
    return state not in ("CANCELLING", "CANCELLED")


def end_soon() -> None:
    """Let a worker's run that was stopped end soon: Python waits for a tool's thread as it exits.

    A command has its own limit, from the signal on.
    """
    if os.environ.get("PREFECT__FLOW_RUN_ID"):
        # As 0: any other would be reported as a crash, over what the page said was wanted.
        _exit_after(LONGEST, 0)


def _exit_after(seconds: float, status: int) -> None:
    # Threads can't be cancelled, and leaving the event loop waits for them.
    timer = threading.Timer(seconds, os._exit, [status])
    timer.daemon = True
    timer.start()
