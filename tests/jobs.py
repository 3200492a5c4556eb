"""Jobs for tests: a session over a real journal, and tools that count their runs."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import httpx

from deskwork.flows.loop import Budget, run_conversation
from deskwork.tasks.limits import Limits
from deskwork.tasks.local_model import LocalModel
from deskwork.tasks.profiles import Profile, Tier, find_profile
from deskwork.tasks.session import Brief, Session
from deskwork.tasks.settings import ModelLimits, Settings
from deskwork.tasks.starts import Start, find_or_create
from deskwork.tasks.steps import PLAIN
from deskwork.tasks.workbench import JobDesk, Workbench
from deskwork.tools.errors import ToolError
from deskwork.tools.tool import Tool, ToolResult, tool

runs: Counter[str] = Counter()


@tool(repeatable=True)
def echo(text: str) -> ToolResult:
    """Say a text again."""
    runs[text] += 1
    return ToolResult(text=f"echo {text}")


@tool(repeatable=True)
def fail(text: str) -> ToolResult:
    """Fail with a text."""
    raise ToolError(text)


@tool(repeatable=False)
def send(text: str) -> ToolResult:
    """Change the world."""
    runs[f"send {text}"] += 1
    return ToolResult(text=f"sent {text}")


TOOLS: tuple[Tool, ...] = (echo, fail, send)


def settings_in(home: Path, profile: Profile | None = None, url: str | None = None) -> Settings:
    return Settings(
        home=home,
        model_url=url or "http://test/v1",
        model="test-model",
        profile=profile or find_profile("gateway", None, None),
        idle_seconds=5.0,
    )


@contextlib.asynccontextmanager
async def opened(
    home: Path,
    model: LocalModel | httpx.AsyncBaseTransport | None,
    *,
    profile: Profile | None = None,
    url: str | None = None,
    tools: Sequence[Tool] = TOOLS,
    job: str = "job",
    database_url: str | None = None,
    model_name: str | None = None,
    window: int | None = None,
) -> AsyncIterator[Session]:
    """A session of a job, as a runner has it; the job is made at the first time."""
    transport = model.transport() if isinstance(model, LocalModel) else model
    settings = settings_in(home, profile, url).with_model(model_name)
    if window:
        settings = replace(settings, models={settings.model: ModelLimits(window)})
    bench = Workbench(settings, transport=transport)
    start = Start("ask", "key", "title", {}, [], bench.recorded_settings(), Limits())
    find_or_create(bench.journal, start, job)
    writer = bench.journal.acquire(job)
    try:
        session = Session(writer, bench.blobs, settings, bench.endpoint)
        collection = bench.library.collect([])
        session.desk = JobDesk(collection, session.history.evidence, bench.blobs)
        session.tools = {item.name: item for item in tools}
        yield session
    finally:
        writer.release("stopped")
        await bench.close()


async def answer(
    session: Session,
    text: str = "Question?",
    *,
    limits: Limits | None = None,
    images: tuple[bytes, ...] = (),
    tier: Tier = "high",
) -> str:
    """Lead the session's conversation to its end, with plain steps."""
    tools = tuple(session.tools.values())
    return await run_conversation(
        session,
        "ask",
        lambda: Brief("You are tested.", text, tools, tier, images),
        [Budget(limits or Limits(), [session])],
        steps=PLAIN,
    )
