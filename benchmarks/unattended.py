"""What is left running: a home's first scheduled run, a long job's bookkeeping, a worker's memory.

Run: python -m benchmarks.unattended [--part scheduled|bookkeeping|memory]

The rows, each with what must hold:
- `deskwork up FILE` in an empty home until the first scheduled run is done: under 90 s
- a step's bookkeeping at step 500 over the same at step 10: at most 1.2
- a worker's memory during jobs 41 to 50 over the same during jobs 11 to 20: no trend, so about 1
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from benchmarks import bulk
from benchmarks.steps import fresh_home, gaps, job, row, serving
from deskwork.tasks import machine
from deskwork.tasks.prefect_settings import Folder
from deskwork.tasks.server_record import read_json

COMMAND = Path(sys.executable).with_name("deskwork")
ENDED = ("COMPLETED", "FAILED", "CRASHED")
BRIEFING = """
name: every-minute
question: How did net sales develop in fiscal 2025?
sources: {files: [files]}
schedule: {every: 1m}
"""


def api(home: Path, path: str, body: Any = None) -> Any:
    url = f"{machine.status(home)['api']}{path}"
    while True:
        answer = httpx.get(url) if body is None else httpx.post(url, json=body, timeout=30)
        if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
            return answer.raise_for_status().json()
        time.sleep(0.5)  # its database is busy; Prefect's own client asks again too


def await_runs(
    home: Path, count: int, meanwhile: Callable[[], None] = lambda: None
) -> list[dict[str, Any]]:
    """The flow runs that have ended, once there are so many."""
    while True:
        meanwhile()
        which = {"flow_runs": {"state": {"type": {"any_": list(ENDED)}}}}
        found: list[dict[str, Any]] = api(home, "/flow_runs/filter", which)
        if len(found) >= count:
            return found
        time.sleep(0.5)


def scheduled() -> None:
    """One command in an empty home, and the wait for what it has put on a schedule."""
    totals = []
    for _ in range(3):
        home = Path(tempfile.mkdtemp(prefix="deskwork-bench-"))
        (home / "files").mkdir()
        (home / "files" / "a.md").write_text("Net sales rose 7.8% to 842.6 million in fiscal 2025.")
        (home / "briefing.yaml").write_text(BRIEFING)
        began = time.time()
        env = {**os.environ, "DESKWORK_HOME": str(home / "desk")}
        subprocess.run([COMMAND, "up", home / "briefing.yaml"], env=env, check=True)
        up = time.time() - began
        run = await_runs(home / "desk", 1)[0]
        totals.append(time.time() - began)
        print(f"  up in {up:.0f} s; {run['state']['name']} {totals[-1]:.0f} s after the command")
        machine.down(home / "desk")
    row("empty home until the first scheduled run is done, s", max(totals), "under 90")


def bookkeeping() -> None:
    """The time between two steps of a job that isn't the model's or the tool's."""
    with bulk.model_process() as url:
        os.environ |= {"DESKWORK_MODEL_URL": url, "DESKWORK_MODEL": "bulk"}
        home = fresh_home()
        serving(home)
        times = gaps(home, job(520, 1))
        early, late = statistics.median(times[2:22]), statistics.median(times[490:510])
        print(f"  {early * 1000:.1f} ms around step 10, {late * 1000:.1f} ms around step 500")
        row("a step's bookkeeping at step 500 over step 10", late / early, "at most 1.2")
        machine.down(home)


def memory() -> None:
    """A worker's resident memory while fifty jobs come and go: the least seen in every ten.

    What runs at the moment takes some 8 MB more, and the worker gives that back each minute, which
    is shorter than ten jobs take.
    """
    home = fresh_home()
    (home / "files").mkdir()
    (home / "files" / "a.md").write_text("Net sales rose 7.8% to 842.6 million in fiscal 2025.")
    subprocess.run([COMMAND, "up"], check=True)
    worker = read_json(Folder(home).worker)["pid"]
    deployment = api(home, "/deployments/name/ask/deskwork")["id"]
    sizes, seen = [], [resident(worker)]
    for number in range(1, 51):
        request = {"question": f"How did sales develop, {number}?", "files": [str(home / "files")]}
        body = {"parameters": {"request": request}}
        api(home, f"/deployments/{deployment}/create_flow_run", body)
        if number % 10 == 0:
            runs = await_runs(home, number, lambda: seen.append(resident(worker)))
            assert {run["state"]["type"] for run in runs} == {"COMPLETED"}, runs
            sizes.append(min(seen))
            seen.clear()
            print(f"  jobs {number - 9} to {number}: {sizes[-1]:.1f} MB", flush=True)
    each = statistics.linear_regression(range(20, 60, 10), sizes[1:]).slope
    print(f"  {each * 1000:.0f} kB a job by linear regression from the eleventh on")
    row("a worker's memory, jobs 41 to 50 over 11 to 20", sizes[-1] / sizes[1], "about 1")
    machine.down(home)


def resident(pid: int) -> float:
    """MB of resident memory."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise ProcessLookupError(pid)


PARTS: dict[str, Callable[[], None]] = {
    "scheduled": scheduled,
    "bookkeeping": bookkeeping,
    "memory": memory,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=PARTS)
    given = parser.parse_args()
    if given.part:
        PARTS[given.part]()
        return
    # Each part in a process of its own: Prefect reads its settings once.
    for part in PARTS:
        subprocess.run([sys.executable, "-m", "benchmarks.unattended", "--part", part], check=True)


if __name__ == "__main__":
    main()
