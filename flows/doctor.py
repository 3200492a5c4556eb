"""Checks of what a job needs, each with what to mend: storage, endpoint, Prefect."""

from __future__ import annotations

import asyncio
import contextlib

from deskwork.flows.probes import Check, Probes
from deskwork.tasks.discovery import discover
from deskwork.tasks.prefect_server import server_status
from deskwork.tasks.retries import RetryPolicy
from deskwork.tasks.secrets import reveal
from deskwork.tasks.settings import Settings, load_settings
from deskwork.tasks.workbench import Workbench
from deskwork.tools.errors import DeskworkError


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
        return [*checks, Check("storage", False, error.message, error.hint)]
    try:
        checks += await asyncio.to_thread(_storage, bench)
        checks += await _model(bench)
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
    where = bench.settings.blobs_url or "the home"
    return [*checks, Check("blobs", True, f"written to {where} and read back")]


async def _model(bench: Workbench) -> list[Check]:
    if bench.settings.is_builtin:
        return [
            Check(
                "model",
                True,
                "no endpoint is set, so the built-in answerer quotes from files; no language model",
                "Set DESKWORK_MODEL_URL and DESKWORK_MODEL for a real one.",
            )
        ]
    bench.endpoint.retries = RetryPolicy(quick_tries=1, loading_longest=0)
    key = await _key(bench.settings)
    if not key.ok:
        return [key]
    known = await discover(bench.endpoint, bench.settings.model)
    window = bench.settings.profile.context_window or known.context_window
    said = f"{window:,} tokens" if window else "not known; the endpoint doesn't say"
    mend = "" if window else f'Set context_window under [models."{bench.settings.model}"].'
    checks = await Probes(bench.endpoint, bench.settings, bench.blobs).all()
    return [key, *checks, Check("window", True, said, mend)]


async def _key(settings: Settings) -> Check:
    """Where the key comes from; never the key."""
    if settings.key_at is None:
        if settings.model_key:
            return Check("key", True, "from DESKWORK_MODEL_KEY or `model_key` in deskwork.toml")
        return Check("key", True, "none is set")
    try:
        await reveal(settings.key_at, settings.home)
    except DeskworkError as error:
        return Check("key", False, error.message, error.hint)
    return Check("key", True, f"from {settings.key_at}")


def _prefect(settings: Settings) -> Check:
    with contextlib.suppress(DeskworkError, OSError):
        found = server_status(settings.home)
        if found["state"] in ("running", "named"):
            return Check("prefect", True, f"server at {found['api']}")
        if found["state"] == "starting":
            return Check("prefect", True, "another command is starting it")
        if found["state"] == "stopped":
            return Check("prefect", True, "not running; the next job starts it")
        return Check("prefect", False, str(found["state"]), "`deskwork down`, then try again.")
    return Check("prefect", False, "its state can't be read", f"Look into {settings.home}.")
