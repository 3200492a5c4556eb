"""From a plain call to a flow run: settings, the local Prefect server, and the run's own page.

A call attaches to its flow's deployment, so that the run has the UI's Retry button and a worker
can go on with it. Prefect is imported here, when a job starts, and not before.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
from pydantic import ValidationError

from deskwork.flows import running
from deskwork.flows.cancelling import mark_cancelled, until_cancelled
from deskwork.tasks import faults
from deskwork.tasks.arrivals import arrived
from deskwork.tasks.briefing_requests import BriefingRequest, WatchRequest
from deskwork.tasks.connected_tools import named_tools
from deskwork.tasks.journal import Journal
from deskwork.tasks.limits import Limits
from deskwork.tasks.outcomes import Outcome, outcome
from deskwork.tasks.page_text import run_name
from deskwork.tasks.prefect_server import ServerDown, ensure_server
from deskwork.tasks.prefect_settings import client_settings
from deskwork.tasks.progress import tell
from deskwork.tasks.records_paths import check_outputs, family_of
from deskwork.tasks.requests import (
    AskRequest,
    DocumentsRequest,
    EvaluationRequest,
    JobRequest,
    ResearchRequest,
    SourcesRequest,
)
from deskwork.tasks.settings import BUILTIN_MODEL, Settings, load_settings
from deskwork.tasks.starts import find_or_create, first_entry, limits_of, make_start, read_image
from deskwork.tasks.workbench import Workbench
from deskwork.tools.errors import DeskworkError, WrongUse
from deskwork.tools.library import hidden
from deskwork.tools.pictures import fit_pages
from deskwork.tools.web.search_engines import open_engine

if TYPE_CHECKING:
    from prefect import Flow, State

BOOKKEEPING = 15.0
"""Seconds that a finished job waits for the record of its run on the Prefect page."""

lost = threading.Event()
"""Set once the Prefect server went away: its clean-up at the process's end would wait for it."""

FLOWS = {
    "briefing": ("deskwork.flows.standing", "briefing_flow", BriefingRequest),
    "ask": ("deskwork.flows.agent", "ask_flow", AskRequest),
    "documents": ("deskwork.flows.extracting", "documents_flow", DocumentsRequest),
    "evaluate": ("deskwork.flows.evaluating", "evaluate_flow", EvaluationRequest),
    "watch": ("deskwork.flows.watching", "watch_flow", WatchRequest),
    "research": ("deskwork.flows.investigation", "research_flow", ResearchRequest),
}
"""Each flow's module, its name there, and what it takes."""


def all_flows() -> list[Flow[..., Any]]:
    """The Prefect flows, imported. Prefect's settings must be in the environment by then."""
    from deskwork.flows.deciding import decide_flow
    from deskwork.flows.spreading import investigation_flow

    return [*(flow_named(name) for name in FLOWS), decide_flow, investigation_flow]


def request_going_on(
    journal: Journal, job: str, limits: Mapping[str, Any]
) -> tuple[str, JobRequest]:
    """The flow of a job, and the request that goes on with it under these changed limits.

    Raises `NotFound`, and `WrongUse` for a limit that can't be.
    """
    found = journal.job(job)
    recorded = first_entry(journal, job)
    earlier = limits_of(journal, job).model_dump()
    _, _, request_type = FLOWS[found.flow]
    try:
        changed = Limits(**{**earlier, **limits})
    except ValidationError as error:
        row = error.errors()[0]
        name = ".".join(str(part) for part in row["loc"])
        raise WrongUse(f"The {name} can't be {row['input']!r}: {row['msg']}.") from None
    budget = recorded["settings"]["budget"]
    return found.flow, request_type(**recorded["request"], budget=budget, limits=changed, job=job)


