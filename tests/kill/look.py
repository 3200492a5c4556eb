"""One look of a standing report's watch, as a process: ``python -m tests.kill.look FILE``."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from deskwork.flows.launching import launch
from deskwork.tasks.briefing_requests import watch_of
from deskwork.tasks.briefings import read_briefing


async def main(path: Path) -> None:
    outcome = await launch("watch", watch_of(read_briefing(path)))
    print(f"{outcome.state}: {outcome.reason}")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
