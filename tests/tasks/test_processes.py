from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from deskwork.tasks.processes import Process, bearing, launch, until


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    env = {**os.environ, "DESKWORK_TEST_MARK": "here"}
    process = subprocess.Popen(["sleep", "600"], env=env)
    yield process
    process.kill()
    process.wait()


def test_a_process_is_more_than_its_number(sleeper: subprocess.Popen[bytes]) -> None:
    process = Process.of(sleeper.pid)
    assert process is not None
    assert process.lives()
    assert Process.from_record(process.record()) == process
    for other in (replace(process, started="1"), replace(process, boot="earlier")):
        assert not other.lives()
        other.kill()
    assert sleeper.poll() is None


def test_a_zombie_is_dead(sleeper: subprocess.Popen[bytes]) -> None:
    process = Process.of(sleeper.pid)
    assert process is not None
    os.kill(sleeper.pid, signal.SIGKILL)
    assert until(lambda: not process.lives(), 5)  # though nobody has waited for it


def test_one_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True)"
    log = tmp_path / "log"
    argv = [sys.executable, "-c", f"{code}; time.sleep(600)"]
    child = launch(argv, os.environ, log, tmp_path)
    assert until(lambda: log.read_text() == "1\n", 10)
    process = Process.of(child.pid)
    assert process is not None
    assert os.getsid(child.pid) == child.pid
    process.end(0.1)
    assert not process.lives()
    assert child.wait() == -signal.SIGKILL


def test_processes_are_found_by_a_mark(sleeper: subprocess.Popen[bytes]) -> None:
    assert until(lambda: bool(bearing("DESKWORK_TEST_MARK", "here")), 5)
    assert [found.pid for found in bearing("DESKWORK_TEST_MARK", "here")] == [sleeper.pid]
    assert bearing("DESKWORK_TEST_MARK", "her") == []


def test_a_torn_record_is_no_process() -> None:
    assert Process.from_record({}) is None
    assert Process.from_record({"pid": "x", "started": "1", "boot": "b"}) is None
