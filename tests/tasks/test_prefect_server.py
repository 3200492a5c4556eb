"""The one local server of a home, with real processes that are really killed."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from deskwork.tasks.prefect_server import (
    ServerDown,
    ServerPolicy,
    ensure_server,
    server_status,
    stop_server,
)
from deskwork.tasks.prefect_settings import Folder
from deskwork.tasks.processes import Process, until
from deskwork.tasks.server_record import ServerRecord, read_json, write_json
from deskwork.tools.errors import StorageError

pytestmark = pytest.mark.xdist_group("prefect-server")

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _own_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As on a machine where nobody has set anything for Prefect."""
    for name in os.environ:
        if name.startswith("PREFECT_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PREFECT_PROFILES_PATH", str(tmp_path / "profiles.toml"))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One home for all tests here: each finds a server or none, and copes with either."""
    home = tmp_path_factory.mktemp("home")
    yield home
    stop_server(home)


def quiet(line: str) -> None:
    """Nobody listens."""


def command(*arguments: str | Path) -> subprocess.Popen[str]:
    argv = [sys.executable, "-m", "tests.prefect_commands", *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(argv, cwd=ROOT, stdout=pipe, stderr=pipe, text=True)


def servers_of(home: Path) -> list[int]:
    """The numbers of all processes that serve this home, by their command lines."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"deskwork.tasks.prefect_host" in words and str(home).encode() in words:
            found.append(int(path.parent.name))
    return found


def test_two_commands_at_once_start_one_server(home: Path) -> None:
    stop_server(home)
    commands = [command("ensure", home) for _ in range(2)]
    infos = [json.loads(process.communicate(timeout=240)[0]) for process in commands]
    assert infos[0]["pid"] == infos[1]["pid"]
    assert sorted(info["started"] for info in infos) == [False, True]
    assert servers_of(home) == [infos[0]["pid"]]
    assert httpx.get(infos[0]["ui_url"], follow_redirects=True).text.startswith("<!")
    settings = httpx.get(f"{infos[0]['ui_url']}/ui-settings").json()
    assert settings["api_url"] == infos[0]["api_url"]


def test_a_killed_server_is_replaced_though_its_number_is_in_use_again(home: Path) -> None:
    before = ensure_server(home, say=quiet)
    os.kill(before.pid, signal.SIGKILL)
    bystander = subprocess.Popen(["sleep", "600"])
    try:
        record = Folder(home).record
        write_json(record, {**read_json(record), "pid": bystander.pid})
        assert server_status(home)["state"] == "stopped"
        after = ensure_server(home, say=quiet)
        assert after.started
        assert after.pid != before.pid
        assert after.api_url == before.api_url  # so that pages and settings stay right
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_a_hung_server_is_replaced(home: Path) -> None:
    before = ensure_server(home, say=quiet)
    os.kill(before.pid, signal.SIGSTOP)
    lines: list[str] = []
    after = ensure_server(home, say=lines.append, policy=ServerPolicy(answer=1.0, stop=0.5))
    assert after.started
    assert "doesn't answer" in lines[0]
    assert servers_of(home) == [after.pid]


def test_when_the_starter_is_killed_the_next_command_takes_over_its_server(home: Path) -> None:
    stop_server(home)
    old = ServerRecord.read(Folder(home).record)
    starter = command("ensure", home)
    assert until(lambda: ServerRecord.read(Folder(home).record) != old, 60)
    starter.kill()
    starter.communicate()
    record = ServerRecord.read(Folder(home).record)
    assert record is not None
    assert not record.listens()  # it was killed in the middle, not after
    info = ensure_server(home, say=quiet)
    assert not info.started
    assert info.pid == record.process.pid
    assert servers_of(home) == [info.pid]


def test_a_server_of_another_version_is_replaced_unless_it_is_busy(home: Path) -> None:
    before = ensure_server(home, say=quiet)
    record = Folder(home).record
    write_json(record, {**read_json(record), "version": "3.0.0"})
    with httpx.Client(base_url=before.api_url) as api:
        flow = api.post("/flows/", json={"name": "busy"}).json()
        running = {"type": "RUNNING", "name": "Running"}
        run = api.post("/flow_runs/", json={"flow_id": flow["id"], "state": running}).json()
        with pytest.raises(ServerDown, match=r"3\.0\.0"):
            ensure_server(home, say=quiet)
        done = {"type": "COMPLETED", "name": "Completed"}
        api.post(f"/flow_runs/{run['id']}/set_state", json={"state": done, "force": True})
    after = ensure_server(home, say=quiet)
    assert after.started
    assert not any(process == before.pid for process in servers_of(home))
    runs = httpx.post(f"{after.api_url}/flow_runs/filter", json={}).json()
    assert [found["id"] for found in runs] == [run["id"]]


def test_sigterm_stops_a_server_at_once_and_idleness_in_the_end(home: Path) -> None:
    running = Process.of(ensure_server(home, say=quiet).pid)
    assert running is not None
    os.kill(running.pid, signal.SIGTERM)
    assert until(lambda: not running.lives(), 8)
    assert Folder(home).log.read_text() == ""

    info = ensure_server(home, say=quiet, policy=ServerPolicy(idle=1.0))
    assert info.started
    assert until(lambda: servers_of(home) == [], 30)
    assert server_status(home)["state"] == "stopped"
    assert Folder(home).log.read_text() == ""


class _Api(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        allowed = self.headers.get("Authorization") in (None, "Bearer right")
        self.send_response(200 if allowed else 401)
        self.end_headers()
        self.wfile.write(b"true")

    def log_message(self, *arguments: Any) -> None:
        """Nobody listens."""


def test_a_server_that_the_user_names_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = HTTPServer(("127.0.0.1", 0), _Api)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/api"
    home = tmp_path / "home"
    try:
        monkeypatch.setenv("PREFECT_API_URL", url)
        info = ensure_server(home, say=quiet)
        assert (info.api_url, info.ui_url) == (url, url.removesuffix("/api"))
        assert (info.started, info.home) == (False, None)
        monkeypatch.setenv("PREFECT_API_KEY", "wrong")
        with pytest.raises(ServerDown, match=r"401.*PREFECT_API_KEY"):
            ensure_server(home, say=quiet)
        monkeypatch.delenv("PREFECT_API_KEY")
        monkeypatch.delenv("PREFECT_API_URL")
        (tmp_path / "profiles.toml").write_text(
            f'active = "team"\n[profiles.team]\nPREFECT_API_URL = "{url}"\n'
        )
        assert ensure_server(home, say=quiet).api_url == url
    finally:
        server.shutdown()
        server.server_close()
    with pytest.raises(ServerDown, match=r"doesn't answer.*PREFECT_API_URL"):
        ensure_server(home, say=quiet)
    assert not home.exists()


def test_a_home_that_cannot_be_written_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="DESKWORK_HOME"):
        ensure_server(tmp_path / "file" / "home", say=quiet)
    assert server_status(tmp_path / "file" / "home")["state"] == "stopped"


def test_a_taken_port_is_no_obstacle() -> None:
    from deskwork.tasks.prefect_host import bind

    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        with bind(taken) as listener:
            assert listener.getsockname()[1] != taken
