"""Tiny flows for tests of the server: loaded by their module's name, as a worker does it."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

from prefect import flow, task
from pydantic import BaseModel, Field

from deskwork.tasks.allowance import Allowance
from deskwork.tasks.endpoint import Endpoint
from deskwork.tasks.profiles import find_profile
from deskwork.tasks.protocol import open_codec


class Request(BaseModel):
    """What to do."""

    folder: Path = Field(description="Where the run leaves its marks.")
    steps: int = Field(default=3, ge=1, description="How many steps.")
    wait_at: int | None = Field(default=None, description="The step that waits for a file `go`.")


@task
def step(folder: Path, number: int) -> None:
    with (folder / "steps").open("a") as log:
        log.write(f"{number}\n")


@task
def wait(folder: Path) -> None:
    (folder / "pid").write_text(str(os.getpid()))
    while not (folder / "go").exists():
        time.sleep(0.05)


@flow(name="count")
def count_flow(request: Request) -> int:
    """Count up to a number, one step after the other; a rerun goes on where it stopped."""
    log = request.folder / "steps"
    done = len(log.read_text().split()) if log.exists() else 0
    for number in range(done, request.steps):
        if number == request.wait_at:
            wait(request.folder)
        step(request.folder, number)
    (request.folder / "cwd").write_text(str(Path.cwd()))
    (request.folder / "seen").write_text(os.environ.get("DESKWORK_TEST", ""))
    return request.steps


@flow(name="plain")
async def plain_flow(request: Request) -> str:
    """Return the folder's name."""
    return request.folder.name


@flow(name="asks")
async def asks_flow(url: str, count: int) -> int:
    """Ask an endpoint so many times at once, two calls of this machine at a time."""
    codec = open_codec(find_profile("gateway", None, None))
    endpoint = Endpoint(url, codec, allowance=Allowance(2, 6000, 600_000))
    replies = await asyncio.gather(*[endpoint.ask([b"{}"]) for _ in range(count)])
    await endpoint.close()
    return len([reply for reply in replies if reply.text == "hi"])
