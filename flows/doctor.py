"""Checks of what a job needs, each with what to mend: storage, endpoint, Prefect."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass

from deskwork.tasks.prefect_server import server_status
from deskwork.tasks.protocol import Opening
from deskwork.tasks.retries import RetryPolicy
from deskwork.tasks.settings import Settings, load_settings
from deskwork.tasks.workbench import Workbench
from deskwork.tools.errors import DeskworkError
from deskwork.tools.tool import ToolResult, tool


@dataclass(frozen=True)
class Check:
    """One thing that was looked at. ``mend`` is what to do, where something is wrong."""

    name: str
    ok: bool
    found: str
    mend: str = ""


@tool(repeatable=True)
def report_number(number: int) -> ToolResult:
    """Report a number."""
    return ToolResult(text=str(number))


async def examine() -> list[Check]:
    """Every check, in the order in which a job meets what it is about."""
    try:
        settings = load_settings()
    except DeskworkError as error:
        return [Check("settings", False, error.message, error.hint)]
    checks = [Check("home", True, str(settings.home))]
    try:
        bench = Workbench(settings)
    except DeskworkError as error:
        return [*checks, Check("journal", False, error.message, error.hint)]
    try:
        checks += await asyncio.to_thread(_storage, bench)
        checks.append(await _model(bench))
    finally:
        await bench.close()
    checks.append(await asyncio.to_thread(_prefect, settings))
    return checks


def _storage(bench: Workbench) -> list[Check]:
    jobs = len(bench.journal.jobs(roots=True))
    checks = [Check("journal", True, f"{bench.journal.database.name}, {jobs} jobs in it")]
    try:
        name = bench.blobs.put(b"deskwork doctor")
        bench.blobs.get(name)
    except DeskworkError as error:
        return [*checks, Check("blobs", False, error.message, error.hint)]
    return [*checks, Check("blobs", True, "written and read back")]


async def _model(bench: Workbench) -> Check:
    settings = bench.settings
    if settings.is_builtin:
        return Check(
            "model",
            True,
            "no endpoint is set, so the built-in answerer quotes from files; no language model",
            "Set DESKWORK_MODEL_URL and DESKWORK_MODEL for a real one.",
        )
    codec = bench.endpoint.codec
    bench.endpoint.retries = RetryPolicy(quick_tries=1, loading_longest=0)
    opening = Opening(
        settings.model,
        "low",
        codec.tools([report_number]),
        codec.system("You are being tested. Call the tool with the number 7."),
    )
    text = b"".join(p for p in codec.user(["Report the number 7."]) if isinstance(p, bytes))
    body = codec.head(opening) + codec.glue(None, "user") + text + codec.tail(opening, "user", None)
    try:
        reply = await bench.endpoint.ask([body])
    except DeskworkError as error:
        return Check("model", False, error.message, error.hint or "Try again later.")
    said = "calls tools" if reply.calls else "answered without calling the tool it was asked to"
    thinking = "thinks" if reply.thinking else "shows no thinking"
    found = f"{settings.model} at {settings.model_url} ({settings.profile.name}) {said}, {thinking}"
    return Check("model", True, found)


def _prefect(settings: Settings) -> Check:
    with contextlib.suppress(DeskworkError, OSError):
        found = server_status(settings.home)
        if found["state"] in ("running", "named"):
            return Check("prefect", True, f"server at {found['api']}")
        if found["state"] == "stopped":
            return Check("prefect", True, "not running; the next job starts it")
        return Check("prefect", False, str(found["state"]), "`deskwork down`, then try again.")
    return Check("prefect", False, "its state can't be read", f"Look into {settings.home}.")
