"""Jobs as real processes that are killed, and the reckoning after each kill.

Only the process group of a job's own command is ever killed; the Prefect server is shared and
lives in a session of its own.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import sqlalchemy as sa

from deskwork.tasks import faults, machine
from deskwork.tasks.blobs import open_blobs
from deskwork.tasks.database import calls
from deskwork.tasks.forks import Verified, verify
from deskwork.tasks.journal import Job, Journal
from deskwork.tasks.local_server import serve
from deskwork.tasks.outcomes import descendants, outcome
from deskwork.tasks.prefect_settings import Folder
from deskwork.tasks.processes import bearing, until
from deskwork.tasks.server_record import read_json
from tests.kill import script
from tests.kill.script import Step
from tests.kill.server import Model

ROOT = Path(__file__).parents[2]
COMMAND = Path(sys.executable).parent / "deskwork"
MARK = "KILL_TASK"
LIMIT = 180.0  # seconds for what takes ten when nothing else runs

Kill = Callable[["Client"], None]
"""Sees a running command and kills it in the end, or finds that it has ended."""


@dataclass
class Desk:
    """One home, its journal, its Prefect server, and the model all its jobs ask."""

    home: Path
    database_url: str | None
    protocol: str
    model: Model
    url: str
    recover: str = "none"
    """What its workers go on with by themselves; in most tests whoever killed does that."""
    extra: Mapping[str, str] = field(default_factory=dict)
    """More of the environment of its commands, as an object store and a Prefect server."""

    def __post_init__(self) -> None:
        self.journal = Journal.open(self.database_url, self.home)
        self.blobs = open_blobs(self.extra.get("DESKWORK_BLOBS_URL"), self.home)

    def env(self) -> dict[str, str]:
        """The environment of a command of this home."""
        kept = ("DESKWORK_", "PREFECT_", "KILL_")
        env = {name: value for name, value in os.environ.items() if not name.startswith(kept)}
        env |= {
            "DESKWORK_HOME": str(self.home),
            "DESKWORK_MODEL_URL": self.url,
            "DESKWORK_MODEL": "scripted",
            "DESKWORK_PROTOCOL": self.protocol,
            "DESKWORK_RECOVER": self.recover,
            "PYTHONPATH": str(ROOT),
            "KILL_FOLDER": str(self.home / "tasks"),
            **self.extra,
        }
        if self.database_url:
            env["DESKWORK_DATABASE_URL"] = self.database_url
        return env

    def call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A command run to its end."""
        return subprocess.run(
            [str(COMMAND), *arguments],
            env=self.env(),
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )

    def api(self, path: str, body: object = None) -> Any:
        """What the Prefect API says, as JSON."""
        url = f"{self.extra.get('PREFECT_API_URL') or machine.status(self.home)['api']}{path}"
        return asked(url, body).raise_for_status().json()

    def states_of(self, run: str) -> set[str]:
        """The states of a flow run and of its tasks."""
        tasks = self.api("/task_runs/filter", {"flow_runs": {"id": {"any_": [run]}}})
        return {found["state"]["type"] for found in [*tasks, self.api(f"/flow_runs/{run}")]}


def asked(url: str, body: object = None) -> httpx.Response:
    """A Prefect server's answer. One whose SQLite is busy is asked again, as its own client does.

    It has done nothing then: its transaction was rolled back.
    """
    found: list[httpx.Response] = []

    def answered() -> bool:
        found[:] = [httpx.get(url) if body is None else httpx.post(url, json=body, timeout=30)]
        return found[0].status_code != httpx.codes.SERVICE_UNAVAILABLE

    until(answered, LIMIT, every=0.5)
    return found[0]


@contextlib.contextmanager
def opened(
    home: Path,
    database_url: str | None = None,
    protocol: str = "chat",
    model: Model | None = None,
    **fields: Any,
) -> Iterator[Desk]:
    """A desk with its model's server. Its first command starts the Prefect server, which stays."""
    model = model or Model()
    with serve(model.respond) as url:
        desk = Desk(home, database_url, protocol, model, url, **fields)
        try:
            yield desk
        finally:
            desk.journal.database.close()


