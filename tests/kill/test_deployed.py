"""Runs that a worker took up: killed and retried by the button, or resumed by the command."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from deskwork.tasks.prefect_settings import Folder
from deskwork.tasks.processes import until
from deskwork.tasks.server_record import read_json
from tests.kill import script
from tests.kill.desk import COMMAND, LIMIT, Desk, Task
from tests.kill.kills import hold, never

pytestmark = pytest.mark.xdist_group("kill")


@pytest.fixture(scope="module")
def up(desk: Desk) -> Desk:
    """The home with its worker, which is stopped together with the server in the end."""
    done = desk.call("up")
    assert done.returncode == 0, done.stderr
    return desk


def eventually(condition: Callable[[], bool]) -> None:
    assert until(condition, LIMIT, every=0.2)


def trigger(task: Task) -> str:
    """What a schedule or the Run button does; the flow run's id."""
    question = script.ask_question(task.name, task.turns)
    request = {"question": question, "tools": ["tests.kill.tools:look_up"]}
    deployment = task.desk.api("/deployments/name/ask/deskwork")["id"]
    body = {"parameters": {"request": request}}
    run = task.desk.api(f"/deployments/{deployment}/create_flow_run", body)
    return str(run["id"])


def kill_in_second_turn(task: Task) -> int:
    """Wait until the run is in its second turn and kill its process; its number."""
    held = task.folder / "held"
    eventually(lambda: held.exists() and held.read_text() != "")
    process = int(held.read_text())
    os.kill(process, signal.SIGKILL)
    (task.folder / "hold").unlink()
    return process


def test_a_worker_s_run_is_killed_and_retried_by_the_button(up: Desk) -> None:
    task = Task(up, "deployed", turns=3)
    hold(task, script.keys_of("deployed", 1)[2])
    run = trigger(task)
    kill_in_second_turn(task)
    eventually(lambda: up.api(f"/flow_runs/{run}")["state"]["type"] == "CRASHED")
    task.take_stock()
    assert len(task.recorded_steps()) == 2

    # Pressed at once: the worker has more to say about the crash, which must not undo it.
    retry = {"state": {"type": "SCHEDULED", "name": "AwaitingRetry"}}
    assert up.api(f"/flow_runs/{run}/set_state", retry)["status"] == "ACCEPT"
    eventually(lambda: up.api(f"/flow_runs/{run}")["state"]["type"] == "COMPLETED")
    assert task.problems() == []
    assert task.flow_run() == run
    eventually(lambda: up.states_of(run) == {"COMPLETED", "CRASHED"})


def test_worker_and_run_are_killed_and_the_command_goes_on(up: Desk) -> None:
    task = Task(up, "orphaned", turns=3)
    hold(task, script.keys_of("orphaned", 1)[0])
    run = trigger(task)
    eventually((task.folder / "held").exists)
    os.kill(read_json(Folder(up.home).worker)["pid"], signal.SIGKILL)
    kill_in_second_turn(task)
    job = task.job()
    assert job is not None
    task.take_stock()
    assert up.api(f"/flow_runs/{run}")["state"]["type"] == "RUNNING"

    assert not task.killed(never, argv=[str(COMMAND), "resume", job.id])
    assert task.problems() == []
    assert task.flow_run() != run
    eventually(lambda: up.states_of(run) == {"COMPLETED", "CRASHED"})
    assert up.api(f"/flow_runs/{run}")["state"]["type"] == "CRASHED"