async def launch(
    flow: str,
    request: JobRequest,
    transport: httpx.AsyncBaseTransport | None = None,
    *,
    going_on: bool = False,
) -> Outcome:
    """Run a job to its end in this process and return what came of it.

    The same call again goes on with an unfinished job. ``going_on`` is for a job named by its id
    alone, whose own settings hold whatever this machine's are. Raises `DeskworkError` for wrong
    use, for a job that another process holds, and when no Prefect server can be had.
    """
    settings = load_settings().with_model(request.model)
    if isinstance(request, SourcesRequest):
        # Decided here: a worker that goes on with the job may have other settings.
        decided = {"web": settings.web.enabled, "workspace": settings.workspace.enabled}
        unsaid = {
            name: not going_on and on
            for name, on in decided.items()
            if getattr(request, name) is None
        }
        request = request.model_copy(update=unsaid)
    request = await arrived(request, settings)
    job = await asyncio.to_thread(_register, flow, request, settings, going_on)
    request = request.model_copy(update={"job": job})
    if settings.is_builtin and getattr(request, "web", None):
        tell("trouble", job, "the built-in answerer doesn't use the web: set an endpoint for that")
    faults.point("job-created")
    tell("job", job, f"job {job}")
    running.transport.set(transport)
    if "prefect" in sys.modules and _inside_a_flow():
        await _as_subflow(flow, request)
    else:
        await _as_own_run(flow, request, settings)
    return await asyncio.to_thread(_outcome, settings, job)


def _register(flow: str, request: JobRequest, settings: Settings, going_on: bool) -> str:
    """The job's id; the job is made if it is new."""
    bench = Workbench(settings)
    try:
        # What is wrong with the call is told before there is a job.
        if isinstance(request, AskRequest):
            # In a thread of its own, and so with a loop of its own.
            asyncio.run(named_tools(request.tools, settings.connections))
        if isinstance(request, SourcesRequest) and request.web and not going_on:
            open_engine(settings.web)
        for path in request.images:
            fit_pages(read_image(path), str(path))
        if not going_on:
            settings.schedule.check_against(settings.profile, request.budget)
        if request.limits.max_cost and not settings.is_builtin:
            own = first_entry(bench.journal, request.job or "")["settings"] if going_on else {}
            _check_price(settings, own.get("model", settings.model))
        fresh = request if isinstance(request, DocumentsRequest) and not going_on else None
        if fresh and fresh.out:
            named = [path for path in fresh.files if not path.is_dir()]
            check_outputs(fresh.out, family_of(fresh.files), named)
        start = make_start(flow, request, bench.recorded_settings())
        if not (going_on or start.files) and _needs_files(request, settings):
            raise _nothing_in(request.files)
        job = find_or_create(bench.journal, start, request.job, settings_may_differ=going_on)
        bench.journal.check_free(job.id)
        return job.id
    finally:
        bench.journal.database.close()


def _needs_files(request: JobRequest, settings: Settings) -> bool:
    """Whether a job over no file at all can only come to nothing.

    A standing report may find its folder empty today.
    """
    if isinstance(request, DocumentsRequest):
        return True
    if not isinstance(request, AskRequest | ResearchRequest) or not request.files:
        return False
    web = settings.web.enabled if request.web is None else request.web
    return not (web or request.images or request.addresses)


def _nothing_in(paths: list[Path]) -> WrongUse:
    """The error of a call whose folders hold no file."""
    named = ", ".join(str(path) for path in paths) or "what was given"
    if count := hidden(paths):
        files = "file" if count == 1 else "files"
        return WrongUse(
            f"There is nothing to read in {named}: it holds {count} hidden {files} and no other.",
            "Hidden files are left out; rename them, or give each by its path.",
        )
    return WrongUse(f"There is nothing to read in {named}: it is empty.", "Check the path.")


def _check_price(settings: Settings, model: str) -> None:
    if model not in (*settings.prices, BUILTIN_MODEL):
        raise WrongUse(
            f"There is no price for the model {model!r}, so a limit in money can't work.",
            f'Put [prices."{model}"] with input and output into deskwork.toml.',
        )


def _outcome(settings: Settings, job: str) -> Outcome:
    bench = Workbench(settings)
    try:
        return outcome(bench.journal, job)
    finally:
        bench.journal.database.close()


def _inside_a_flow() -> bool:
    from prefect.context import FlowRunContext

    return FlowRunContext.get() is not None


