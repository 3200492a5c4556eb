"""An endpoint's limits, kept by two processes together through one Prefect server."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from deskwork.tasks import machine
from deskwork.tasks.local_server import Exchange, serve
from deskwork.tasks.prefect_server import ensure_server, stop_server
from deskwork.tasks.processes import until
from tests.wire.test_endpoint import says
from tests.wire.test_gate import Counting

pytestmark = pytest.mark.xdist_group("prefect-limits")

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("home")
    ensure_server(home, say=lambda line: None)
    yield home
    stop_server(home)


def asking(home: Path, url: str, count: int) -> subprocess.Popen[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    argv = [sys.executable, "-m", "tests.prefect_commands", "asks", str(home), url, str(count)]
    pipe = subprocess.PIPE
    return subprocess.Popen(argv, env=env, cwd=ROOT, stdout=pipe, stderr=pipe, text=True)


def slots(home: Path, url: str) -> int:
    """How many of the endpoint's places the server counts as taken."""
    api = machine.status(home)["api"]
    name = f"deskwork-{url.removeprefix('http://').removesuffix('/v1')}-calls"
    limit = httpx.get(f"{api}/v2/concurrency_limits/{name}", timeout=30).raise_for_status().json()
    assert limit["limit"] == 2
    return int(limit["active_slots"])


def finished(process: subprocess.Popen[str]) -> str:
    output, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    return output.strip()


def test_two_processes_together_keep_to_the_calls_at_once(home: Path) -> None:
    all_asked = threading.Event()

    def rule(number: int) -> Callable[[Exchange], None]:
        if number == 6:
            all_asked.set()
        return slowly

    def slowly(exchange: Exchange) -> None:
        # Long enough that every caller that may ask does.
        all_asked.wait(0.3)
        says("hi")(exchange)

    server = Counting(rule)
    with serve(server) as url:
        processes = [asking(home, url, 3) for _ in range(2)]
        assert [finished(process) for process in processes] == ["3", "3"]
        assert server.requests == 6
        assert server.most_open == 2
        assert slots(home, url) == 0


def test_the_places_of_a_killed_process_are_free_again(home: Path) -> None:
    over = threading.Event()

    def rule(number: int) -> Callable[[Exchange], None]:
        return hangs if number <= 2 else says("hi")

    def hangs(exchange: Exchange) -> None:
        over.wait(240)

    server = Counting(rule)
    with serve(server) as url:
        held = asking(home, url, 2)
        assert until(lambda: server.requests == 2, 90, every=0.1)
        assert slots(home, url) == 2
        held.kill()
        held.communicate()
        began = time.monotonic()
        assert finished(asking(home, url, 2)) == "2"
        # Not at once, since the places were taken; a minute's lease and the server's look later.
        assert 20 < time.monotonic() - began < 150
        over.set()
