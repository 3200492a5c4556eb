"""Many jobs on several workers that are killed again and again: ``python -m tests.kill.many``.

Prints what was lost or repeated, and exits with 1 if anything was. One worker after the other is
killed with all its runs and started again; once in the midst Prefect's server is away.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deskwork.tasks.processes import until
from deskwork.tasks.recovery import OPEN
from tests.kill.desk import Task
from tests.kill.fleet import Fleet, running
from tests.kill.script import Step
from tests.kill.server import Model

MORE = 900.0  # seconds that the jobs have once the kills are over


@dataclass
class Many:
    """Jobs on a fleet. ``kills`` counts workers, ``hit`` the jobs that ran on them just then."""

    fleet: Fleet
    tasks: list[Task]
    kills: int = 0
    away: float = 0.0
    seen: dict[str, set[Step]] = field(default_factory=dict)
    runs: dict[str, str] = field(default_factory=dict)

    def start(self) -> None:
        """Trigger all jobs at once."""
        for task in self.tasks:
            self.runs[task.name] = self.fleet.trigger(task)

    def kill(self, number: int) -> None:
        """Kill a worker, see what was recorded by then, and start it again."""
        self.fleet.kill_worker(number)
        self.kills += 1
        self.fleet.start_worker(number)
        self.take_stock()

    def take_stock(self) -> None:
        """Tell the model what is recorded, and remember it: it must be there in the end."""
        for task in self.tasks:
            task.take_stock()
            self.seen.setdefault(task.name, set()).update(task.recorded_steps())

    def left(self) -> list[str]:
        """The jobs that have not come to an end."""
        states = {task.name: job.state if (job := task.job()) else "" for task in self.tasks}
        return [name for name, state in states.items() if state in ("", "running", "stopped")]

    def wait(self, seconds: float) -> None:
        """Until all have ended, or the time is up."""
        deadline = time.monotonic() + seconds
        while self.left() and time.monotonic() < deadline:
            time.sleep(2.0)

    def problems(self) -> list[str]:
        """Everything that is wrong in the end."""
        found = [problem for task in self.tasks for problem in task.problems()]
        found += [f"lost: {step}" for step in self.lost()]
        # A run ends some seconds after its job, whose end is what was waited for.
        until(lambda: all(s["type"] not in OPEN for s in self.states().values()), 120.0, every=1.0)
        states = self.states()
        return found + [
            f"{name}'s run is {state['name']}: {state['message']}"
            for name, state in states.items()
            if state["type"] != "COMPLETED"
        ]

    def states(self) -> dict[str, Any]:
        """The state of each task's flow run, by the task's name."""
        return {n: self.fleet.desk.api(f"/flow_runs/{r}")["state"] for n, r in self.runs.items()}

    def lost(self) -> list[Step]:
        """Recorded replies that are recorded no more."""
        return [
            step
            for task in self.tasks
            for step in self.seen.get(task.name, set()) - task.recorded_steps()
        ]

    def rows(self) -> list[tuple[str, object]]:
        """The table."""
        model, tasks = self.fleet.desk.model, self.tasks
        chains = [row for task in tasks for row in task.verified()]
        begun = [task.begun() for task in tasks]
        log = "".join(self.fleet.text(f"worker{number}") for number in self.fleet.workers)
        kinds = Counter(task.kind for task in tasks)
        return [
            ("jobs", f"{len(tasks)} ({dict(kinds)})"),
            ("states", dict(Counter(job.state if (job := t.job()) else "none" for t in tasks))),
            ("workers killed", self.kills),
            ("jobs gone on with", log.count("goes on: its process was gone")),
            ("server away", f"{self.away:.0f} s"),
            ("messages in", "Redis" if self.fleet.redis else "memory"),
            ("finished model calls repeated", len(model.repeated)),
            ("finished tool calls repeated", sum(len(task.calls_repeated()) for task in tasks)),
            ("replies lost", len(self.lost())),
            ("results attached to wrong calls", len(model.wrong)),
            ("requests repeated in other words", len(model.changed)),
            ("unfinished model calls repeated", model.asked.total() - len(model.asked)),
            ("model calls, tool calls", f"{model.asked.total()}, {sum(b.total() for b in begun)}"),
            ("chains verified", f"{sum(not row.problem for row in chains)} of {len(chains)}"),
        ]


def soak(many: Many, every: float, seconds: float, outage: float) -> None:
    """Kill one worker after the other; after a third of the time the server is away."""
    began = time.monotonic()
    number, gone = 0, 0.0
    while (passed := time.monotonic() - began) < seconds and many.left():
        if outage and not gone and passed > seconds / 3:
            gone = time.monotonic()
            many.fleet.stop_server()
            print(f"{passed:4.0f} s: Prefect's server is stopped", flush=True)
        if gone and not many.away and time.monotonic() - gone >= outage:
            many.fleet.start_server()
            many.away = time.monotonic() - gone
            print(f"{passed:4.0f} s: and is back", flush=True)
        if passed >= every * (many.kills + 1):
            many.kill(number % len(many.fleet.workers))
            number += 1
            done = len(many.tasks) - len(many.left())
            print(f"{passed:4.0f} s: {many.kills} kills, {done} ended", flush=True)
        time.sleep(0.5)
    if gone and not many.away:
        many.fleet.start_server()
        many.away = time.monotonic() - gone


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=30)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--limit", type=int, default=10, help="runs of one worker at once")
    parser.add_argument("--every", type=float, default=20.0, help="seconds between kills")
    parser.add_argument("--seconds", type=float, default=300.0, help="of killing")
    parser.add_argument("--outage", type=float, default=60.0, help="seconds without the server")
    parser.add_argument("--turns", type=int, default=30, help="of an `ask` job")
    given = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="deskwork-many-"))
    home.chmod(0o755)
    for name in [name for name in os.environ if name.startswith(("DESKWORK_", "PREFECT_"))]:
        del os.environ[name]
    began = time.monotonic()
    with running(home, given.workers, given.limit, Model()) as fleet:
        kinds = ["research" if number % 5 == 4 else "ask" for number in range(given.jobs)]
        tasks = [Task(fleet.desk, f"m{n}", kind, given.turns) for n, kind in enumerate(kinds)]
        many = Many(fleet, tasks)
        print(f"all is up after {time.monotonic() - began:.0f} s", flush=True)
        began = time.monotonic()
        many.start()
        soak(many, given.every, given.seconds, given.outage)
        many.wait(MORE)
        print(f"\n{time.monotonic() - began:.0f} s from the first job to the last")
        found = many.problems()
        for name, value in many.rows():
            print(f"  {name:<36} {value}")
        for problem in found:
            print(f"  PROBLEM {problem}")
        if found:
            print(f"  Look at {home}")
    if not found:
        shutil.rmtree(home, ignore_errors=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