def flow_named(name: str) -> Any:
    """A Prefect flow by its name, imported."""
    import importlib

    module, attribute, _ = FLOWS[name]
    return getattr(importlib.import_module(module), attribute)


async def _as_subflow(name: str, request: JobRequest) -> None:
    # A caller's own flow: its settings hold, and its run is the page to look at.
    state = await flow_named(name)(request=request, return_state=True)
    await _raise_own(state)


async def _raise_own(state: State[Any]) -> None:
    """Raise what kept a run from its job at all, as another runner's hold: no outcome tells it."""
    result = await state.aresult(raise_on_failure=False) if state.is_failed() else None
    if isinstance(result, DeskworkError):
        raise result


async def _as_own_run(name: str, request: JobRequest, settings: Settings) -> None:
    def say(text: str) -> None:
        tell("server", request.job or "", text)

    info = await asyncio.to_thread(ensure_server, settings.home, say=say)
    environment = client_settings(info)
    os.environ.update(environment)
    flow = await asyncio.to_thread(flow_named, name)

    from prefect.exceptions import PrefectException
    from prefect.flow_engine import run_flow
    from prefect.settings import (
        PREFECT_API_URL,
        PREFECT_FLOWS_HEARTBEAT_FREQUENCY,
        temporary_settings,
    )

    from deskwork.tasks.deployments import alone, attach_run, connect, register

    # Heartbeats are for a worker's runs. Where Prefect was imported earlier it reads no
    # environment any more, so the address is set here as well.
    with temporary_settings(
        {PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None, PREFECT_API_URL: info.api_url}
    ):
        try:
            async with connect(info) as client:
                deployments = await register(client, [flow], info)
                async with alone(info):
                    run = await attach_run(
                        client,
                        deployments[f"{name}/deskwork"],
                        {"request": request.model_dump(mode="json", by_alias=True)},
                        name=run_name(request.question, request.job or name),
                        tags=[request.job or name],
                    )
        except (httpx.HTTPError, PrefectException) as error:
            raise _server_failed(error) from error
        tell("link", request.job or "", f"{info.ui_url}/runs/flow-run/{run.id}")
        ended = asyncio.Event()
        running.ended.set(ended)
        running_flow: Any = run_flow(
            flow, flow_run=run, parameters={"request": request}, return_type="state"
        )
        asked = asyncio.ensure_future(until_cancelled(info, run.id))
        try:
            await _see_through(request.job or "", running_flow, ended, asked)
            if asked.done():
                await mark_cancelled(info, run.id)
        except (httpx.HTTPError, PrefectException) as error:
            raise _server_failed(error) from error
        finally:
            asked.cancel()


async def _see_through(
    job: str,
    flow: Coroutine[Any, Any, Any],
    ended: asyncio.Event,
    asked: asyncio.Future[None],
) -> None:
    """Wait for the flow; once its job has ended, for its bookkeeping no longer than is fair.

    It is cancelled when that is ``asked`` for on its page.
    """
    from prefect.exceptions import PrefectException

    run, over = asyncio.ensure_future(flow), asyncio.ensure_future(ended.wait())
    try:
        await asyncio.wait({run, over, asked}, return_when=asyncio.FIRST_COMPLETED)
        if asked.done() and not over.done():
            run.cancel()
            await asyncio.wait({run})
            return
        if not run.done():
            await asyncio.wait({run}, timeout=BOOKKEEPING)
    except asyncio.CancelledError:
        run.cancel()
        await asyncio.wait({run})
        raise
    finally:
        over.cancel()
    try:
        if not run.done():
            run.cancel()
            raise httpx.ConnectError("it does not answer")
        await _raise_own(run.result())
    except (httpx.HTTPError, PrefectException) as error:
        if not ended.is_set():
            raise _server_failed(error) from error
        lost.set()
        tell("trouble", job, "The Prefect server was lost: the job is whole, its page is not.")


def _server_failed(error: Exception) -> ServerDown:
    cause = " ".join(str(error).split())[:200] or type(error).__name__
    return ServerDown(
        f"The Prefect server failed: {cause}.",
        "Run the same command again; if it fails again, `deskwork down` first and look for free "
        "space on the disk of the home. What was recorded is kept.",
    )
