"""When a background server may stop by itself: nobody asks, and nothing is left to be done.

Counting requests alone would stop a server between two scheduled runs, so what lies ahead is
asked of the server's own API, in its process, past the counter.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

UNFINISHED = ("RUNNING", "PENDING", "SCHEDULED", "PAUSED", "CANCELLING")

# A plain run that was killed stays "running" for ever; after this many seconds without a single
# request nobody is there who could still be running it.
ABANDONED = 24 * 3600.0


class Activity:
    """ASGI middleware that notes when the last request was, and how many are open.

    An open websocket counts as activity: a job that waits an hour for its model holds one.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.open = 0
        self.last = time.monotonic()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and count it."""
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        self.open += 1
        try:
            return await self.app(scope, receive, send)
        finally:
            self.open -= 1
            self.last = time.monotonic()

    def quiet_for(self) -> float:
        """Seconds since anything was asked; 0 while a request is open."""
        return 0.0 if self.open else time.monotonic() - self.last


async def work_ahead(app: ASGIApp) -> str:
    """What a Prefect app still has to do: ``schedule``, ``run``, or nothing (empty)."""
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://server/api") as api:
        deployments = await _post(api, "/deployments/filter", {"limit": 200})
        for deployment in deployments:
            active = any(schedule["active"] for schedule in deployment["schedules"])
            if active and not deployment["paused"]:
                return "schedule"
        states = {"type": {"any_": list(UNFINISHED)}}
        unfinished = await _post(api, "/flow_runs/count", {"flow_runs": {"state": states}})
        return "run" if unfinished else ""


async def _post(api: httpx.AsyncClient, path: str, body: dict[str, Any]) -> Any:
    response = await api.post(path, json=body)
    return response.raise_for_status().json()


async def stop_when_idle(
    activity: Activity, idle_after: float, kept_up: Path, stop: Callable[[], None]
) -> None:
    """Call ``stop`` once the server was idle for ``idle_after`` seconds.

    ``kept_up`` is a file that keeps the server while it exists.
    """
    while True:
        await asyncio.sleep(max(0.1, min(60.0, idle_after - activity.quiet_for())))
        if activity.quiet_for() < idle_after or kept_up.exists():
            continue
        try:
            ahead = await work_ahead(activity.app)
        except (httpx.HTTPError, OSError):
            continue  # it is busy or its disk is full; ask again later
        if ahead == "schedule" or (ahead == "run" and activity.quiet_for() < ABANDONED):
            # Nothing to be gained from asking again at once.
            await asyncio.sleep(min(60.0, idle_after))
        elif activity.quiet_for() >= idle_after and not kept_up.exists():
            # Asked again without a pause in between: a request may have come meanwhile.
            return stop()
