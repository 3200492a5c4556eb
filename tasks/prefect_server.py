"""One local Prefect server per home: started by the first caller that needs it, then reused.

A temporary server in every process would cost 13 to 33 seconds each time and outlive a kill. What
is on disk is never believed alone: a recorded server counts only if that very process lives and
answers with the version that is installed. All else is replaced.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import os
import re
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from deskwork.tasks.prefect_settings import (
    Folder,
    ServerInfo,
    prefect_version,
    user_setting,
)
from deskwork.tasks.processes import Process, launch, until
from deskwork.tasks.server_record import HELD, ServerRecord
from deskwork.tools.errors import Stop, StorageError


class ServerDown(Stop):
    """The Prefect server doesn't answer or can't be started."""


@dataclass(frozen=True)
class ServerPolicy:
    """How long to wait, in seconds.

    ``start``: for a new server, on a machine that is busy with other work. ``answer``: for one
    that serves already; after that it hangs and is replaced. ``stop``: before it is killed.
    ``idle``: until a server without work stops by itself.
    """

    start: float = 240.0
    answer: float = 30.0
    stop: float = 8.0
    idle: float = 1800.0


PATIENT = ServerPolicy()


def ensure_server(
    home: Path,
    *,
    say: Callable[[str], None],
    policy: ServerPolicy = PATIENT,
) -> ServerInfo:
    """The Prefect server to use; starts the home's own if none is named and none runs.

    ``say`` gets one line when it takes longer. Raises ``ServerDown`` with what to do, and
    ``StorageError`` if the home can't be written.
    """
    folder = Folder(home)
    named = user_setting("PREFECT_API_URL")
    recorded = ServerRecord.read(folder.record)
    # A process that has taken over our settings names our own server; it may have died since.
    if named and not (recorded and named == recorded.api_url):
        return _named_server(named)
    if recorded and _is_current(recorded) and _answers(recorded, 2.0):
        return _info(home, recorded, started=False)
    try:
        folder.make()
        with starting(folder, say, policy):
            return _settle(home, folder, say, policy)
    except OSError as error:
        raise StorageError(
            f"The local Prefect server needs {folder.root}, which can't be written: {error}.",
            "Set DESKWORK_HOME to a folder with free space that you may write to.",
        ) from error


def stop_server(home: Path, policy: ServerPolicy = PATIENT) -> bool:
    """Stop the home's server; whether there was one."""
    folder = Folder(home)
    if not folder.root.exists():
        return False
    folder.up.unlink(missing_ok=True)
    with starting(folder, lambda _: None, policy):
        recorded = ServerRecord.read(folder.record)
        if recorded is None or not recorded.process.lives():
            return False
        recorded.process.end(policy.stop)
        return True


def server_status(home: Path) -> dict[str, Any]:
    """``{state, api, ui, pid, version, up, home}``.

    The state is ``running``, ``starting`` (lives, doesn't listen yet), ``hung`` or ``stopped``.
    With a server that the user named: state ``named`` or ``unreachable``, and its addresses.
    """
    folder = Folder(home)
    named = user_setting("PREFECT_API_URL")
    recorded = ServerRecord.read(folder.record)
    if named and not (recorded and named == recorded.api_url):
        answers = _ask(f"{named}/health", 5.0, headers=credentials()) == 200
        state = "named" if answers else "unreachable"
        return {"state": state, "api": named, "ui": ui_url_of(named)}
    lives = recorded is not None and recorded.process.lives()
    if recorded is None or not lives:
        return {"state": "stopped", "api": None, "ui": None}
    silent = "hung" if recorded.listens() else "starting"
    return {
        "state": "running" if _answers(recorded, 5.0) else silent,
        "api": recorded.api_url,
        "ui": recorded.ui_url,
        "pid": recorded.process.pid,
        "version": recorded.version,
        "up": folder.up.exists(),
        "home": str(folder.root),
    }


@contextlib.contextmanager
def starting(folder: Folder, say: Callable[[str], None], policy: ServerPolicy) -> Iterator[None]:
    """The lock under which servers and workers are started and stopped; a kill frees it."""
    with folder.starting.open("a") as lock:

        def taken() -> bool:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            return False

        if not until(taken, 1.0):
            say("Waiting for another command that is starting the local Prefect server.")
            if not until(taken, policy.start + policy.stop):
                raise ServerDown(
                    "Another command has been starting the local Prefect server for too long.",
                    f"End that command; the server's log is {folder.log}.",
                )
        yield


def ui_url_of(api_url: str) -> str:
    """The address of the pages that belong to an API address, as Prefect itself derives it."""
    if api_url.startswith("https://api.prefect.cloud/api"):
        path = api_url.removeprefix("https://api.prefect.cloud/api")
        path = path.replace("/accounts/", "/account/").replace("/workspaces/", "/workspace/")
        return f"https://app.prefect.cloud{path}"
    return api_url.rstrip("/").removesuffix("/api")


def _settle(
    home: Path, folder: Folder, say: Callable[[str], None], policy: ServerPolicy
) -> ServerInfo:
    """Reuse, replace or start the server; the caller holds the lock."""
    recorded = ServerRecord.read(folder.record)
    if recorded and recorded.process.lives():
        if _is_current(recorded):
            # Perhaps its starter was killed while it started: it gets the time of a start.
            wait = policy.answer if recorded.listens() else policy.start
            if _await_answer(recorded, wait):
                return _info(home, recorded, started=False)
            say("The local Prefect server doesn't answer; replacing it.")
        else:
            _refuse_if_busy(recorded)
            say(f"Replacing the local server of Prefect {recorded.version}.")
        recorded.process.end(policy.stop)
    return _start(home, folder, say, policy, port=recorded.port if recorded else 0)


