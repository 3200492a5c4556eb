"""A deployment for each flow, and the runs that belong to one.

A run that belongs to a deployment has the UI's Retry button and can be gone on with by a worker;
so plain Python calls attach to the deployment too. Prefect is imported when a function is called:
its settings must be in the environment first.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import json
import sys
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any
from uuid import UUID

from deskwork.tasks.prefect_settings import Folder, ServerInfo, prefect_version
from deskwork.tools.errors import WrongUse

if TYPE_CHECKING:
    from prefect import Flow
    from prefect.client.orchestration import PrefectClient
    from prefect.client.schemas.objects import FlowRun, State
    from prefect.client.schemas.responses import OrchestrationResult

POOL = "deskwork"
PLAIN = "deskwork.plain"
"""The label of a run that a plain call makes for itself: no worker waits for it or revives it."""
NAME = "deskwork"  # each deployment's own name; in full `ask/deskwork`
AT_ONCE = {"documents": 2, "evaluate": 1}
"""Runs of a flow at once, where more would hold up everything else at the model."""
TERMINAL = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")


def connect(info: ServerInfo) -> PrefectClient:
    """A client for this server, to be used as an async context manager.

    Our own server is named outright, so that it works whatever the process's settings say.
    """
    from prefect.client.orchestration import PrefectClient, get_client

    return get_client() if info.home is None else PrefectClient(info.api_url)


async def register(
    client: PrefectClient, flows: Sequence[Flow[..., Any]], info: ServerInfo
) -> dict[str, UUID]:
    """Make sure that each flow has a deployment on the pool; its id by full name.

    One request when nothing has changed since the last time: the deployment's version is a digest
    of all that is registered, this Python and this Prefect included.
    """
    wanted = {f"{flow.name}/{NAME}": flow for flow in flows}
    versions = {name: _version(flow, info) for name, flow in wanted.items()}
    if found := await _known(client, versions):
        return found
    async with alone(info):
        if found := await _known(client, versions):
            return found
        await _ensure_pool(client, info)
        return {name: await _deploy(client, flow, versions[name]) for name, flow in wanted.items()}


async def _known(client: PrefectClient, versions: Mapping[str, str]) -> dict[str, UUID] | None:
    """The ids by full name, if every one is registered as it should be."""
    from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterName

    known = await client.read_deployments(
        deployment_filter=DeploymentFilter(name=DeploymentFilterName(any_=[NAME])), limit=200
    )
    found = {deployment.version: deployment.id for deployment in known}
    if not all(version in found for version in versions.values()):
        return None
    return {name: found[version] for name, version in versions.items()}


@contextlib.asynccontextmanager
async def alone(info: ServerInfo) -> AsyncIterator[None]:
    """One at a time on our own server, over all processes; the lock ends with its holder.

    For what many jobs would write at once at their start: SQLite would refuse some of it.
    """
    if info.home is None:
        yield
        return
    with (Folder(info.home).root / "registering.lock").open("w") as file:
        await asyncio.to_thread(fcntl.flock, file, fcntl.LOCK_EX)
        yield


async def attach_run(
    client: PrefectClient,
    deployment: UUID | str,
    parameters: Mapping[str, Any],
    name: str,
    tags: Iterable[str] = (),
) -> FlowRun:
    """A new run of a deployment that this process will run itself.

    Then: ``run_flow(flow, flow_run=run, parameters=...)``. ``deployment`` is an id or a full name;
    ``parameters`` as JSON holds them. Workers take runs that are scheduled, never this one.
    """
    from prefect.states import Pending

    if isinstance(deployment, str):
        deployment = (await client.read_deployment_by_name(deployment)).id
    run = await client.create_flow_run_from_deployment(
        deployment,
        parameters=dict(parameters),
        state=Pending(),
        name=name,
        tags=tags,
        labels={PLAIN: True},
    )
    if run.state is None or not run.state.is_pending():
        # A concurrency limit that someone has put on the deployment has queued it for a worker.
        await client.set_flow_run_state(run.id, Pending(), force=True)
        run = await client.read_flow_run(run.id)
    return run


async def close_orphans(
    client: PrefectClient, flow_run_id: UUID, before: datetime | None = None
) -> int:
    """Mark as crashed what a killed run left running; how many task runs that were.

    Only whoever holds the job may call this: nothing else knows that nobody runs them any more.
    The server records task runs a second or two late, so what began just before the kill may be
    missed at once: call it again at the end of the resumed run with ``before``, the time of the
    resume, which spares the run's own tasks.
    """
    from prefect.client.schemas.filters import (
        FlowRunFilter,
        FlowRunFilterId,
        TaskRunFilter,
        TaskRunFilterStartTime,
        TaskRunFilterState,
        TaskRunFilterStateType,
    )
    from prefect.client.schemas.objects import StateType
    from prefect.states import Crashed

    states = TaskRunFilterStateType(any_=[StateType.RUNNING, StateType.PENDING])
    closed: set[UUID] = set()
    while True:
        page = await client.read_task_runs(
            flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=[flow_run_id])),
            task_run_filter=TaskRunFilter(
                state=TaskRunFilterState(type=states),
                start_time=TaskRunFilterStartTime.model_validate({"before_": before}),
            ),
            limit=200,
        )
        left = [run for run in page if run.id not in closed]
        if not left:
            return len(closed)
        for run in left:
            state: State[Any] = Crashed(message="Its process ended before it did.")
            await client.set_task_run_state(run.id, state, force=True)
            closed.add(run.id)


async def retry_run(client: PrefectClient, flow_run_id: UUID) -> None:
    """What the UI's Retry button does: a worker takes the run up again.

    Raises ``WrongUse`` if the run hasn't ended or belongs to no deployment.
    """
    from prefect.client.schemas.responses import SetStateStatus
    from prefect.states import AwaitingRetry

    run = await client.read_flow_run(flow_run_id)
    if run.state is None or run.state.type.value not in TERMINAL:
        was = run.state.name if run.state else "unknown"
        raise WrongUse(
            f"Run {run.name} is {was}; only a run that has ended can be retried.",
            "If its process is gone, resume its job by `deskwork resume`.",
        )
    if run.deployment_id is None:
        raise WrongUse(
            f"Run {run.name} belongs to no deployment, so no worker can take it up.",
            "Resume its job by `deskwork resume`.",
        )
    # Without force, as the button does it: the server's rules count the run and keep its data.
    state: State[Any] = AwaitingRetry(message="Retried.")
    result: OrchestrationResult[Any] = await client.set_flow_run_state(flow_run_id, state)
    if result.status is not SetStateStatus.ACCEPT:
        reason = getattr(result.details, "reason", None) or result.status.value
        raise WrongUse(f"Run {run.name} can't be retried: {reason}.")


def entrypoint(flow: Flow[..., Any]) -> str:
    """The flow's place as Prefect wants it for an installed module: no colon, no file."""
    return f"{flow.fn.__module__}.{flow.fn.__name__}"


