"""A real PostgreSQL on loopback for tests, from the machine's own packages."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

NAME = "deskwork"


def binaries() -> Path | None:
    """Where initdb and pg_ctl are, the newest first."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True)
    if found:
        return found[0].parent
    on_path = shutil.which("initdb")
    return Path(on_path).parent if on_path else None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def create(address: str, name: str) -> str:
    """A new empty database; its address."""
    engine = sa.create_engine(
        sa.make_url(f"{address}/postgres").set(drivername="postgresql+psycopg"),
        isolation_level="AUTOCOMMIT",
    )
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return f"{address}/{name}"


@dataclass(frozen=True)
class Cluster:
    """A running server. ``stop`` ends it as a crash would, ``start`` lets it go on."""

    address: str
    stop: Callable[[], None]
    start: Callable[[], None]


@contextlib.contextmanager
def server() -> Iterator[str]:
    """A new cluster's address, and its end. Needs `binaries`."""
    with cluster() as made:
        yield made.address


@contextlib.contextmanager
def cluster() -> Iterator[Cluster]:
    """A new cluster that can be stopped and started, and its end. Needs `binaries`."""
    home = binaries()
    assert home is not None
    folder = Path(tempfile.mkdtemp(prefix="deskwork-pg-"))
    # PostgreSQL refuses to run as root; Debian's package brings a user for it.
    user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    if user:
        shutil.chown(folder, "postgres")
    port, data = free_port(), folder / "data"

    def run(*argv: str) -> None:
        subprocess.run([*user, *argv], check=True, capture_output=True, cwd="/", timeout=120)

    try:
        run(str(home / "initdb"), "-D", str(data), "-A", "trust", "-U", NAME, "-N")
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder}"
        log, control = str(folder / "log"), [str(home / "pg_ctl"), "-D", str(data)]

        def start() -> None:
            run(*control, "-o", options, "-l", log, "-w", "start")

        def stop() -> None:
            run(*control, "-m", "immediate", "stop")

        start()
        try:
            yield Cluster(f"postgresql://{NAME}@127.0.0.1:{port}", stop, start)
        finally:
            with contextlib.suppress(subprocess.CalledProcessError):  # a test may have stopped it
                stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