def _start(
    home: Path, folder: Folder, say: Callable[[str], None], policy: ServerPolicy, port: int
) -> ServerInfo:
    say("Starting the local Prefect server (once; it stops by itself when idle).")
    if folder.log.exists():
        folder.log.replace(folder.log.with_suffix(".log.1"))
    # Whoever starts the server, it is the same: none of the caller's Prefect settings reach it.
    env = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    argv = [sys.executable, "-m", "deskwork.tasks.prefect_host", "--home", str(home.absolute())]
    argv += ["--port", str(port or _usual_port(folder)), "--idle", str(policy.idle)]
    child = launch(argv, env, folder.log, folder.root)
    deadline = time.monotonic() + policy.start
    while time.monotonic() < deadline:
        recorded = ServerRecord.read(folder.record)
        if recorded and recorded.process.lives() and _answers(recorded, 5.0):
            return _info(home, recorded, started=recorded.process.pid == child.pid)
        # One that was launched by a killed starter may have been quicker: then wait for it.
        if child.poll() not in (None, HELD):
            break
        time.sleep(0.1)
    if process := Process.of(child.pid):
        process.kill()
    raise ServerDown(
        f"The local Prefect server could not be started: {_last_line(folder.log)}",
        f"Its log is {folder.log}. Run the command again; nothing recorded is lost.",
    )


def _usual_port(folder: Folder) -> int:
    """The same port for the same home, below the range that systems give out by themselves."""
    return 14200 + zlib.crc32(str(folder.root).encode()) % 8000


def _is_current(recorded: ServerRecord) -> bool:
    return recorded.version == prefect_version() and recorded.process.lives()


def _answers(recorded: ServerRecord, seconds: float) -> bool:
    """Whether the server answers with its own version within ``seconds``."""
    return _ask(f"{recorded.api_url}/admin/version", seconds, says=recorded.version) == 200


def _await_answer(recorded: ServerRecord, seconds: float) -> bool:
    """Wait for an answer; gives up early if the process ends."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and recorded.process.lives():
        if _answers(recorded, max(1.0, deadline - time.monotonic())):
            return True
        time.sleep(0.1)
    return False


def _refuse_if_busy(recorded: ServerRecord) -> None:
    """A server of another version is replaced only when nothing runs on it."""
    unfinished = 0
    for _ in range(3):  # a server under load answers 503 while its database is locked
        try:
            unfinished = _unfinished(recorded)
            break
        except (httpx.HTTPStatusError, httpx.TimeoutException):
            time.sleep(0.5)
        except (httpx.HTTPError, TypeError, ValueError):
            return
    if unfinished:
        raise ServerDown(
            f"The local server is of Prefect {recorded.version}, installed is "
            f"{prefect_version()}, and {unfinished} of its runs are unfinished.",
            "Let them finish, or stop it with `deskwork down`; their jobs can be resumed.",
        )


def _unfinished(recorded: ServerRecord) -> int:
    states = {"type": {"any_": ["RUNNING", "PENDING", "CANCELLING"]}}
    response = httpx.post(
        f"{recorded.api_url}/flow_runs/count",
        json={"flow_runs": {"state": states}},
        timeout=15,
        trust_env=False,
    )
    return int(response.raise_for_status().json())


def _named_server(url: str) -> ServerInfo:
    status = _ask(f"{url}/health", 15.0, headers=credentials())
    if status == 200:
        return ServerInfo(url, ui_url_of(url), 0, False, None)
    hint = "Start that server, or unset PREFECT_API_URL (`prefect config unset PREFECT_API_URL`"
    hint += " if a profile sets it) to use Deskwork's own."
    if status in (401, 403):
        hint = "Set PREFECT_API_KEY or PREFECT_API_AUTH_STRING to what that server expects."
    said = f"answered {status}" if status else "doesn't answer"
    raise ServerDown(f"The Prefect server at {url} {said}.", hint)


def credentials() -> dict[str, str]:
    """The headers by which the user's settings identify this process to a Prefect server."""
    if key := user_setting("PREFECT_API_KEY"):
        return {"Authorization": f"Bearer {key}"}
    if pair := user_setting("PREFECT_API_AUTH_STRING"):
        return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
    return {}


def _ask(
    url: str, seconds: float, says: str | None = None, headers: dict[str, str] | None = None
) -> int:
    """The status of a GET; 0 if there was no answer in time, or not the one expected."""
    # A proxy would be asked for 127.0.0.1 too.
    own = says is not None
    try:
        # Loading certificates takes as long as the rest; our own server has none.
        secure = url.startswith("https://")
        response = httpx.get(
            url, timeout=seconds, trust_env=not own, headers=headers, verify=secure
        )
        if own and response.status_code == 200 and response.json() != says:
            return 0
    except (httpx.HTTPError, httpx.InvalidURL, ValueError):
        return 0
    return response.status_code


def _info(home: Path, recorded: ServerRecord, started: bool) -> ServerInfo:
    return ServerInfo(
        recorded.api_url, recorded.ui_url, recorded.process.pid, started, home.absolute()
    )


def _last_line(log: Path) -> str:
    """The last line that names an error, else the last at all."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    named = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Failure): ", line)]
    return (named or lines or ["it said nothing."])[-1]
