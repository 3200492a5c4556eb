"""A machine after ``deskwork up``, as a person at its Prefect page uses it: by the API alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from deskwork.tasks import machine
from deskwork.tasks.prefect_settings import Folder
from deskwork.tasks.processes import bearing, until
from deskwork.tasks.server_record import read_json
from tests.kill.desk import asked

COMMAND = Path(sys.executable).parent / "deskwork"
LIMIT = 120.0  # seconds for what takes ten when nothing else runs
RESTING = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED", "PAUSED")
RESULTS = "# Results 2025\n\nNet sales rose 7.8% to 842.6 million euros in fiscal 2025.\n"


@dataclass
class Front:
    """The page of one home. Files of the home's ``inbox`` are what its jobs are about."""

    home: Path

    def call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A command of the home, run to its end."""
        return subprocess.run(
            [str(COMMAND), *arguments],
            env=self.environment,
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=240,
        )

    @property
    def environment(self) -> dict[str, str]:
        """What a process of this home is started with."""
        kept = {n: v for n, v in os.environ.items() if not n.startswith(("DESKWORK_", "PREFECT_"))}
        return {**kept, "DESKWORK_HOME": str(self.home)}

    @property
    def ui(self) -> str:
        return str(machine.status(self.home)["ui"])

    def ask(self, path: str, body: object = None) -> httpx.Response:
        """An answer of the Prefect API, whatever its status."""
        return asked(f"{self.ui}/api{path}", body)

    def api(self, path: str, body: object = None) -> Any:
        """What the Prefect API says, as JSON."""
        return self.ask(path, body).raise_for_status().json()

    def form(self, flow: str) -> dict[str, Any]:
        """A flow's deployment, with the schema that its form is made of."""
        found: dict[str, Any] = self.api(f"/deployments/name/{flow}/deskwork")
        return found

    def submit(self, flow: str, **request: Any) -> httpx.Response:
        """The form filled in and sent."""
        body = {"parameters": {"request": request}}
        return self.ask(f"/deployments/{self.form(flow)['id']}/create_flow_run", body)

    def start(self, flow: str, **request: Any) -> str:
        """A run's id; the form was in order."""
        return str(self.submit(flow, **request).raise_for_status().json()["id"])

    def rested(self, run: str) -> dict[str, Any]:
        """The run once it has ended, or waits for a person."""

        def look() -> Any:
            return self.api(f"/flow_runs/{run}")

        assert until(lambda: look()["state"]["type"] in RESTING, LIMIT, every=0.3), look()["state"]
        found: dict[str, Any] = look()
        return found

    def resume(self, run: str, **answer: Any) -> dict[str, Any]:
        """The Resume button with its form; the run as it comes to rest again."""
        was = self.api(f"/flow_runs/{run}")["state"]["id"]
        self.ask(f"/flow_runs/{run}/resume", {"run_input": answer}).raise_for_status()
        return self.moved_on(run, was)

    def moved_on(self, run: str, was: str) -> dict[str, Any]:
        """The run once it has come to rest in another state than ``was``, a state's id."""

        def moved() -> bool:
            state = self.api(f"/flow_runs/{run}")["state"]
            return state["id"] != was and state["type"] in RESTING

        assert until(moved, LIMIT, every=0.3)
        return self.rested(run)

    def artifacts(self, run: str, what: str = "data") -> dict[str, Any]:
        """What stands on a run's page, by the first word of its key; or another field of it."""
        found = self.api("/artifacts/filter", {"artifacts": {"flow_run_id": {"any_": [run]}}})
        return {one["key"].partition("-")[0]: one[what] for one in found}

    def question(self, run: str) -> tuple[dict[str, Any], str]:
        """The form that a waiting run shows: its schema and what it says above."""
        keys = self.api(f"/flow_runs/{run}")["state"]["state_details"]["run_input_keyset"]
        schema = self.api(f"/flow_runs/{run}/input/{keys['schema']}")
        return schema, str(self.api(f"/flow_runs/{run}/input/{keys['description']}"))

    def cut_power(self) -> None:
        """Every process of the home is gone at once, as after a restart of the machine."""
        folder = Folder(self.home)
        for record in (folder.worker, folder.record):
            os.kill(read_json(record)["pid"], signal.SIGKILL)
        for process in bearing(machine.MARK, str(folder.root)):
            process.kill()
        assert until(lambda: machine.status(self.home)["server"]["state"] == "stopped", 20)


@pytest.fixture(scope="session")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    """One home for all tests of the page."""
    home = tmp_path_factory.mktemp("home")
    (home / "inbox").mkdir()
    (home / "inbox" / "Results_2025.md").write_text(RESULTS, encoding="utf-8")
    front = Front(home)
    done = front.call("up")
    assert done.returncode == 0, done.stderr
    try:
        yield front
    finally:
        machine.down(home)
