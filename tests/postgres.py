"""A real PostgreSQL on loopback for tests, from the machine's own packages."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

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


@contextlib.contextmanager
def server() -> Iterator[str]:
    """A new cluster, its address, and its end. Needs `binaries`."""
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
        log = str(folder / "log")
        run(str(home / "pg_ctl"), "-D", str(data), "-o", options, "-l", log, "-w", "start")
        try:
            yield f"postgresql://{NAME}@127.0.0.1:{port}"
        finally:
            run(str(home / "pg_ctl"), "-D", str(data), "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
