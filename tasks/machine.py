"""What runs on this machine after ``deskwork up``: the server, the deployments and one worker."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from deskwork.tasks import worker_host
from deskwork.tasks.deployments import connect, register
from deskwork.tasks.prefect_server import (
    PATIENT,
    ServerDown,
    ServerPolicy,
    ensure_server,
    server_status,
    starting,
    stop_server,
)
from deskwork.tasks.prefect_settings import Folder, ServerInfo, client_settings, user_setting
from deskwork.tasks.processes import Process, bearing, launch, until
from deskwork.tasks.server_record import read_json, write_json
from deskwork.tasks.worker_host import STARTED

if TYPE_CHECKING:
    from prefect import Flow

# In the environment of the worker and so of all it starts: they are found even without it.
MARK = "DESKWORK_WORKER_OF"


def up(
    home: Path,
    flows: Callable[[], Sequence[Flow[..., Any]]],
    *,
    say: Callable[[str], None],
    policy: ServerPolicy = PATIENT,
    limit: int = 4,
) -> ServerInfo:
    """Ensure the server, a deployment for each flow, and one worker; as often as one likes.

    ``flows`` is called once Prefect's settings are in the environment, so it may import Prefect.
    The worker takes up ``limit`` runs at a time. Raises ``ServerDown`` with what to do.
    """
    info = ready(home, flows, say=say, policy=policy)
    folder = Folder(home)
    with starting(folder, say, policy):
        _ensure_worker(folder, info, policy, limit)
    return info


def ready(
    home: Path,
    flows: Callable[[], Sequence[Flow[..., Any]]],
    *,
    say: Callable[[str], None],
    policy: ServerPolicy = PATIENT,
    stays: bool = True,
) -> ServerInfo:
    """Ensure the server, its work pool, and a deployment for each flow.

    A server of another machine may still be starting: it is waited for. The home's own doesn't
    stop when idle if it ``stays``.
    """
    info = _patient_server(home, say, policy)
    folder = Folder(home)
    folder.make()
    if info.home is not None and stays:
        # First of all, so that an idle server doesn't stop in between.
        folder.up.touch()
    os.environ.update(client_settings(info))

    async def deploy() -> None:
        async with connect(info) as client:
            await register(client, flows(), info)

    asyncio.run(deploy())
    return info


def work(
    home: Path,
    flows: Callable[[], Sequence[Flow[..., Any]]],
    *,
    say: Callable[[str], None],
    limit: int = 4,
    name: str | None = None,
) -> None:
    """Be a worker until SIGTERM or Ctrl-C, on the server that is named, else on the home's own."""
    info = ready(home, flows, say=say, stays=False)
    os.environ.update(_worker_settings(info))
    say(f"Working for {info.api_url}, {limit} runs at a time. Ctrl-C ends it.")
    asyncio.run(worker_host.work(limit, name))


def _patient_server(home: Path, say: Callable[[str], None], policy: ServerPolicy) -> ServerInfo:
    deadline, told = time.monotonic() + policy.start, False
    while True:
        try:
            return ensure_server(home, say=say, policy=policy)
        except ServerDown as error:
            if not user_setting("PREFECT_API_URL") or time.monotonic() > deadline:
                raise
            if not told:
                say(f"Waiting for the Prefect server: {error.message}")
            told = True
            time.sleep(2.0)


def _worker_settings(info: ServerInfo) -> dict[str, str]:
    return {
        **client_settings(info),
        # Nobody looks on: a run may wait two minutes for a server that is away, instead of one.
        "PREFECT_CLIENT_MAX_RETRIES": "6",
        # Its console is its log.
        "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "WARNING",
    }


def down(home: Path, *, policy: ServerPolicy = PATIENT) -> bool:
    """Stop the worker, its runs and the server; whether anything was there to stop.

    The jobs of the runs lose nothing: they can be resumed.
    """
    folder = Folder(home)
    if not folder.root.exists():
        return False
    with starting(folder, lambda _: None, policy):
        stopped = _stop_worker(folder, policy)
        folder.worker.unlink(missing_ok=True)
    return stop_server(home, policy) or stopped


def status(home: Path) -> dict[str, Any]:
    """``{api, ui, worker, deployments}``: addresses or None, ``running``/``stopped``, full names.

    ``server`` adds what ``server_status`` knows.
    """
    server = server_status(home)
    worker = _worker(Folder(home))
    return {
        "api": server["api"],
        "ui": server["ui"],
        "worker": "running" if worker else "stopped",
        "deployments": _deployments(server["api"])
        if server["state"] in ("running", "named")
        else [],
        "server": server,
    }


def _worker(folder: Folder) -> Process | None:
    worker = Process.from_record(read_json(folder.worker))
    return worker if worker and worker.lives() else None


def _ensure_worker(folder: Folder, info: ServerInfo, policy: ServerPolicy, limit: int) -> None:
    wanted = {"api_url": info.api_url, "limit": limit, "python": sys.executable}
    recorded = read_json(folder.worker)
    if _worker(folder) and all(recorded.get(name) == value for name, value in wanted.items()):
        return
    # A dead worker's runs would go on beside those that the new one takes up.
    _stop_worker(folder, policy)
    folder.worker_log.unlink(missing_ok=True)
    env = {**os.environ, **_worker_settings(info), MARK: str(folder.root)}
    argv = [sys.executable, "-m", "deskwork.tasks.worker_host", "--limit", str(limit)]
    child = launch(argv, env, folder.worker_log, folder.work)
    process = Process.of(child.pid)
    if process is not None:
        write_json(folder.worker, {**process.record(), **wanted})
    if not until(lambda: STARTED in _text(folder.worker_log) or child.poll() is not None, 120):
        raise ServerDown("The worker doesn't start.", f"Its log is {folder.worker_log}.")
    if child.poll() is not None:
        last = _text(folder.worker_log).strip().rpartition("\n")[2]
        raise ServerDown(f"The worker ended: {last}", f"Its log is {folder.worker_log}.")


def _stop_worker(folder: Folder, policy: ServerPolicy) -> bool:
    """End the worker first, so that it starts nothing new, then whatever it has left."""
    worker = _worker(folder)
    if worker:
        worker.end(policy.stop)
    left = bearing(MARK, str(folder.root))
    for process in left:
        process.end(2.0)
    return bool(worker or left)


def _deployments(api_url: str) -> list[str]:
    # By plain HTTP: a status must not cost an import of Prefect.
    try:
        body = {"deployments": {"tags": {"all_": ["deskwork"]}}}
        found = httpx.post(f"{api_url}/deployments/filter", json=body, timeout=15).json()
        ids = {"any_": [deployment["flow_id"] for deployment in found]}
        flows = httpx.post(
            f"{api_url}/flows/filter", json={"flows": {"id": ids}}, timeout=15
        ).json()
        names = {flow["id"]: flow["name"] for flow in flows}
        return sorted(f"{names[one['flow_id']]}/{one['name']}" for one in found)
    except (httpx.HTTPError, ValueError, KeyError, TypeError):
        return []


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
