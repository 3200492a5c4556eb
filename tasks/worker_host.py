"""The process that takes up runs: ``python -m deskwork.tasks.worker_host``, or `deskwork work`.

Its environment is the caller's with ``client_settings``; the runs inherit it, ``DESKWORK_*`` too.
SIGTERM ends it and its runs at once: a run's job loses nothing, it is resumed later. It also goes
on with what other workers left behind when they died.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import random
import signal
import socket
import time
from typing import TYPE_CHECKING

from deskwork.tasks import lease, logs
from deskwork.tasks.database import Database
from deskwork.tasks.holdings import Holdings
from deskwork.tasks.journal import Journal
from deskwork.tasks.memory import give_back
from deskwork.tasks.patience import LONGEST
from deskwork.tasks.process_worker import repeat, worker_class
from deskwork.tasks.recovery import Recovery
from deskwork.tasks.recovery_runs import Reviver
from deskwork.tasks.settings import Settings, load_settings
from deskwork.tools.errors import StorageError

if TYPE_CHECKING:
    from prefect.client.orchestration import PrefectClient

STARTED = "The worker has started."
LOOK_SECONDS = 6.0
"""Between two looks for dead runs; each worker's own beat wanders a little."""
GIVE_BACK_SECONDS = 60.0
"""Between two times that free memory is given back."""


async def work(limit: int, name: str | None = None) -> None:
    """Take up runs of the pool, ``limit`` at a time, until cancelled by SIGTERM or Ctrl-C."""
    from prefect.settings import get_current_settings

    from deskwork.tasks.deployments import POOL

    task = asyncio.current_task()
    assert task is not None
    # Prefect's own handler would wait for the runs to finish, which may take a day.
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    settings, own = load_settings(), get_current_settings().worker
    logs.begin(settings.log)
    with contextlib.suppress(asyncio.CancelledError):
        database = await _journal(settings)
        holdings = Holdings(database)
        worker = worker_class(holdings)(
            name=name or f"deskwork on {socket.gethostname()}", work_pool_name=POOL, limit=limit
        )
        # Not `worker.start()`: that gives up, and takes its runs with it, when the server is
        # away for some minutes.
        async with worker, asyncio.TaskGroup() as group:
            group.create_task(repeat(worker.get_and_submit_flow_runs, own.query_seconds))
            group.create_task(repeat(worker.sync_with_backend, own.heartbeat_seconds))
            group.create_task(repeat(lambda: asyncio.to_thread(give_back), GIVE_BACK_SECONDS))
            renew = repeat(lambda: asyncio.to_thread(holdings.renew), lease.RENEW_SECONDS)
            group.create_task(renew)
            if settings.recover != "none":
                group.create_task(recover(worker.client, settings))
            # The modules are never garbage: without them a collection costs next to nothing.
            gc.freeze()
            logs.said(STARTED)


async def recover(client: PrefectClient, settings: Settings) -> None:
    """Look for dead runs for ever.

    A database that was away let every lease lapse: then none is judged until the living have had
    the time to renew theirs.
    """
    database = await _journal(settings, patience=0)
    recovery = Recovery(database, plain=settings.recover == "all")
    reviver = Reviver(client, Journal(database), recovery, logs.said)
    rest = 0.0

    async def look() -> None:
        nonlocal rest
        if time.monotonic() < rest:
            return
        try:
            await reviver.look()
        except StorageError:
            rest = time.monotonic() + lease.LEASE_SECONDS
            raise

    await repeat(look, LOOK_SECONDS * random.uniform(0.8, 1.2))


async def _journal(settings: Settings, patience: float = LONGEST) -> Database:
    """The journal's database, waited for as long as it takes."""
    found: list[Database] = []

    async def open_() -> None:
        url, home = settings.database_url, settings.home
        found.append(await asyncio.to_thread(Database, url, home, patience=patience))

    await repeat(open_, 2.0, once=True)
    return found[0]


def main() -> None:
    """Work until SIGTERM."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=int, default=4, help="runs at the same time")
    parser.add_argument("--name", help="the worker's name on the Prefect page")
    given = parser.parse_args()
    asyncio.run(work(given.limit, given.name))


if __name__ == "__main__":
    main()
