from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.llamacpp.server import missing

LONGEST = 60.0
"""Seconds until a server that isn't ready has failed."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def health(url: str) -> int:
    """The status of the server's health, or 0 when nothing answers."""
    try:
        return httpx.get(f"{url.removesuffix('/v1')}/health", timeout=5).status_code
    except httpx.TransportError:
        return 0


@contextlib.contextmanager
def running(log: Path, until: Callable[[int], bool]) -> Iterator[str]:
    """A server in a process of its own, once its health is as wanted: its address."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/v1"
    with log.open("wb") as output:
        command = [sys.executable, "-m", "tests.llamacpp.server", str(port)]
        process = subprocess.Popen(
            command, stdout=output, stderr=output, cwd=Path(__file__).parents[2]
        )
    try:
        ends = time.monotonic() + LONGEST
        while not until(health(url)):
            assert process.poll() is None, log.read_text(errors="replace")[-2000:]
            assert time.monotonic() < ends, f"not ready after {LONGEST} s"
            time.sleep(0.005)  # between two looks
        yield url
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="session")
def llamacpp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that is ready."""
    if why := missing():
        pytest.skip(why)
    with running(tmp_path_factory.mktemp("llamacpp") / "log", lambda code: code == 200) as url:
        yield url


@pytest.fixture
def loading_llamacpp(tmp_path: Path) -> Iterator[str]:
    """The address of a server that listens and still loads its model."""
    if why := missing():
        pytest.skip(why)
    with running(tmp_path / "log", lambda code: code == 503) as url:
        yield url
