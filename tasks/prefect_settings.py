"""What Prefect is told through its environment, on the server's side and on the caller's.

Prefect reads its settings once, at import: they have to be in the environment before that. This
module must therefore never import Prefect, and costs nothing to import.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

_QUIET = {
    # Prefect's own usage reports, and the question whether they are wanted.
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    # The new pages call an analytics host even so; they stay one click away.
    "PREFECT_SERVER_UI_V2_ENABLED": "false",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    "PREFECT_CLOUD_ENABLE_ORCHESTRATION_TELEMETRY": "false",
    "PREFECT_TELEMETRY_ENABLE_RESOURCE_METRICS": "false",
}

_SERVER = {
    # By default each event is a transaction of its own: 50 ms CPU a task instead of 8 to 14.
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "100",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_READ_BATCH_SIZE": "100",
    # A batch that isn't full waits so many seconds; the default of 5 is long for a watcher.
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_BATCH_SIZE": "200",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_READ_BATCH_SIZE": "50",
    # A busy machine answers late; an error would cost a retry on top.
    "PREFECT_SERVER_DATABASE_TIMEOUT": "60",
    "PREFECT_SERVER_DATABASE_CONNECTION_TIMEOUT": "60",
    "PREFECT_SERVER_LOGGING_LEVEL": "WARNING",
    # In memory, the leases of endpoint limits would be lost with the server and their places held
    # for ever.
    "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": (
        "prefect.server.concurrency.lease_storage.filesystem"
    ),
    # Who waits for a place looks again so often; by default a free one stays unused up to 30 s.
    "PREFECT_SERVER_CONCURRENCY_MAXIMUM_CONCURRENCY_SLOT_WAIT_SECONDS": "2",
}

_CLIENT = {
    "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "false",
    # The console belongs to the command; Prefect's log lines go to its UI only. A flow's own
    # errors reach the person as Deskwork's errors.
    "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",
    "PREFECT_LOGGING_HANDLERS_DEBUG_LEVEL": "CRITICAL",
    "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",
    # A run's log has a line for each entry instead of "Finished in state Completed()".
    "PREFECT_LOGGING_EXTRA_LOGGERS": "deskwork",
    "PREFECT_LOGGING_LOGGERS_PREFECT_TASK_RUNS_LEVEL": "WARNING",
    "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "false",
    "PREFECT_TASKS_DEFAULT_NO_CACHE": "true",
    # Each of the client's 5 retries waits twice as long as the one before: with more, a job would
    # hang for minutes at every call to a server that is gone.
    "PREFECT_API_REQUEST_TIMEOUT": "120",
    # The starter has compared the versions already.
    "PREFECT_CLIENT_SERVER_VERSION_CHECK_ENABLED": "false",
    # A new run starts within seconds instead of ten.
    "PREFECT_WORKER_QUERY_SECONDS": "2",
    # The shortest that Prefect takes: a run whose machine died is noticed within 90 s.
    "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30",
}


@dataclass(frozen=True)
class ServerInfo:
    """Where the Prefect server is, and whether this call started it.

    ``pid`` is 0 and ``home`` None for a server that the user named and that isn't ours.
    """

    api_url: str
    ui_url: str
    pid: int
    started: bool
    home: Path | None


@dataclass(frozen=True)
class Folder:
    """The places under ``<home>/prefect``; nothing outside it is written."""

    home: Path

    @property
    def root(self) -> Path:
        """Prefect's own home, and the server's working directory."""
        return self.home.absolute() / "prefect"

    @property
    def database(self) -> Path:
        """The server's SQLite file."""
        return self.root / "prefect.db"

    @property
    def record(self) -> Path:
        """Who the server is: process, port, version, state."""
        return self.root / "server.json"

    @property
    def starting(self) -> Path:
        """Held by the command that starts or stops something."""
        return self.root / "starting.lock"

    @property
    def serving(self) -> Path:
        """Held by the server itself for as long as it lives."""
        return self.root / "serving.lock"

    @property
    def log(self) -> Path:
        """The server's output since its last start."""
        return self.root / "server.log"

    @property
    def up(self) -> Path:
        """Its presence keeps an idle server: ``deskwork up`` was called."""
        return self.root / "up"

    @property
    def worker(self) -> Path:
        """Who the worker is."""
        return self.root / "worker.json"

    @property
    def worker_log(self) -> Path:
        """The worker's output since its last start."""
        return self.root / "worker.log"

    @property
    def work(self) -> Path:
        """Where a worker's runs find themselves: empty, so that no stray ``.env`` is read."""
        return self.root / "work"

    def make(self) -> None:
        """Create the folders."""
        self.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.work.mkdir(parents=True, exist_ok=True)


