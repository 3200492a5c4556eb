"""Twenty jobs at once in one process, fifty steps each: all done, and no lock error.

Run: python -m benchmarks.many
"""

from __future__ import annotations

import asyncio
import os
import time

from benchmarks import bulk
from benchmarks.steps import LIMITS, fresh_home, row, serving
from deskwork.flows import ask
from deskwork.tasks.machine import down
from deskwork.tasks.outcomes import Outcome


async def all_at_once(jobs: int, steps: int) -> list[Outcome]:
    """Start every job in this event loop and wait for all."""
    question = bulk.question(steps, 1)
    tools = ["benchmarks.bulk:bulk"]
    runs = [ask(question, tools=tools, job=f"many-{n}", limits=LIMITS) for n in range(jobs)]
    return await asyncio.gather(*runs)


def main() -> None:
    with bulk.model_process() as url:
        os.environ |= {"DESKWORK_MODEL_URL": url, "DESKWORK_MODEL": "bulk"}
        home = fresh_home()
        serving(home)
        began = time.monotonic()
        done = asyncio.run(all_at_once(20, 50))
        print(f"  {time.monotonic() - began:.0f} s")
        states = [outcome.state for outcome in done]
        row("20 jobs at once, 50 steps each: done", states.count("done"), "20")
        for outcome in done:
            if outcome.state != "done":
                print(f"  {outcome.job}: {outcome.state}: {outcome.reason}")
        down(home)


if __name__ == "__main__":
    main()
