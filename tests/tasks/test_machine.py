"""What runs after ``up``: a run that a worker takes up, killed, retried; and a plain call's run."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from deskwork.tasks import machine
from deskwork.tasks.process_worker import repeat
from deskwork.tasks.processes import Process, bearing, until

pytestmark = pytest.mark.xdist_group("machine")

ROOT = Path(__file__).parents[2]
OURS = ("run ", "Starting the local Prefect server")
LIMIT = 90.0  # seconds for what takes two when nothing else runs


class Machine:
    """A home, its commands as a user gives them, and its API as the UI calls it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        env = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
        # A worker's runs import the tests' flows from here.
        self.env = {**env, "PYTHONPATH": str(ROOT), "DESKWORK_TEST": "seen"}
        # Here a person presses Retry.
        self.env["DESKWORK_RECOVER"] = "none"

    def start(self, *arguments: str | Path) -> subprocess.Popen[str]:
        name, *rest = map(str, arguments)
        argv = [sys.executable, "-m", "tests.prefect_commands", name, str(self.home), *rest]
        pipe = subprocess.PIPE
        return subprocess.Popen(argv, env=self.env, cwd=ROOT, stdout=pipe, stderr=pipe, text=True)

    def call(self, *arguments: str | Path) -> Any:
        """A command's result; nothing but its own lines may have been printed."""
        process = self.start(*arguments)
        output, errors = process.communicate(timeout=240)
        assert process.returncode == 0, errors
        assert [line for line in errors.splitlines() if not line.startswith(OURS)] == []
        return json.loads(output)

    def post(self, path: str, body: Any) -> Any:
        api = machine.status(self.home)["api"]
        response = httpx.post(f"{api}{path}", json=body, timeout=30)
        return response.raise_for_status().json()

    def get(self, path: str) -> Any:
        api = machine.status(self.home)["api"]
        return httpx.get(f"{api}{path}", timeout=30).raise_for_status().json()

    def state_of(self, run_id: str) -> str:
        return str(self.get(f"/flow_runs/{run_id}")["state"]["type"])

    def states_of_tasks(self, which: Any) -> list[str]:
        states = [run["state"]["type"] for run in self.post("/task_runs/filter", which)]
        return sorted(states, key=["COMPLETED", "RUNNING", "PENDING", "CRASHED", "FAILED"].index)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine after ``deskwork up``."""
    home = tmp_path_factory.mktemp("home")
    desk = Machine(home)
    desk.call("up")
    yield desk
    machine.down(home)


def eventually(condition: Callable[[], bool]) -> None:
    assert until(condition, LIMIT, every=0.2)


def test_a_worker_s_run_is_killed_then_crashed_then_retried_to_its_end(
    desk: Machine, tmp_path: Path
) -> None:
    deployment = desk.get("/deployments/name/count/deskwork")
    assert deployment["entrypoint"] == "tests.prefect_flows.count_flow"
    assert deployment["description"].startswith("Count up to a number")
    steps = deployment["parameter_openapi_schema"]["definitions"]["Request"]["properties"]["steps"]
    assert steps["description"] == "How many steps."
    body = {"parameters": {"request": {"folder": str(tmp_path), "steps": 3, "wait_at": 2}}}
    run = desk.post(f"/deployments/{deployment['id']}/create_flow_run", body)

    eventually((tmp_path / "pid").exists)
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    assert until(lambda: desk.state_of(run["id"]) == "CRASHED", 30, every=0.2)

    (tmp_path / "go").touch()
    assert desk.call("retry", run["id"]) == "scheduled"
    eventually(lambda: desk.state_of(run["id"]) == "COMPLETED")
    assert (tmp_path / "steps").read_text().split() == ["0", "1", "2"]
    assert Path((tmp_path / "cwd").read_text()) == desk.home / "prefect" / "work"
    assert (tmp_path / "seen").read_text() == "seen"


def test_wrong_parameters_are_refused_with_the_field(desk: Machine, tmp_path: Path) -> None:
    deployment = desk.get("/deployments/name/count/deskwork")
    body = {"parameters": {"request": {"folder": str(tmp_path), "steps": 0}}}
    api = machine.status(desk.home)["api"]
    answer = httpx.post(f"{api}/deployments/{deployment['id']}/create_flow_run", json=body)
    assert answer.status_code == 409
    assert "request.steps" in answer.text


def test_a_plain_call_s_run_has_a_deployment_and_is_resumed_after_a_kill(
    desk: Machine, tmp_path: Path
) -> None:
    folder = tmp_path / "waits"
    folder.mkdir()
    process = desk.start("run", folder)
    eventually((folder / "pid").exists)
    runs = desk.post("/flow_runs/filter", {"flow_runs": {"name": {"any_": ["by hand"]}}})
    assert [run["state"]["type"] for run in runs] == ["RUNNING"]
    assert runs[0]["deployment_id"]
    # No worker has taken it up as well: the only process that waits is the command itself.
    assert int((folder / "pid").read_text()) == process.pid
    # The server records task runs a little late.
    tasks = {"flow_runs": {"id": {"any_": [runs[0]["id"]]}}}
    eventually(lambda: desk.states_of_tasks(tasks) == ["COMPLETED", "RUNNING"])
    process.kill()
    process.communicate()

    (folder / "go").touch()
    resumed = desk.call("run", f"{folder},{runs[0]['id']}")
    assert resumed == {"id": runs[0]["id"], "result": 3, "closed": 1}
    assert (folder / "steps").read_text().split() == ["0", "1", "2"]
    assert desk.state_of(runs[0]["id"]) == "COMPLETED"
    tasks = {"flow_runs": {"id": {"any_": [runs[0]["id"]]}}}
    eventually(
        lambda: (
            sorted(run["state"]["type"] for run in desk.post("/task_runs/filter", tasks))
            == ["COMPLETED"] * 3 + ["CRASHED"]
        )
    )


def test_up_again_changes_nothing_but_replaces_a_dead_server(desk: Machine, tmp_path: Path) -> None:
    before = machine.status(desk.home)
    assert before["worker"] == "running"
    assert before["deployments"] == ["count/deskwork", "plain/deskwork"]
    record = desk.home / "prefect" / "worker.json"
    worker = json.loads(record.read_text())
    desk.call("up")
    assert json.loads(record.read_text()) == worker
    assert machine.status(desk.home) == before

    # A worker waits for a server that is away, and goes on with the next one.
    os.kill(before["server"]["pid"], signal.SIGKILL)
    desk.call("up")
    assert json.loads(record.read_text()) == worker
    assert machine.status(desk.home)["api"] == before["api"]
    deployment = desk.get("/deployments/name/count/deskwork")
    body = {"parameters": {"request": {"folder": str(tmp_path)}}}
    run = desk.post(f"/deployments/{deployment['id']}/create_flow_run", body)
    eventually(lambda: desk.state_of(run["id"]) == "COMPLETED")


async def test_a_worker_s_loop_outlasts_any_outage(capsys: pytest.CaptureFixture[str]) -> None:
    calls: list[int] = []

    async def call() -> None:
        calls.append(len(calls))
        if len(calls) in (2, 3, 4, 6):
            raise httpx.ConnectError("refused")
        if len(calls) == 7:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await repeat(call, 0.001)
    assert len(calls) == 7
    assert capsys.readouterr().out.count("trying again") == 2  # once for each outage


def test_the_deployment_file_does_the_same_and_its_schedule_is_off(desk: Machine) -> None:
    api = machine.status(desk.home)["api"]
    file = ROOT / "deployments" / "prefect.yaml"
    argv = [Path(sys.executable).parent / "prefect", "--no-prompt", "deploy", "--all"]
    result = subprocess.run(
        [*map(str, argv), "--prefect-file", str(file)],
        env={**desk.env, "PREFECT_API_URL": api, "PREFECT_HOME": str(desk.home / "prefect")},
        cwd=desk.home,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    ask, research = (desk.get(f"/deployments/name/{name}/deskwork") for name in ("ask", "research"))
    assert ask["entrypoint"] == "deskwork.flows.agent.ask_flow"
    assert research["entrypoint"] == "deskwork.flows.investigation.research_flow"
    assert [schedule["active"] for schedule in research["schedules"]] == [False]
    assert ask["work_pool_name"] == research["work_pool_name"] == "deskwork"
    assert "request" in ask["parameter_openapi_schema"]["properties"]


def test_a_dead_worker_is_replaced_and_down_leaves_no_process(
    desk: Machine, tmp_path: Path
) -> None:
    record = desk.home / "prefect" / "worker.json"
    first = json.loads(record.read_text())["pid"]
    os.kill(first, signal.SIGKILL)
    assert until(lambda: machine.status(desk.home)["worker"] == "stopped", 10)
    desk.call("up")
    assert machine.status(desk.home)["worker"] == "running"
    second = json.loads(record.read_text())["pid"]
    assert second != first

    deployment = desk.get("/deployments/name/count/deskwork")
    body = {"parameters": {"request": {"folder": str(tmp_path), "wait_at": 0}}}
    desk.post(f"/deployments/{deployment['id']}/create_flow_run", body)
    eventually((tmp_path / "pid").exists)
    run = Process.of(int((tmp_path / "pid").read_text()))
    server = Process.of(machine.status(desk.home)["server"]["pid"])
    assert run is not None
    assert server is not None
    os.kill(second, signal.SIGKILL)  # half is gone, and a run goes on without its worker
    assert run.lives()

    assert desk.call("down") is True
    assert not run.lives()
    assert not server.lives()
    assert bearing(machine.MARK, str(desk.home / "prefect")) == []
    assert machine.status(desk.home)["api"] is None
    assert desk.call("down") is False
