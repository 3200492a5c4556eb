"""A step at the end of a full window: a million tokens of history, and fifty pictures in it.

Run: python -m benchmarks.window

The rows, each with what must hold:
- a whole step (request, reply, tool, both recorded) over one at ten messages: at most 50 ms more
- memory that the history takes, over the history's bytes as they stand in a request: under 3
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import io
import itertools
import os
import statistics
import tempfile
import time
from pathlib import Path

from PIL import Image

from benchmarks import bulk
from deskwork.flows.loop import Budget, run_conversation
from deskwork.tasks.conversation import Conversation
from deskwork.tasks.entries import Draft
from deskwork.tasks.limits import Limits
from deskwork.tasks.profiles import find_profile
from deskwork.tasks.session import Brief, Session
from deskwork.tasks.settings import Settings
from deskwork.tasks.starts import Start, find_or_create
from deskwork.tasks.states import OutOfBudget
from deskwork.tasks.steps import PLAIN
from deskwork.tasks.workbench import JobDesk, Workbench

CHARACTERS = 4_000_000
"""About a million tokens of text."""
PICTURES = 50
STEPS = 20


def resident() -> float:
    """Bytes of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * float(os.sysconf("SC_PAGE_SIZE"))


def picture(number: int) -> bytes:
    """A PNG of about 60 kB, each another."""
    noise = hashlib.shake_256(str(number).encode()).digest(140 * 140 * 3)
    data = io.BytesIO()
    Image.frombytes("RGB", (140, 140), noise).save(data, "PNG")
    return data.getvalue()


async def steps(session: Session, count: int) -> list[float]:
    """Run so many steps of the job; milliseconds of each, from one result to the next."""
    budget = Budget(Limits(max_steps=session.history.spend.steps + count), [session])
    first = len(session.writer.journal.entries(session.job))
    with contextlib.suppress(OutOfBudget):
        await run_conversation(
            session,
            "ask",
            lambda: Brief("You work.", bulk.question(100_000, 1), tuple(session.tools.values())),
            [budget],
            steps=PLAIN,
        )
    entries = session.writer.journal.entries(session.job)[first:]
    ends = [entry.created for entry in entries if entry.kind == "tool"]
    return [1000 * (after - before) for before, after in itertools.pairwise(ends)]


async def fill(session: Session) -> None:
    """Append a million tokens and fifty pictures, as a long job would have them."""
    conversation: Conversation = session.history.conversations["ask"]
    text = hashlib.shake_256(b"text").hexdigest(CHARACTERS // PICTURES // 2)
    for number in range(PICTURES):
        shown = session.pictures(picture(number), "Picture")
        body = conversation.codec.user([*shown, f"{number} {text}"])
        await session.append([Draft("user", {"why": "filling"}, body, conversation.number)])


async def measure(url: str) -> None:
    home = Path(tempfile.mkdtemp(prefix="deskwork-bench-"))
    settings = Settings(home, url, "bulk", find_profile("gateway", None, None))
    bench = Workbench(settings)
    start = Start("ask", "key", "title", {}, [], bench.recorded_settings(), Limits())
    find_or_create(bench.journal, start, "job")
    session = Session(bench.journal.acquire("job"), bench.blobs, settings, bench.endpoint)
    session.desk = JobDesk(bench.library.collect([]), session.history.evidence, bench.blobs)
    session.tools = {"bulk": bulk.bulk}
    await steps(session, 3)
    short = await steps(session, STEPS)
    before = resident()
    await fill(session)
    long = await steps(session, STEPS)
    conversation = session.history.conversations["ask"]
    size = sum(map(len, conversation.request()))
    grown = resident() - before
    session.writer.release("stopped")
    await bench.close()
    print(f"history: {size / 1e6:.1f} MB as sent: {CHARACTERS:,} characters, {PICTURES} pictures")
    more = statistics.median(long) - statistics.median(short)
    print(
        f"a step: {statistics.median(short):.1f} ms at ten messages, "
        f"{statistics.median(long):.1f} ms at the window's end"
    )
    print(
        f"{'a step at the end over one at the start, ms more':<62} {more:>10.1f}   must: under 50"
    )
    print(f"{'memory taken over the history sent':<62} {grown / size:>10.2f}   must: under 3")


def main() -> None:
    with bulk.model_process() as url:
        asyncio.run(measure(url))


if __name__ == "__main__":
    began = time.monotonic()
    main()
    print(f"{time.monotonic() - began:.0f} s")
