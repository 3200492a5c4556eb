"""What a job's steps cost: bytes stored, CPU against bare Prefect tasks, growth over the job.

Run: python -m benchmarks.steps [--steps 200]

The rows, each with what must hold:
- journal and blobs over the bytes of the history, 1 kB results: at most 1.5
- all stores together, Prefect's database too, 20 kB results: under 20 MB for 200 steps
- a 1 MB picture at the start of a 50-step job: stored once
- CPU of the job, client and Prefect server, over bare tasks that return a constant: at most 1.3
- a step's overhead near the end over the same near the start: at most 1.2
"""

from __future__ import annotations

import argparse
import asyncio
import io
import itertools
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from PIL import Image

from benchmarks import bulk
from deskwork.flows import ask
from deskwork.tasks.journal import Journal
from deskwork.tasks.limits import Limits
from deskwork.tasks.machine import down
from deskwork.tasks.prefect_server import ensure_server
from deskwork.tasks.prefect_settings import client_settings

LIMITS = Limits(max_steps=10_000)


def used() -> float:
    """CPU seconds of this process."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def settled(pid: int) -> float:
    """CPU seconds of the server once it has caught up: three readings in a row are as of idling."""
    before, quiet = bulk.cpu_of(pid), 0
    for _ in range(60):
        time.sleep(1.5)
        now = bulk.cpu_of(pid)
        quiet = quiet + 1 if now - before < 0.08 else 0
        if quiet == 3:
            return now
        before = now
    return before


async def bare(count: int) -> None:
    """As many tasks as the job has, each returning a constant."""
    from prefect import flow, task
    from prefect.cache_policies import NO_CACHE
    from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings

    @task(cache_policy=NO_CACHE, persist_result=False)
    async def nothing(number: int) -> int:
        return 1

    @flow(persist_result=False)
    async def many() -> None:
        for number in range(count):
            await nothing(number)

    with temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
        await many()


def checkpointed(home: Path) -> dict[str, int]:
    """Sizes after the write-ahead logs are folded in."""
    import sqlite3

    for path in [home / "journal.db", home / "library.db", *(home / "prefect").glob("*.db")]:
        connection = sqlite3.connect(path, timeout=60)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
    ours = bulk.size_of(home, "journal.db*") + bulk.size_of(home / "blobs", "*")
    return {
        "journal and blobs": ours,
        "all": bulk.size_of(home, "*.db*") + ours - bulk.size_of(home, "journal.db*"),
    }


def history_bytes(home: Path, job: str) -> int:
    """Bytes of the messages of a job as they stand in requests."""
    journal = Journal.open(None, home)
    total = sum(
        len(part)
        for entry in journal.entries(job)
        if entry.kind in ("system", "user", "assistant", "tool", "conversation")
        for part in entry.body
        if isinstance(part, bytes)
    )
    journal.database.close()
    return total


def gaps(home: Path, job: str) -> list[float]:
    """Seconds from each tool result to the next reply less the model call itself."""
    journal = Journal.open(None, home)
    entries = journal.entries(job)
    journal.database.close()
    times = []
    for before, after in itertools.pairwise(entries):
        if before.kind == "tool" and after.kind == "assistant":
            times.append(after.created - before.created - after.meta["seconds"])
    return times


def row(name: str, value: float | str, must: str) -> None:
    shown = value if isinstance(value, str) else f"{value:.2f}"
    print(f"{name:<62} {shown:>10}   must: {must}", flush=True)


def fresh_home() -> Path:
    home = Path(tempfile.mkdtemp(prefix="deskwork-bench-"))
    os.environ["DESKWORK_HOME"] = str(home)
    return home


def serving(home: Path) -> Any:
    info = ensure_server(home, say=print)
    os.environ.update(client_settings(info))
    return info


def job(steps: int, kilobytes: int, **options: Any) -> str:
    done = asyncio.run(
        ask(
            bulk.question(steps, kilobytes),
            tools=["benchmarks.bulk:bulk"],
            limits=LIMITS,
            **options,
        )
    )
    assert done.state == "done", done
    assert done.steps == steps + 1, done
    return done.job


def sizes(steps: int) -> None:
    home = fresh_home()
    serving(home)
    name = job(steps, 1)
    ratio = checkpointed(home)["journal and blobs"] / history_bytes(home, name)
    row(f"journal and blobs over history, {steps} x 1 kB", ratio, "at most 1.5")
    down(home)


def cost(steps: int) -> None:
    home = fresh_home()
    info = serving(home)
    job(2, 1)  # imports and first connections are not the job's
    asyncio.run(bare(10))
    settled(info.pid)
    ratios, stored, growths = [], [], []
    for attempt in range(3):
        server, client = settled(info.pid), used()
        asyncio.run(bare(2 * steps))
        plain = used() - client + settled(info.pid) - server
        before = checkpointed(home)["all"]
        server, client = settled(info.pid), used()
        name = job(steps, 20, job=f"bench-{attempt}")
        ours = used() - client + settled(info.pid) - server
        times = gaps(home, name)
        ratios.append(ours / plain)
        stored.append((checkpointed(home)["all"] - before) / 1e6)
        growths.append(statistics.median(times[-10:]) / statistics.median(times[10:20]))
        print(
            f"  run {attempt + 1}: job {ours:.1f} CPU s, bare {plain:.1f} CPU s, "
            f"stored {stored[-1]:.1f} MB, step overhead {growths[-1]:.2f}",
            flush=True,
        )
    median = statistics.median
    row(f"all stores, {steps} x 20 kB, MB", median(stored), "under 20")
    row(f"CPU of the job over {2 * steps} bare tasks", median(ratios), "at most 1.3")
    row("step overhead, last 10 steps over steps 10 to 20", median(growths), "at most 1.2")
    down(home)


def picture(steps: int) -> None:
    home = fresh_home()
    serving(home)
    image = io.BytesIO()
    Image.effect_noise((1100, 900), 120).save(image, "PNG")
    path = home / "picture.png"
    path.write_bytes(image.getvalue())
    job(50, 1, images=[path])
    size = path.stat().st_size
    stored = checkpointed(home)["journal and blobs"] / size
    row(f"a {size / 1e6:.1f} MB picture in a 50-step job, times stored", stored, "about 1")
    down(home)


PARTS = {"sizes": sizes, "cost": cost, "picture": picture}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--part", choices=PARTS)
    given = parser.parse_args()
    if given.part:
        PARTS[given.part](given.steps)
        return
    with bulk.model_process() as url:
        model = {"DESKWORK_MODEL_URL": url, "DESKWORK_MODEL": "bulk"}
        # Each part in a process of its own: Prefect reads its settings once.
        for part in PARTS:
            argv = [sys.executable, "-m", "benchmarks.steps", "--part", part]
            subprocess.run(
                [*argv, "--steps", str(given.steps)], env={**os.environ, **model}, check=True
            )


if __name__ == "__main__":
    main()
