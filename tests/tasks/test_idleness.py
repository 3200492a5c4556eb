"""When a server stops by itself: judged on a stand-in for Prefect's API that is a real ASGI app."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from deskwork.tasks.idleness import Activity, stop_when_idle, work_ahead


class Api:
    """What the stop depends on, and how often it was asked for."""

    def __init__(self, schedule: bool = False, paused: bool = False, unfinished: int = 0) -> None:
        self.deployment = {"paused": paused, "schedules": [{"active": schedule}]}
        self.unfinished = unfinished
        self.asked = 0
        self.entered = asyncio.Event()
        self.gate = asyncio.Event()
        self.app = Starlette(
            routes=[
                Route("/api/deployments/filter", self.deployments, methods=["POST"]),
                Route("/api/flow_runs/count", self.count, methods=["POST"]),
                Route("/slow", self.slow),
            ]
        )

    async def deployments(self, request: Request) -> JSONResponse:
        self.asked += 1
        return JSONResponse([self.deployment])

    async def count(self, request: Request) -> JSONResponse:
        states: Any = (await request.json())["flow_runs"]["state"]["type"]["any_"]
        return JSONResponse(self.unfinished if "RUNNING" in states else 0)

    async def slow(self, request: Request) -> JSONResponse:
        self.entered.set()
        await self.gate.wait()
        return JSONResponse({})


@pytest.mark.parametrize(
    ("api", "ahead"),
    [
        (Api(), ""),
        (Api(schedule=True), "schedule"),
        (Api(schedule=True, paused=True), ""),
        (Api(unfinished=1), "run"),
    ],
)
async def test_what_lies_ahead(api: Api, ahead: str) -> None:
    assert await work_ahead(api.app) == ahead


async def stops(api: Api, marker: Path) -> bool:
    """Whether a server that is idle at once stops before it has asked three times."""
    stopped = asyncio.Event()
    watch = asyncio.create_task(stop_when_idle(Activity(api.app), 0.01, marker, stopped.set))
    try:
        async with asyncio.timeout(10):
            while not stopped.is_set() and api.asked < 3:  # noqa: ASYNC110 - two conditions
                await asyncio.sleep(0.01)
    finally:
        watch.cancel()
    return stopped.is_set()


async def test_only_a_server_without_work_stops(tmp_path: Path) -> None:
    assert await stops(Api(), tmp_path / "up")
    assert not await stops(Api(schedule=True), tmp_path / "up")
    assert not await stops(Api(unfinished=1), tmp_path / "up")


async def test_after_up_nothing_stops_until_down(tmp_path: Path) -> None:
    api, marker, stopped = Api(), tmp_path / "up", asyncio.Event()
    marker.touch()
    watch = asyncio.create_task(stop_when_idle(Activity(api.app), 0.01, marker, stopped.set))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(stopped.wait(), 0.5)
    assert api.asked == 0
    marker.unlink()
    await asyncio.wait_for(stopped.wait(), 10)
    watch.cancel()


async def test_an_open_request_counts_as_activity() -> None:
    api = Api()
    activity = Activity(api.app)
    transport = httpx.ASGITransport(app=activity)
    async with httpx.AsyncClient(transport=transport, base_url="http://server") as client:
        request = asyncio.create_task(client.get("/slow"))
        await asyncio.wait_for(api.entered.wait(), 10)
        activity.last -= 3600
        assert activity.quiet_for() == 0
        api.gate.set()
        await request
    assert activity.open == 0
    assert activity.quiet_for() < 60
