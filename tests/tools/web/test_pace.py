"""Pace and snapshots, over several processes of one machine."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from deskwork.tools.errors import WebError
from deskwork.tools.web.pace import Pace
from deskwork.tools.web.snapshots import SnapshotStore


class Clock:
    """Time that passes only by waiting."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.waits: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds


async def test_slots_lie_apart(tmp_path: Path) -> None:
    clock = Clock()
    pace = Pace(tmp_path, clock=clock, sleep=clock.sleep)
    for _ in range(4):
        await pace.wait("a.example", 10)
    await pace.wait("b.example", 10)
    assert clock.waits == pytest.approx([0.1] * 3)


async def test_a_name_that_is_to_rest_is_not_waited_for(tmp_path: Path) -> None:
    clock = Clock()
    pace = Pace(tmp_path, clock=clock, sleep=clock.sleep)
    await pace.rest("a.example", 600)
    await pace.rest("a.example", 5)
    with pytest.raises(WebError, match="not asked again for 600 seconds") as caught:
        await Pace(tmp_path, clock=clock).wait("a.example", 10)
    assert caught.value.retry_after == pytest.approx(600)
    clock.now += 601
    await pace.wait("a.example", 10)
    assert clock.waits == []


async def test_one_at_a_time(tmp_path: Path) -> None:
    inside = most = 0

    async def one() -> None:
        nonlocal inside, most
        async with Pace(tmp_path).turn("a.example"):
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(one() for _ in range(6)))
    assert most == 1
    clock = Clock()
    async with Pace(tmp_path).turn("a.example"):
        other = Pace(tmp_path, clock=clock, sleep=clock.sleep)
        with pytest.raises(WebError, match="in use by others"):
            async with other.turn("a.example"):
                pass
        async with other.turn("b.example"):
            pass


_WORK = """
import asyncio, sys
from pathlib import Path
from deskwork.tools.web.pace import Pace
from deskwork.tools.web.snapshots import SnapshotStore

async def main():
    home = Path(sys.argv[1])
    waits = []
    async def sleep(seconds):
        waits.append(seconds)
    pace = Pace(home, clock=lambda: 1000.0, sleep=sleep)
    for n in range(25):
        await pace.wait("a.example", 10)
        SnapshotStore(home).put(b"same", name="n", url=f"u{n}", final_url="f", media_type="t")
    print(" ".join(f"{wait:.1f}" for wait in waits))

asyncio.run(main())
"""


def test_processes_share_the_pace_and_the_snapshots(tmp_path: Path) -> None:
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", _WORK, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    waits = [wait for worker in workers for wait in worker.communicate()[0].split()]
    assert [worker.returncode for worker in workers] == [0, 0]
    # Time stood still: 50 slots, and no two processes have the same.
    assert sorted(float(wait) for wait in waits) == pytest.approx([n / 10 for n in range(1, 50)])
    kept = SnapshotStore(tmp_path).get("u24", 1e9)
    assert kept is not None
    assert kept.data == b"same"


def test_a_snapshot_is_found_while_it_is_young(tmp_path: Path) -> None:
    now = [0.0]
    store = SnapshotStore(tmp_path, clock=lambda: now[0])
    first = store.put(b"one", name="n", url="u", final_url="f", media_type="text/html")
    assert first.retrieved == "1970-01-01T00:00:00Z"
    now[0] = 50
    store.put(b"two", name="n", url="u", final_url="f", media_type="text/html")
    now[0] = 100
    found = store.get("u", 60)
    assert found is not None
    assert found.data == b"two"
    assert store.get("u", 40) is None
    assert store.get("other", 1e9) is None
