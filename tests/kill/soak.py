"""Kill jobs at random, many times, and print what was lost: ``python -m tests.kill.soak``.

Jobs of `ask` and `research` by turns, in two protocols or the one given, a few at a time, each
killed up to ``--each`` times and then left to finish. Exits with 1 if anything finished was
repeated.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import secrets
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from deskwork.tasks.prefect_server import ensure_server, stop_server
from tests import postgres
from tests.kill import kills
from tests.kill.desk import Desk, Task, opened


class Soak:
    """Kills on one desk until there were enough."""

    def __init__(self, desk: Desk, wanted: int, each: int) -> None:
        self.desk = desk
        self.wanted = wanted
        self.each = each
        self.tasks: list[Task] = []
        self.kinds: Counter[str] = Counter()
        self.problems: list[str] = []
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)

    @property
    def kills(self) -> int:
        return sum(task.kills for task in self.tasks)

    def work(self) -> None:
        """One job after the other."""
        while self.kills < self.wanted:
            with self._lock:
                number = next(self._numbers)
                task = Task(self.desk, f"t{number}", ("ask", "research")[number % 2], turns=6)
                self.tasks.append(task)
            try:
                self._lead(task)
                found = task.problems()
            except Exception as error:  # noqa: BLE001 - one job's trouble must not hide the others'
                found = [f"{task.name}: {error!r}"]
            self.problems += found
            job = task.job()
            state = job.state if job else "no job"
            print(f"{task.kind} {task.name}: {task.kills} kills, {state}", flush=True)
            for problem in found:
                print(f"  {problem}", flush=True)

    def _lead(self, task: Task) -> None:
        while task.kills < self.each and self.kills < self.wanted:
            kill, die_at = kills.any_kill(task)
            if task.killed(kill, die_at):
                with self._lock:
                    self.kinds[task.kind] += 1
            job = task.job()
            if job and job.state == "done":
                return
        task.killed(kills.never)

    def rows(self) -> list[tuple[str, object]]:
        """The table."""
        model, tasks = self.desk.model, self.tasks
        begun = [task.begun() for task in tasks]
        states = Counter(job.state if (job := task.job()) else "none" for task in tasks)
        chains = [row for task in tasks for row in task.verified()]
        return [
            ("kills", f"{self.kills} ({dict(self.kinds)})"),
            ("finished model calls repeated", len(model.repeated)),
            ("finished tool calls repeated", sum(len(task.calls_repeated()) for task in tasks)),
            ("results attached to wrong calls", len(model.wrong)),
            ("requests repeated in other words", len(model.changed)),
            ("unfinished model calls repeated", model.asked.total() - len(model.asked)),
            ("unfinished tool calls repeated", sum(b.total() - len(b) for b in begun)),
            ("model calls, tool calls", f"{model.asked.total()}, {sum(b.total() for b in begun)}"),
            ("processes left behind", sum(len(task.orphans) for task in tasks)),
            ("jobs", dict(states)),
            ("chains verified", f"{sum(not row.problem for row in chains)} of {len(chains)}"),
            ("other problems", len(self.problems)),
        ]


@contextlib.contextmanager
def _database(kind: str) -> Iterator[str | None]:
    if kind == "sqlite":
        yield None
        return
    with postgres.server() as address:
        yield postgres.create(address, f"soak_{secrets.token_hex(4)}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--database", choices=["sqlite", "postgresql", "both"], default="both")
    parser.add_argument("--jobs", type=int, default=3, help="at the same time")
    parser.add_argument("--each", type=int, default=9, help="kills of one job, at most")
    parser.add_argument("--protocol", choices=["chat", "messages", "responses"])
    given = parser.parse_args()
    kinds = ["sqlite", "postgresql"] if given.database == "both" else [given.database]
    bad = 0
    for kind in kinds:
        began = time.monotonic()
        protocol = given.protocol or ("chat" if kind == "sqlite" else "messages")
        home = Path(tempfile.mkdtemp(prefix="deskwork-soak-"))
        with _database(kind) as url, opened(home, url, protocol) as desk:
            ensure_server(home, say=print)
            soak = Soak(desk, -(-given.kills // len(kinds)), given.each)
            with ThreadPoolExecutor(given.jobs) as pool:
                for running in [pool.submit(soak.work) for _ in range(given.jobs)]:
                    running.result()
            print(f"\n{kind}, {protocol}, {time.monotonic() - began:.0f} s")
            for name, value in soak.rows():
                print(f"  {name:<36} {value}")
            bad += len(soak.problems)
            if soak.problems:
                print(f"  Look at DESKWORK_HOME={home}")
        stop_server(home)
        if not bad:
            shutil.rmtree(home, ignore_errors=True)  # with problems it is there to look at
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
