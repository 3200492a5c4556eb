"""Several workers as on several machines: PostgreSQL, an object store, Prefect's server, workers.

Each worker is `deskwork work` with a home and a process group of its own. Prefect's server keeps
its database in PostgreSQL too and, where redis-server is installed, its messages in Redis.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from deskwork.tasks.prefect_settings import server_options
from deskwork.tasks.processes import until
from deskwork.tasks.worker_host import STARTED
from tests import object_store, postgres
from tests.kill import script
from tests.kill.desk import COMMAND, Desk, Task, opened
from tests.kill.server import Model

START = 240.0  # seconds in which a server or a worker must have started


@dataclass
class Fleet:
    """The desk that all share, Prefect's server, and the workers by number."""

    desk: Desk
    server_env: Mapping[str, str]
    port: int
    redis: bool
    limit: int
    server: subprocess.Popen[bytes] | None = None
    workers: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start_server(self, wait: bool = True) -> None:
        """Start Prefect's server, or start it again."""
        argv = [sys.executable, "-m", "prefect", "server", "start"]
        argv += ["--host", "127.0.0.1", "--port", str(self.port)]
        self.server = self._launch(argv, self.server_env, "server")
        if wait:
            assert until(self.answers, START, every=0.5), self.text("server")

    def stop_server(self) -> None:
        """Kill the server and what it has started."""
        if self.server is not None:
            _kill(self.server)

    def answers(self) -> bool:
        try:
            return httpx.get(f"http://127.0.0.1:{self.port}/api/health", timeout=5).is_success
        except httpx.HTTPError:
            return False

    def start_worker(self, number: int) -> None:
        """Start a worker, or start it again as the same machine would."""
        home = self.desk.home / f"worker{number}"
        home.mkdir(exist_ok=True)
        env = {**self.desk.env(), "DESKWORK_HOME": str(home)}
        argv = [str(COMMAND), "work", "--limit", str(self.limit), "--name", f"worker{number}"]
        self.workers[number] = self._launch(argv, env, f"worker{number}")

    def kill_worker(self, number: int) -> None:
        """Kill a worker with all its runs, at once."""
        _kill(self.workers[number])

    def wait_for_workers(self) -> None:
        names = [f"worker{number}" for number in self.workers]
        started = until(lambda: all(STARTED in self.text(n) for n in names), START, every=0.5)
        assert started, "\n".join(self.text(name) for name in names)

    def trigger(self, task: Task) -> str:
        """What a schedule or the Run button does; the flow run's id."""
        if task.kind == "ask":
            question = script.ask_question(task.name, task.turns)
            request = {"question": question, "tools": ["tests.kill.tools:look_up"]}
        else:
            files, out = str(task.folder / "files"), str(task.folder / "out")
            question = script.research_question(task.name)
            request = {"question": question, "files": [files], "out": out}
        deployment = self.desk.api(f"/deployments/name/{task.kind}/deskwork")["id"]
        body = {"parameters": {"request": request}}
        return str(self.desk.api(f"/deployments/{deployment}/create_flow_run", body)["id"])

    def text(self, name: str) -> str:
        """What a process has printed, over all its starts."""
        log = self.desk.home / f"{name}.log"
        return log.read_text(errors="replace") if log.exists() else ""

    def _launch(
        self, argv: list[str], env: Mapping[str, str], name: str
    ) -> subprocess.Popen[bytes]:
        with (self.desk.home / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                argv,
                env=dict(env),
                cwd=self.desk.home,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )


@contextlib.contextmanager
def running(home: Path, workers: int, limit: int, model: Model) -> Iterator[Fleet]:
    """A fleet that works. Sets the object store's variables for this process, which verifies."""
    with contextlib.ExitStack() as stack:
        address = stack.enter_context(postgres.server())
        journal, prefect = (postgres.create(address, name) for name in ("journal", "prefect"))
        store = stack.enter_context(object_store.server())
        os.environ.update(store)
        redis = stack.enter_context(_redis(home))
        port = postgres.free_port()
        extra = {
            **store,
            "DESKWORK_BLOBS_URL": f"s3://{object_store.BUCKET}/blobs",
            "PREFECT_API_URL": f"http://127.0.0.1:{port}/api",
        }
        desk = stack.enter_context(
            opened(home, journal, model=model, extra=extra, recover="deployed")
        )
        fleet = Fleet(desk, _server_env(home, prefect, redis), port, bool(redis), limit)
        try:
            fleet.start_server(wait=False)  # the workers wait for it
            for number in range(workers):
                fleet.start_worker(number)
            fleet.wait_for_workers()
            yield fleet
        finally:
            for process in [*fleet.workers.values(), fleet.server]:
                if process is not None:
                    _kill(process)


def _server_env(home: Path, database: str, redis: int) -> dict[str, str]:
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")},
        **server_options(),
        "PREFECT_HOME": str(home / "server"),
        "PREFECT_SERVER_DATABASE_CONNECTION_URL": database.replace(
            "postgresql:", "postgresql+asyncpg:"
        ),
    }
    if redis:
        env |= {
            "PREFECT_MESSAGING_BROKER": "prefect_redis.messaging",
            "PREFECT_MESSAGING_CACHE": "prefect_redis.messaging",
            "PREFECT_SERVER_EVENTS_CAUSAL_ORDERING": "prefect_redis.ordering",
            "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect_redis.lease_storage",
            "PREFECT_REDIS_MESSAGING_HOST": "127.0.0.1",
            "PREFECT_REDIS_MESSAGING_PORT": str(redis),
            "PREFECT_SERVER_DOCKET_URL": f"redis://127.0.0.1:{redis}/1",
        }
    return env


@contextlib.contextmanager
def _redis(home: Path) -> Iterator[int]:
    """A Redis server's port; 0 where none is installed."""
    program = shutil.which("redis-server")
    if program is None:
        yield 0
        return
    port = postgres.free_port()
    argv = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(home)]
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    try:
        yield port
    finally:
        process.kill()
        process.wait()


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
