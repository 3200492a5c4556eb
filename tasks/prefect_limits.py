"""An endpoint's limits as Prefect's global concurrency limits, shared by all flows of a server.

A place is held by a lease that its process renews: after a kill it is free again within
``LEASE_SECONDS`` and the server's next look (15 s). Rates are limits whose slots decay.
"""

from __future__ import annotations

import contextlib
import time

from prefect.client.orchestration import get_client
from prefect.concurrency.asyncio import concurrency, rate_limit

from deskwork.tasks.allowance import Allowance

LEASE_SECONDS = 60.0  # the shortest that the server takes

AWAY_SECONDS = 60.0
"""For so long a server that could not be asked isn't asked again: each try blocks for a minute."""

_away_until = 0.0
_made: dict[str, tuple[int, float]] = {}
"""Name → limit and decay of those that this process has seen to."""


async def hold(
    held: contextlib.AsyncExitStack, place: str, allowance: Allowance, tokens: int
) -> bool:
    """Wait for the request's place and rates; ``held`` gives the place back.

    False when the server can't be asked: then the caller counts by itself, and the job goes on.
    """
    global _away_until
    if time.monotonic() < _away_until:
        return False
    try:
        for what, a_minute, units in (
            ("requests", allowance.requests_per_minute, 1),
            ("tokens", allowance.tokens_per_minute, tokens),
        ):
            if a_minute:
                name = await _limit(f"deskwork-{place}-{what}", a_minute, a_minute / 60)
                await rate_limit(name, occupy=min(units, a_minute))
        if allowance.concurrency:
            name = await _limit(f"deskwork-{place}-calls", allowance.concurrency, 0.0)
            await held.enter_async_context(concurrency(name, lease_duration=LEASE_SECONDS))
    except Exception:  # noqa: BLE001 - the UI's server must never stop a job that can go on
        _away_until = time.monotonic() + AWAY_SECONDS
        return False
    return True


async def _limit(name: str, limit: int, decay: float) -> str:
    """Make or change the limit, once a process."""
    if _made.get(name) != (limit, decay):
        async with get_client() as client:
            try:
                await client.upsert_global_concurrency_limit_by_name(name, limit, decay)
            except Exception:  # noqa: BLE001 - another process made it between look and make
                await client.upsert_global_concurrency_limit_by_name(name, limit, decay)
        _made[name] = (limit, decay)
    return name
