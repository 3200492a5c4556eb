"""The process that is the local Prefect server: ``python -m deskwork.tasks.prefect_host``.

It holds a lock for as long as it lives, so two can't serve one home; it binds its port itself, so
no other program can take it between choosing and using; and it stops when idle.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import fcntl
import gc
import os
import socket
import sys
from pathlib import Path

import uvicorn

from deskwork.tasks import prefect_database
from deskwork.tasks.idleness import Activity, stop_when_idle
from deskwork.tasks.prefect_settings import Folder, server_settings
from deskwork.tasks.served import Served
from deskwork.tasks.server_record import HELD, ServerRecord


def main() -> int:
    """Serve a home until SIGTERM or idleness, or prepare the database template."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--home", type=Path)
    parser.add_argument("--port", type=int, default=0, help="preferred; another one if taken")
    parser.add_argument("--idle", type=float, default=1800.0, help="seconds until it stops")
    parser.add_argument("--prepare", action="store_true", help="make the database template")
    options = parser.parse_args()
    if options.prepare:
        prefect_database.prepare()
        return 0
    if options.home is None:
        parser.error("--home is needed")
    folder = Folder(options.home)
    folder.make()
    lock = folder.serving.open("a")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return HELD
    with lock, contextlib.closing(bind(options.port)) as listener:
        return 0 if serve(folder, listener, options.idle) else 1


def bind(preferred: int) -> socket.socket:
    """A socket on 127.0.0.1, not listening yet: callers are refused until the server is ready."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", preferred))
    except OSError:
        listener.bind(("127.0.0.1", 0))
    return listener


def serve(folder: Folder, listener: socket.socket, idle_after: float) -> bool:
    """Run Prefect's app on ``listener`` until told to stop or idle; whether it had started."""
    port = int(listener.getsockname()[1])
    ServerRecord.of_this_process(port).write(folder.record)
    os.environ.update(server_settings(folder, port))
    ready = prefect_database.provide(folder.database) and prefect_database.is_ready(folder.database)
    if ready:
        os.environ["PREFECT_SERVER_DATABASE_MIGRATE_ON_START"] = "false"
        os.environ["PREFECT_API_BLOCKS_REGISTER_ON_START"] = "false"
        os.environ["PREFECT_SERVER_MEMOIZE_BLOCK_AUTO_REGISTRATION"] = "false"

    # Nothing of the 150 MB of modules is ever garbage; scanning them costs a fifth of the start.
    gc.disable()
    from prefect.server.api.server import create_app

    activity = Activity(Served(create_app(), folder.home))
    gc.freeze()
    gc.enable()
    config = uvicorn.Config(
        activity,
        log_level="warning",
        access_log=False,
        # A browser's or a job's websocket never closes by itself.
        timeout_graceful_shutdown=2,
        timeout_keep_alive=30,
    )
    server = PrefectServer(config, folder)

    def stop() -> None:
        server.should_exit = True

    async def run() -> None:
        idle = asyncio.create_task(stop_when_idle(activity, idle_after, folder.up, stop))
        try:
            await server.serve(sockets=[listener])
        finally:
            idle.cancel()

    asyncio.run(run())
    return server.started


class PrefectServer(uvicorn.Server):
    """Marks the database as ready once the app has started on it."""

    def __init__(self, config: uvicorn.Config, folder: Folder) -> None:
        super().__init__(config)
        self.folder = folder

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the app, then let it be reached."""
        await super().startup(sockets)
        if self.started and not prefect_database.is_ready(self.folder.database):
            prefect_database.set_mark(self.folder.database)


if __name__ == "__main__":
    sys.exit(main())
