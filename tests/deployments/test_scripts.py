"""The scripts of the image, run: secret files, probes, and the engines' start scripts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from deskwork.deployments.health import fault_of_process
from tests.deployments import manifests

ENTRYPOINT = manifests.DEPLOYMENTS / "entrypoint.sh"
HEALTH = [sys.executable, "-m", "deskwork.deployments.health"]


def run(
    command: list[str], environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], **(environment or {})}
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)


def test_the_entrypoint_reads_its_secrets_and_leaves_others_alone(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("a key with spaces, $HOME and 'quotes'\n")
    given = {
        "DESKWORK_MODEL_KEY_FILE": str(tmp_path / "key"),
        "AWS_WEB_IDENTITY_TOKEN_FILE": "/stays",
    }
    done = run(["sh", str(ENTRYPOINT), "env"], given)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert "DESKWORK_MODEL_KEY=a key with spaces, $HOME and 'quotes'" in lines
    assert "AWS_WEB_IDENTITY_TOKEN_FILE=/stays" in lines
    assert not [line for line in lines if line.startswith("DESKWORK_MODEL_KEY_FILE")]


def test_the_entrypoint_says_which_secret_is_missing() -> None:
    done = run(["sh", str(ENTRYPOINT), "true"], {"PREFECT_API_AUTH_STRING_FILE": "/absent"})
    assert done.returncode == 2
    assert "/absent, named by PREFECT_API_AUTH_STRING_FILE" in done.stderr


def test_the_entrypoint_gives_back_the_command_s_exit_code() -> None:
    assert run(["sh", str(ENTRYPOINT), "sh", "-c", "exit 5"]).returncode == 5


def test_the_entrypoint_knows_every_secret_file_that_a_manifest_names() -> None:
    known = ENTRYPOINT.read_text().split()
    named = {
        name
        for service in manifests.services(manifests.COMPOSE[0]).values()
        for name in service.get("environment", {})
    } | {
        variable["name"]
        for _, _, spec in manifests.pods("kubernetes")
        for container in spec["containers"]
        for variable in container["env"]
    }
    # PostgreSQL's own image and AWS's libraries read files by themselves.
    ours = {n for n in named if n.endswith("_FILE") and not n.startswith(("AWS_", "POSTGRES_"))}
    assert ours
    assert {name.removesuffix("_FILE") for name in ours} <= set(known)


def test_secrets_are_made_once_at_random_for_every_service(tmp_path: Path) -> None:
    script = str(manifests.DEPLOYMENTS / "make-secrets.sh")
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        assert run(["sh", script, str(folder)], {"DESKWORK_MODEL_KEY": "mine"}).returncode == 0
    again = run(["sh", script, str(folders[0])])
    assert again.returncode == 1
    assert "nothing was changed" in again.stderr
    wanted = manifests.documents(manifests.COMPOSE[0])[0]["secrets"]
    one, two = ({f.name: f.read_text() for f in folder.iterdir()} for folder in folders)
    assert one.keys() == {entry["file"].removeprefix("./secrets/") for entry in wanted.values()}
    assert {name for name in one if one[name] == two[name]} == {"model_key"}
    assert one["model_key"] == "mine"
    password = one["postgres_password"]
    assert f"deskwork:{password}@postgres:5432/deskwork" in one["deskwork_database_url"]
    assert f"deskwork:{password}@postgres:5432/prefect" in one["prefect_database_url"]
    credentials = json.loads(one["s3_identities.json"])["identities"][0]["credentials"][0]
    assert credentials["accessKey"] in one["aws_credentials"]
    assert credentials["secretKey"] in one["aws_credentials"]
    assert folders[0].stat().st_mode & 0o777 == 0o700


class _Health(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/api/health" else 404)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Health) as found:
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{found.server_port}"
        found.shutdown()
        thread.join()


def test_probes_tell_a_server_that_answers_from_one_that_does_not(server: str) -> None:
    assert run([*HEALTH, "ready"], {"PREFECT_API_URL": f"{server}/api"}).returncode == 0
    wrong = run([*HEALTH, "ready"], {"PREFECT_API_URL": f"{server}/elsewhere"})
    assert wrong.returncode == 1
    assert "does not answer: HTTP Error 404" in wrong.stderr
    assert "which is no http address" in run([*HEALTH, "ready"]).stderr
    # Alive needs no server.
    assert run([*HEALTH, "alive"]).returncode == 0
    assert run([*HEALTH]).returncode == 2


@pytest.mark.parametrize("under_tini", [False, True])
@pytest.mark.parametrize(
    ("state", "fault"), [("S", None), ("R", None), ("T", "is stopped"), ("Z", "is a zombie")]
)
def test_a_stopped_or_dead_process_is_no_worker(
    tmp_path: Path, under_tini: bool, state: str, fault: str | None
) -> None:
    number = 7 if under_tini else 1
    for folder in ("1/task/1", str(number)):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    (tmp_path / "1/comm").write_text("tini\n" if under_tini else "deskwork\n")
    (tmp_path / "1/task/1/children").write_text("7 9 " if under_tini else "")
    (tmp_path / f"{number}/stat").write_text(f"{number} (odd) name) {state} 0 1 1 0 -1")
    assert fault_of_process(tmp_path) == (f"process {number} {fault}" if fault else None)
