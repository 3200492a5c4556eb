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


async def work(limit: int) -> None:
    """Take up runs of the pool, ``limit`` at a time, until cancelled."""
    from prefect.workers.process import ProcessWorker

    from deskwork.tasks.deployments import POOL

    task = asyncio.current_task()
    assert task is not None
    # Prefect's own handler would wait for the runs to finish, which may take a day.
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    worker = ProcessWorker(
        name=f"deskwork on {socket.gethostname()}", work_pool_name=POOL, limit=limit
    )
    with contextlib.suppress(asyncio.CancelledError):
        await worker.start()


def main() -> None:
    """Work until SIGTERM."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=int, default=4, help="runs at the same time")
    asyncio.run(work(parser.parse_args().limit))


if __name__ == "__main__":
    main()
