"""Runs whose worker was killed with all its processes: the next worker goes on with them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deskwork.tasks import machine
from deskwork.tasks.processes import until
from deskwork.tasks.states import EXIT_CODES
from deskwork.tasks.worker_host import STARTED
from tests.kill import script
from tests.kill.desk import COMMAND, LIMIT, Desk, Task, opened
from tests.kill.kills import hold, never
from tests.kill.server import Model
from tests.kill.test_deployed import trigger

pytestmark = pytest.mark.xdist_group("fleet")


class Worker:
    """`deskwork work` in a process group of its own."""

    def __init__(self, desk: Desk, name: str, limit: int = 2) -> None:
        self.log = desk.home / f"{name}.log"
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [str(COMMAND), "work", "--limit", str(limit), "--name", name],
                env=desk.env(),
                cwd=desk.home,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self) -> None:
        """Kill it and all that it started, at once."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(LIMIT)

    def stop(self) -> None:
        self.process.terminate()
        assert self.process.wait(LIMIT) == 0, self.log.read_text()


@pytest.fixture
def worker(desk: Desk) -> Iterator[Callable[[str], Worker]]:
    """Starts workers, which end with the test."""
    started: list[Worker] = []

    def start(name: str) -> Worker:
        started.append(Worker(desk, name))
        return started[-1]

    yield start
    for one in started:
        with contextlib.suppress(ProcessLookupError):
            one.kill()


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A home with its server, and no worker yet."""
    home: Path = tmp_path_factory.mktemp("recovered")
    with opened(home, model=Model(longest=0.1)) as desk:
        desk.recover = "deployed"
        try:
            yield desk
        finally:
            machine.down(home)


def eventually(condition: Callable[[], bool], worker: Worker) -> None:
    assert until(condition, LIMIT, every=0.2), worker.log.read_text()


def state_of(desk: Desk, run: str) -> str:
    return str(desk.api(f"/flow_runs/{run}")["state"]["type"])


def history_of(desk: Desk, run: str) -> list[str]:
    return [state["name"] for state in desk.api(f"/flow_run_states/?flow_run_id={run}")]


def job_state(task: Task) -> str:
    job = task.job()
    return job.state if job else ""


def set_state(desk: Desk, run: str, kind: str, name: str) -> None:
    state = {"state": {"type": kind, "name": name}}
    assert desk.api(f"/flow_runs/{run}/set_state", state)["status"] == "ACCEPT"


def test_a_worker_killed_with_its_runs_and_a_cancelled_run(
    desk: Desk, worker: Callable[[str], Worker]
) -> None:
    first = worker("first")
    eventually(lambda: STARTED in first.log.read_text(), first)
    task = Task(desk, "group", turns=3)
    hold(task, script.keys_of("group", 1)[0])
    run = trigger(task)
    eventually((task.folder / "held").exists, first)
    first.kill()
    (task.folder / "hold").unlink()
    task.take_stock()
    assert len(task.recorded_steps()) == 2
    assert state_of(desk, run) == "RUNNING"

    # Two at once: one of them sets the run going again, and either takes it up.
    workers = [worker(name) for name in ("second", "third")]
    eventually(lambda: state_of(desk, run) == "COMPLETED", workers[0])
    assert task.problems() == []
    assert task.flow_run() == run
    logs = "".join(one.log.read_text() for one in workers)
    assert logs.count("goes on: its process was gone") == 1
    assert history_of(desk, run).count("AwaitingRetry") == 1

    # Cancelled on the page: the job is stopped within seconds, and a Retry goes on with it.
    task = Task(desk, "cancelled", turns=3)
    hold(task, script.keys_of("cancelled", 1)[0])
    run = trigger(task)
    eventually((task.folder / "held").exists, workers[0])
    began = time.monotonic()
    set_state(desk, run, "CANCELLING", "Cancelling")
    eventually(lambda: state_of(desk, run) == "CANCELLED", workers[0])
    assert time.monotonic() - began < 20  # Prefect alone waits 30 s for the tool that hangs
    job = task.job()
    assert job is not None
    assert job.state == "stopped", job.reason
    (task.folder / "hold").unlink()
    task.take_stock()
    set_state(desk, run, "SCHEDULED", "AwaitingRetry")
    eventually(lambda: state_of(desk, run) == "COMPLETED", workers[0])
    assert task.problems() == []
    history = history_of(desk, run)
    assert "Crashed" not in history[: history.index("Cancelled")]

    # Workers that are stopped leave their runs to the next one.
    task = Task(desk, "left", turns=3)
    hold(task, script.keys_of("left", 1)[0])
    run = trigger(task)
    eventually((task.folder / "held").exists, workers[0])
    for one in workers:
        one.stop()
    (task.folder / "hold").unlink()
    task.take_stock()
    last = worker("last")
    eventually(lambda: state_of(desk, run) == "COMPLETED", last)
    assert task.problems() == []
    assert task.flow_run() == run
    last.stop()

    # The same for a command's run, which no worker has.
    task = Task(desk, "command", turns=3)
    hold(task, script.keys_of("command", 1)[0])
    client = task.start()
    assert client.until((task.folder / "held").exists)
    set_state(desk, task.flow_run(), "CANCELLING", "Cancelling")
    eventually(lambda: job_state(task) == "stopped", first)
    (task.folder / "hold").unlink()
    assert client.wait() == EXIT_CODES["stopped"], client.errors()
    run = task.flow_run()
    assert state_of(desk, run) == "CANCELLED"
    assert not task.killed(never)
    assert task.problems() == []