async def _deploy(client: PrefectClient, flow: Flow[..., Any], version: str) -> UUID:
    """Create or update; an existing deployment keeps its schedules."""
    from prefect.client.schemas.actions import DeploymentUpdate
    from prefect.exceptions import ObjectNotFound

    fields: dict[str, Any] = {
        "version": version,
        "entrypoint": entrypoint(flow),
        "description": flow.description,
        "tags": ["deskwork"],
        "work_pool_name": POOL,
        "parameter_openapi_schema": parameter_schema(flow),
        "enforce_parameter_schema": True,
        **_limit(flow),
    }
    try:
        known = await client.read_deployment_by_name(f"{flow.name}/{NAME}")
    except ObjectNotFound:
        flow_id = await client.create_flow(flow)
        return await client.create_deployment(flow_id, NAME, **fields)
    await client.update_deployment(known.id, DeploymentUpdate(**fields))
    return known.id


def _limit(flow: Flow[..., Any]) -> dict[str, Any]:
    """How many runs of a flow workers take up at once; further ones wait. As in prefect.yaml."""
    from prefect.client.schemas.objects import ConcurrencyLimitStrategy, ConcurrencyOptions

    if flow.name not in AT_ONCE:
        return {}
    waits = ConcurrencyOptions(collision_strategy=ConcurrencyLimitStrategy.ENQUEUE)
    return {"concurrency_limit": AT_ONCE[flow.name], "concurrency_options": waits}


async def _ensure_pool(client: PrefectClient, info: ServerInfo) -> None:
    from prefect.client.schemas.actions import WorkPoolCreate, WorkPoolUpdate
    from prefect.exceptions import ObjectAlreadyExists
    from prefect.workers.process import ProcessWorker

    template = ProcessWorker.get_default_base_job_template()
    if info.home is not None:
        # On this machine: this Python (a bare `python` may be another one), started without the
        # supervisor process that Prefect puts between, which costs a second import of Prefect;
        # and a folder whose stray `.env` or `prefect.toml` can't change Prefect's settings.
        variables = template["variables"]["properties"]
        variables["command"]["default"] = f"{sys.executable} -m prefect.engine"
        variables["working_dir"]["default"] = str(Folder(info.home).work)
    try:
        await client.create_work_pool(
            WorkPoolCreate(
                name=POOL,
                type="process",
                description="Deskwork's jobs, each in a process of its own.",
                base_job_template=template,
            )
        )
    except ObjectAlreadyExists:
        if info.home is not None:
            await client.update_work_pool(POOL, WorkPoolUpdate(base_job_template=template))


def parameter_schema(flow: Flow[..., Any]) -> dict[str, Any]:
    """The form of a flow's parameters, as JSON Schema."""
    return flow.parameters.model_dump(exclude_none=True, mode="json")


def _version(flow: Flow[..., Any], info: ServerInfo) -> str:
    try:
        own = version("deskwork")
    except PackageNotFoundError:
        own = "0"
    place = [sys.executable, str(info.home)] if info.home else []
    limit = str(AT_ONCE.get(flow.name, ""))
    parts = [entrypoint(flow), flow.description, parameter_schema(flow), prefect_version(), place]
    parts += [limit] if limit else []
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    return f"{own}+{digest[:12]}"


def lighten_events() -> None:
    """Let the events of the current run's tasks name the run and its flow alone.

    Each would name deployment, queue, pool and every tag too: three events a task, each name a row
    in the server's database, twice as many as the rest. The server's own record keeps all of it.
    """
    from prefect.context import FlowRunContext

    context = FlowRunContext.get()
    run = context.flow_run if context else None
    if run is not None:
        run.deployment_id = run.work_queue_id = run.work_pool_name = None
        run.tags = []
