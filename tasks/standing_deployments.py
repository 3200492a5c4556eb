"""The deployments of standing reports: ``briefing/NAME`` on its schedule, or ``watch/NAME``.

Prefect is imported when a function is called, as in `deskwork.tasks.deployments`.
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from cronsim import CronSim

from deskwork.tasks.briefing_requests import request_of, stated, watch_of
from deskwork.tasks.briefings import Briefing, Timing, seconds_in
from deskwork.tasks.deployments import POOL, alone, connect, entrypoint, parameter_schema, register
from deskwork.tasks.prefect_settings import ServerInfo
from deskwork.tools.errors import NotFound, WrongUse

if TYPE_CHECKING:
    from prefect import Flow
    from prefect.client.orchestration import PrefectClient

FLOWS = ("briefing", "watch")
ANCHOR = datetime(2024, 1, 1, tzinfo=UTC)
"""Intervals are counted from here, so that deploying again moves no run."""


def flow_of(briefing: Briefing) -> str:
    """Which flow a standing report is deployed as. Raises `WrongUse` where nothing starts it."""
    if briefing.trigger:
        return "watch"
    if briefing.schedule:
        return "briefing"
    raise WrongUse(
        f"{briefing.name} has neither `schedule` nor `trigger`, so nothing would start it.",
        "Add one to its file; `deskwork briefing FILE` makes one run now.",
    )


def timing_of(briefing: Briefing) -> Timing:
    """When its deployment runs: by its schedule, or as often as it looks for filings."""
    flow_of(briefing)
    return briefing.schedule or Timing(every=briefing.trigger.filings.every)  # type: ignore[union-attr]


def next_run(timing: Timing, now: datetime) -> datetime:
    """The first moment after ``now`` at which it runs, in the schedule's own time zone."""
    if timing.cron:
        return next(CronSim(timing.cron, now.astimezone(ZoneInfo(timing.timezone))))
    interval = timedelta(seconds=seconds_in(timing.every or ""))
    return ANCHOR + ((now - ANCHOR) // interval + 1) * interval


async def deploy(info: ServerInfo, flow: Flow[..., Any], briefing: Briefing) -> bool:
    """Make sure that the deployment is as the file says; False when it was already."""
    from prefect.client.schemas.actions import (
        DeploymentScheduleCreate,
        DeploymentScheduleUpdate,
        DeploymentUpdate,
    )

    kind = flow_of(briefing)
    request = watch_of(briefing) if kind == "watch" else request_of(briefing)
    fields: dict[str, Any] = {
        "entrypoint": entrypoint(flow),
        "description": briefing.question,
        "tags": ["deskwork", "standing"],
        "work_pool_name": POOL,
        "parameters": {"request": stated(request)},
        "parameter_openapi_schema": parameter_schema(flow),
        "enforce_parameter_schema": True,
    }
    timing = timing_of(briefing)
    parts = [fields, timing.model_dump(mode="json")]
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    fields["version"] = digest[:12]
    schedules = [DeploymentScheduleCreate(schedule=_schedule(timing), active=True)]
    async with connect(info) as client:
        await register(client, [flow], info)
        async with alone(info):
            # What its file has become: a schedule where there was a trigger, or the reverse.
            other = next(name for name in FLOWS if name != kind)
            await _remove(client, f"{other}/{briefing.name}")
            known = await _known(client, f"{kind}/{briefing.name}")
            if known is None:
                flow_id = await client.create_flow(flow)
                await client.create_deployment(
                    flow_id, briefing.name, schedules=schedules, **fields
                )
            elif known.version != fields["version"]:
                anew = [DeploymentScheduleUpdate(schedule=_schedule(timing), active=True)]
                update = DeploymentUpdate(schedules=anew, **fields)
                await client.update_deployment(known.id, update)
            else:
                return False
    return True


async def remove(info: ServerInfo, name: str) -> list[str]:
    """Take a standing report off; the full names that were removed. Raises `NotFound`."""
    async with connect(info) as client, alone(info):
        full = [f"{flow}/{name}" for flow in FLOWS]
        removed = [one for one in full if await _remove(client, one)]
    if not removed:
        raise NotFound(
            f"No standing report {name!r} is deployed here.", "`deskwork status` lists them."
        )
    return removed


async def _remove(client: PrefectClient, name: str) -> bool:
    known = await _known(client, name)
    if known is not None:
        await client.delete_deployment(known.id)
    return known is not None


async def _known(client: PrefectClient, name: str) -> Any:
    from prefect.exceptions import ObjectNotFound

    try:
        return await client.read_deployment_by_name(name)
    except ObjectNotFound:
        return None


def _schedule(timing: Timing) -> Any:
    from prefect.client.schemas.schedules import CronSchedule, IntervalSchedule

    if timing.cron:
        try:
            return CronSchedule(cron=timing.cron, timezone=timing.timezone)
        except ValueError:
            raise WrongUse(
                f"Prefect does not know the cron expression {timing.cron!r}.",
                "Write it with numbers, commas, hyphens and slashes alone.",
            ) from None
    interval = timedelta(seconds=seconds_in(timing.every or ""))
    return IntervalSchedule(interval=interval, anchor_date=ANCHOR)
