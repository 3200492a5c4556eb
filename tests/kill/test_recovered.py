"""Runs whose worker was killed with all its processes: the next worker goes on with them."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deskwork.tasks import machine
from deskwork.tasks.processes import until
from tests.kill import script
from tests.kill.desk import COMMAND, LIMIT, Desk, Task, opened
from tests.kill.kills import hold
from tests.kill.server import Model
from tests.kill.test_deployed import trigger

pytestmark = pytest.mark.xdist_group("kill")


class Worker:
    """`deskwork work` in a process group of its own."""

    def __init__(self, desk: Desk, name: str) -> None:
        self.log = desk.home / f"{name}.log"
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [str(COMMAND), "work", "--limit", "2", "--name", name],
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


def test_a_worker_killed_with_its_runs_and_a_cancelled_run(desk: Desk) -> None:
    first = Worker(desk, "first")
    eventually(lambda: machine.status(desk.home)["deployments"] != [], first)
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
    workers = [Worker(desk, name) for name in ("second", "third")]
    eventually(lambda: state_of(desk, run) == "COMPLETED", workers[0])
    assert task.problems() == []
    assert task.flow_run() == run
    logs = "".join(worker.log.read_text() for worker in workers)
    assert logs.count("goes on: its process was gone") == 1
    states = [state["name"] for state in desk.api(f"/flow_run_states/?flow_run_id={run}")]
    assert states.count("AwaitingRetry") == 1
    for worker in workers:
        worker.stop()