@cache
def prefect_version() -> str:
    """The installed Prefect's version, without importing it."""
    return version("prefect")


def user_setting(name: str, env: Mapping[str, str] = os.environ) -> str | None:
    """What the user has set for Prefect: in the environment, else in the active profile."""
    if value := env.get(name):
        return value
    home = Path(env.get("PREFECT_HOME") or "~/.prefect").expanduser()
    path = Path(env.get("PREFECT_PROFILES_PATH") or home / "profiles.toml").expanduser()
    try:
        profiles = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    active = env.get("PREFECT_PROFILE") or profiles.get("active")
    found = profiles.get("profiles", {}).get(active, {}).get(name)
    return str(found) if found else None


def server_options() -> dict[str, str]:
    """What any server is told, wherever its database is; one of your own does well with it too."""
    return {**_QUIET, **_SERVER}


def server_settings(folder: Folder, port: int) -> dict[str, str]:
    """The environment of the server process, to be set before it imports Prefect."""
    return {
        **server_options(),
        "PREFECT_HOME": str(folder.root),
        "PREFECT_PROFILES_PATH": str(folder.root / "profiles.toml"),
        "PREFECT_SERVER_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{folder.database}",
        "PREFECT_SERVER_API_HOST": "127.0.0.1",
        "PREFECT_SERVER_API_PORT": str(port),
        "PREFECT_SERVER_UI_API_URL": f"http://127.0.0.1:{port}/api",
        # The UI's files are unpacked into Prefect's package, unless that can't be written.
        **_ui_directory(folder),
    }


def _ui_directory(folder: Folder) -> dict[str, str]:
    """Where the UI's files go if not into the installed package: it is often read-only."""
    spec = find_spec("prefect")
    package = Path(spec.origin).parent if spec and spec.origin else Path("/")
    if os.access(package / "server", os.W_OK) or (package / "server" / "ui_v2_build").exists():
        return {}
    return {"PREFECT_SERVER_UI_STATIC_DIRECTORY": str(folder.root / "ui")}


def client_settings(info: ServerInfo, env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """What a process that runs flows puts into its environment before it imports Prefect.

    ``os.environ.update(client_settings(info))``: what the user has set already wins, except for
    where our own server is. With a server that isn't ours Prefect's home stays the user's, where
    profile and key are.
    """
    settings = {**_QUIET, **_CLIENT}
    if info.home is None:
        del settings["PREFECT_CLIENT_SERVER_VERSION_CHECK_ENABLED"]
    settings = {name: env.get(name, value) for name, value in settings.items()}
    settings["PREFECT_API_URL"] = info.api_url
    if info.home is not None:
        root = Folder(info.home).root
        settings["PREFECT_HOME"] = str(root)
        settings["PREFECT_PROFILES_PATH"] = str(root / "profiles.toml")
        # It speaks plain http on loopback: loading certificates for each client is for nothing.
        settings["PREFECT_API_TLS_INSECURE_SKIP_VERIFY"] = "true"
        settings |= _around_proxies(env)
    return settings


def _around_proxies(env: Mapping[str, str]) -> dict[str, str]:
    """Prefect's clients would ask a company's proxy for 127.0.0.1."""
    past = env.get("NO_PROXY") or env.get("no_proxy") or ""
    if "127.0.0.1" not in past and past != "*":
        past = f"{past},127.0.0.1".strip(",")
    return {"NO_PROXY": past, "no_proxy": past}
