"""What the benchmarks share: a model on loopback that calls one tool N times, and that tool."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from deskwork.tasks.local_model import Said, ScriptedModel
from deskwork.tasks.local_server import Exchange, serve
from deskwork.tools.tool import ToolResult, tool


@tool(repeatable=True)
def bulk(step: int, kilobytes: int) -> ToolResult:
    """Return text of a size, the same for the same step, that doesn't compress to nothing."""
    data = hashlib.shake_256(str(step).encode()).digest(kilobytes * 750)
    return ToolResult(text=base64.b64encode(data).decode())


def answer(path: str, body: bytes, exchange: Exchange) -> None:
    """Call the tool until the asked-for number of results stands in the request."""
    marker = b'"type":"tool_result"' if path.endswith("/messages") else b'"role":"tool"'
    done = body.count(marker)
    start = body.index(b"STEPS=") + 6
    steps, kilobytes = (int(n) for n in body[start : start + 20].split(b";")[0].split(b"x"))
    said = (
        Said(f"Done after {done} steps.")
        if done >= steps
        else Said(thinking="Next.", calls=[("bulk", {"step": done, "kilobytes": kilobytes})])
    )
    status, media_type, chunks = ScriptedModel([said]).respond(
        path, b'{"model":"bulk","stream":true}'
    )
    exchange.start(status, media_type)
    exchange.chunk(b"".join(chunks))
    exchange.chunk(b"")


def question(steps: int, kilobytes: int) -> str:
    """A question that tells the model how often to call the tool, and for how much."""
    return f"STEPS={steps}x{kilobytes};"


@contextlib.contextmanager
def model_process() -> Iterator[str]:
    """The model in a process of its own, so that its CPU isn't counted as the client's."""
    child = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.bulk"], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    try:
        yield child.stdout.readline().strip()
    finally:
        child.kill()
        child.wait()


def cpu_of(pid: int) -> float:
    """CPU seconds of a process so far, user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def size_of(folder: Path, *patterns: str) -> int:
    """Bytes of the files under a folder that match any of the patterns."""
    return sum(
        path.stat().st_size
        for pattern in patterns
        for path in folder.rglob(pattern)
        if path.is_file()
    )


if __name__ == "__main__":
    with serve(answer) as url:
        print(url, flush=True)
        while True:
            time.sleep(3600)
