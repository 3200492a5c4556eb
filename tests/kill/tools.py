"""A tool for jobs that are killed: it writes down when it begins and ends, outside of the job.

``KILL_FOLDER`` holds a folder for each task. The file ``calls`` there gets a line for each
beginning and each end; the file ``hold`` names a call that shall not end, which then writes its
process's number to ``held``.
"""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

from deskwork.tools.tool import ToolResult, tool
from tests.kill.script import value_of

LONGEST = 0.2  # seconds


@tool(repeatable=True)
def look_up(key: str) -> ToolResult:
    """Look a key up."""
    folder = Path(os.environ["KILL_FOLDER"]) / key.partition(".")[0]
    _note(folder, f"begin {key}")
    time.sleep(random.uniform(0, LONGEST))
    hold = folder / "hold"
    while hold.exists() and hold.read_text() == key:
        (folder / "held").write_text(str(os.getpid()))
        time.sleep(0.02)
    _note(folder, f"end {key}")
    return ToolResult(text=value_of(key))


def _note(folder: Path, line: str) -> None:
    # One write of a file opened for appending: lines of calls side by side don't mix.
    log = os.open(folder / "calls", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(log, f"{line}\n".encode())
    finally:
        os.close(log)