@dataclass
class Task:
    """One job, run as often as need be. ``kills`` counts those that came before its end."""

    desk: Desk
    name: str
    kind: str = "ask"
    turns: int = 4
    kills: int = 0
    recorded_calls: dict[str, int] = field(default_factory=dict)
    orphans: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.folder = self.desk.home / "tasks" / self.name
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.kind == "research":
            script.write_files(self.folder / "files", self.name)

    @property
    def arguments(self) -> list[str]:
        """The command line that starts the job and goes on with it."""
        if self.kind == "ask":
            question = script.ask_question(self.name, self.turns)
            return ["ask", question, "--tool", "tests.kill.tools:look_up"]
        files, out = str(self.folder / "files"), str(self.folder / "out")
        return ["research", script.research_question(self.name), "--files", files, "--out", out]

    def start(self, argv: Sequence[str] = (), die_at: str = "") -> Client:
        """Start the command, or another one that goes on with the job."""
        env = {MARK: self.name}
        if die_at:
            env[faults.VARIABLE] = die_at
        return Client(self, argv or [str(COMMAND), *self.arguments], env)

    def killed(self, kill: Kill, die_at: str = "", argv: Sequence[str] = ()) -> bool:
        """Run until the kill; True when it came before the end. Then take stock.

        ``die_at`` is a point of `deskwork.tasks.faults`.
        """
        client = self.start(argv, die_at)
        kill(client)
        died = client.wait() == -signal.SIGKILL
        self.kills += died
        server = read_json(Folder(self.desk.home).record).get("pid")  # it may outlive anything

        def left() -> list[int]:
            return [p.pid for p in bearing(MARK, self.name) if p.pid != server]

        # A reader looks five times a second whether whoever asked it still lives.
        until(lambda: not left(), 10.0, every=0.1)
        self.orphans += left()
        self.take_stock()
        return died

    def job(self) -> Job | None:
        """The job in the journal, once it is there."""
        mine = [job for job in self.desk.journal.jobs(roots=True) if self._is_mine(job)]
        return mine[-1] if mine else None

    def flow_run(self) -> str:
        """The flow run that held the job last."""
        job = self.job()
        assert job is not None
        assert job.flow_run is not None
        return job.flow_run

    def jobs(self) -> list[str]:
        """The ids of the job and of its investigations."""
        job = self.job()
        return [job.id, *descendants(self.desk.journal, job.id)] if job else []

    def take_stock(self) -> None:
        """Tell the model what is recorded by now, and remember how often each call had begun."""
        self.desk.model.finish(self.recorded_steps())
        # In this order: where other processes go on meanwhile, what is recorded has begun.
        recorded = self.recorded_keys()
        begun = self.begun()
        for key in recorded:
            self.recorded_calls.setdefault(key, begun[key])

    def recorded_steps(self) -> set[Step]:
        """The model calls whose reply is in the journal."""
        steps = set()
        for job in self.jobs():
            counted = Counter(number for number, _ in self.desk.journal.replies(job))
            for number, meta in self.desk.journal.conversations(job).items():
                part = job.rpartition(".")[2] if "." in job else meta["label"].split()[0]
                steps |= {Step(self.name, part, n) for n in range(counted[number])}
        return steps

    def recorded_keys(self) -> set[str]:
        """The looked-up keys whose result is in the journal, in its place or apart."""
        texts = [
            b"".join(part for part in entry.body if isinstance(part, bytes))
            for job in self.jobs()
            for entry in self.desk.journal.entries(job)
            if entry.kind == "tool"
        ]
        with self.desk.journal.database.read() as connection:
            query = sa.select(calls.c.body).where(calls.c.job.in_(self.jobs()))
            texts += [row.body for row in connection.execute(query) if row.body]
        return {key.decode() for text in texts for key in re.findall(rb"value of (\S+) is", text)}

    def begun(self) -> Counter[str]:
        """How often each call began, by the tool's own notes."""
        log = self.folder / "calls"
        lines = log.read_text().splitlines() if log.exists() else []
        return Counter(line.split()[1] for line in lines if line.startswith("begin "))

    def calls_repeated(self) -> list[str]:
        """The calls that ran again though their result was recorded."""
        begun = self.begun()
        return [key for key, count in self.recorded_calls.items() if begun[key] != count]

    def problems(self) -> list[str]:
        """What is wrong with a job that has ended: nothing, if all holds."""
        job = self.job()
        if job is None:
            return [f"{self.name} has no job"]
        found = [f"{self.name} is {job.state}: {job.reason}"] if job.state != "done" else []
        model = self.desk.model
        found += [f"asked again: {step}" for step in model.repeated if step.task == self.name]
        found += [f"asked otherwise: {s}" for s in model.changed if s.task == self.name]
        found += [text for text in model.wrong if text.startswith(f"{self.name}:")]
        found += [f"ran again: {key}" for key in self.calls_repeated()]
        found += [f"left running: {pid}" for pid in self.orphans]
        found += [f"{row.job}: {row.problem}" for row in self.verified() if row.problem]
        answer = outcome(self.desk.journal, job.id).answer
        if self.kind == "ask":
            if answer != script.ask_answer(self.name, self.turns):
                found.append(f"{self.name} answered {answer!r}")
            return found
        for part in range(1, script.PARTS + 1):
            for number in range(script.QUOTES):
                if script.sentence(self.name, part, number) not in answer:
                    found.append(f"{self.name}: part {part} is missing in {answer!r}")
        if "could not" in answer or "[?]" in answer:
            found.append(f"{self.name}: the report is not in order: {answer!r}")
        return found

    def verified(self) -> list[Verified]:
        """Each chain of the job, walked."""
        return [verify(self.desk.journal, self.desk.blobs, job) for job in self.jobs()]

    def _is_mine(self, job: Job) -> bool:
        return job.title.startswith(f"TASK={self.name};")


class Client:
    """A job's command, running in a process group of its own."""

    def __init__(self, task: Task, argv: Sequence[str], env: Mapping[str, str]) -> None:
        self.task = task
        self.asked_before = task.desk.model.requests_of(task.name)
        number = len([*task.folder.glob("*.out")])
        self._out, self._err = (task.folder / f"{number}.{kind}" for kind in ("out", "err"))
        with self._out.open("w") as out, self._err.open("w") as err:
            self.process = subprocess.Popen(
                argv,
                env={**task.desk.env(), **env},
                cwd=task.folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        self._lock = threading.Lock()

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Signal the whole group, if it still runs. Called from any thread."""
        with self._lock, contextlib.suppress(ProcessLookupError):
            if self.process.poll() is None:
                os.killpg(self.process.pid, number)

    def wait(self) -> int:
        """The exit status, -9 after a kill."""
        return self.process.wait(LIMIT)

    def ended(self) -> bool:
        return self.process.poll() is not None

    def until(self, condition: Callable[[], bool], seconds: float = LIMIT) -> bool:
        """Wait for a condition; False when the process ended first."""
        held = until(lambda: condition() or self.ended(), seconds, every=0.02)
        assert held, f"nothing came in {seconds} s; {self.errors()}"
        return not self.ended()

    def asked(self) -> int:
        """Requests of the job since this command began."""
        return self.task.desk.model.requests_of(self.task.name) - self.asked_before

    def output(self) -> str:
        return self._out.read_text()

    def errors(self) -> str:
        return self._err.read_text()
