"""Running a job inside a flow: find it, hold it, do the work, and leave it in a named state."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx

from deskwork.flows.stopping import end_soon, goes_on, take_signals
from deskwork.tasks import faults, logs, otlp, telemetry
from deskwork.tasks.arrivals import arrived
from deskwork.tasks.deployments import lighten_events
from deskwork.tasks.discovery import discover
from deskwork.tasks.entries import Draft
from deskwork.tasks.journal import Job, Journal
from deskwork.tasks.leftovers import Leftovers
from deskwork.tasks.page import Page
from deskwork.tasks.page_text import run_name, standing_text
from deskwork.tasks.profiles import find_profile
from deskwork.tasks.progress import tell
from deskwork.tasks.records_paths import outputs
from deskwork.tasks.requests import DocumentsRequest, JobRequest
from deskwork.tasks.schedule import read_schedule
from deskwork.tasks.session import Session
from deskwork.tasks.settings import ModelLimits, Settings, limited, load_settings
from deskwork.tasks.starts import (
    Start,
    differing,
    find_or_create,
    first_entry,
    going_on,
    make_start,
)
from deskwork.tasks.states import NeedsReview, OutOfBudget, state_of
from deskwork.tasks.workbench import Workbench
from deskwork.tasks.writer import Writer
from deskwork.tools.errors import DeskworkError, JobHeld, WrongUse
from deskwork.tools.library import Collection

if TYPE_CHECKING:
    # Prefect is loaded when a job starts, not when this is imported.
    from deskwork.tasks.steps import Steps

transport: ContextVar[httpx.AsyncBaseTransport | None] = ContextVar("transport", default=None)
"""Stands in for the network, for a model in this process."""

ended: ContextVar[asyncio.Event | None] = ContextVar("ended", default=None)
"""Set once the job is left in a named state; what follows is for the Prefect page alone."""

RESEARCHED = "researched"
"""The note of a report that is published: what is left is its delivery."""


@dataclass
class Run:
    """A job being run. Its work leaves ``answer``, ``files`` and ``report`` (the blob that holds it
    as data), recorded with the outcome.

    ``steps`` is how the loop runs its steps: as Prefect tasks unless a test says otherwise.
    ``start`` is the job's first entry: the request, the settings, the files' hashes. ``parts`` has,
    for whoever looks on, the title of each part of the job by the id of the child job that does it.
    """

    bench: Workbench
    session: Session
    collection: Collection
    start: dict[str, Any]
    answer: str = ""
    files: tuple[str, ...] = ()
    report: str = ""
    steps: Steps | None = None
    parts: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Ended:
    """How a run left its job."""

    job: str
    state: str
    reason: str
    answer: str


def settings_of(request: JobRequest, recorded: dict[str, Any] | None = None) -> Settings:
    """This machine's settings, with what the job itself has recorded laid over them.

    The key is never recorded: it comes from here. So does the endpoint's address, where this
    machine names one for the same model: a server may move while its jobs go on. A key goes to
    the host alone that this machine has it for.
    """
    settings = load_settings().with_model(request.model)
    if isinstance(request, DocumentsRequest) and request.ocr:
        settings = replace(settings, reading=replace(settings.reading, ocr=True))
    if recorded is None:
        return settings
    own = dict(settings.own_profiles)
    if recorded.get("own_profile"):
        own[recorded["profile"]] = recorded["own_profile"]
    profile = find_profile(
        recorded["profile"], recorded["protocol"], None, model=recorded["model"], own=own
    )
    moved = settings.model_url if settings.model == recorded["model"] else None
    url = (moved or recorded["model_url"]) if recorded["model_url"] else None
    mine = urlsplit(url or "").netloc == urlsplit(settings.model_url or "").netloc
    return replace(
        settings,
        model=recorded["model"],
        model_url=url,
        model_key=settings.model_key if mine else None,
        key_at=settings.key_at if mine else None,
        profile=limited(profile, settings.models.get(recorded["model"])),
        own_profiles=own,
        schedule=read_schedule(recorded.get("schedule", {})),
        # Jobs from before there were tools over filings go on without them.
        web=replace(settings.web, **{"filings": False, **recorded.get("web", {})}),
    )


async def run_job(
    flow: str,
    request: JobRequest,
    work: Callable[[Run], Awaitable[None]],
    flow_run: str | None,
) -> Ended:
    """Run the job that a request means to its end.

    Whatever happens, what was recorded stays and the job is left in a named state. Errors that
    are Deskwork's own end here as that state; others are raised on.
    """
    take_signals()
    lighten_events()
    settings = settings_of(request)
    logs.begin(settings.log, flow_run)
    bench = Workbench(settings, transport=transport.get())
    try:
        if request.addresses and not await asyncio.to_thread(_known, bench, flow_run):
            request = await arrived(request, bench.settings)
        job, start = await asyncio.to_thread(_find, bench, flow, request, flow_run)
        recorded = await asyncio.to_thread(first_entry, bench.journal, job.id)
        bench.settings = settings_of(request, recorded["settings"])
        writer = await _hold(bench.journal, job, flow_run)
        leftovers = Leftovers(job.id, flow_run, job.flow_run) if flow_run and job.flow_run else None
        closing = asyncio.create_task(leftovers.close()) if leftovers else None
        page = Page(flow_run, job.id)
        tags = [flow, job.id, str(bench.settings.model)]
        naming = asyncio.create_task(page.name(run_name(job.title, job.id), tags))
        run: Run | None = None
        state, reason = "done", ""
        try:
            otlp.trace_calls(job.id)
            with telemetry.job_run(flow, job.id):
                run = await prepare(bench, writer, start, recorded)
                async with page.following(functools.partial(_standing, bench.journal, job, run)):
                    await work(run)
            if leftovers and closing:
                await closing
                await leftovers.close()
        except DeskworkError as error:
            state, reason = state_of(error)
        except BaseException as error:
            state, reason = state_of(error)
            if state == "stopped":
                end_soon()
                # Left as one that runs and is held by nobody, as after a kill.
                state, reason = ("running", "") if goes_on(flow_run) else (state, reason)
            raise
        finally:
            _leave(writer, run, state, reason)
            if over := ended.get():
                over.set()
            tell("end", job.id, f"{state}: {reason}" if reason else state, state=state)
        answer = run.answer if run else ""
        await naming
        with contextlib.suppress(Exception):
            # For the eye only: the job has ended as it has ended. Imported now, as it is not needed
            # before, and brings all that reports are made with.
            from deskwork.tasks.page_end import show_end

            await show_end(page, bench, run.report if run else "", run.parts if run else {})
        return Ended(job.id, state, reason, answer)
    finally:
        await otlp.flush()
        await bench.close()


def _known(bench: Workbench, flow_run: str | None) -> bool:
    return bool(flow_run and bench.journal.jobs(flow_run=flow_run))


async def _hold(journal: Journal, job: Job, flow_run: str | None) -> Writer:
    """The right to append to the job. Raises `JobHeld` when another run has it.

    If that is another process of this very flow run, this one goes without a word: what becomes
    of the run is told by the other.
    """
    try:
        return await asyncio.to_thread(journal.acquire, job.id, flow_run)
    except JobHeld as error:
        if flow_run and job.flow_run == flow_run:
            from prefect.exceptions import Abort

            raise Abort(error.message) from error
        raise


def _find(
    bench: Workbench, flow: str, request: JobRequest, flow_run: str | None
) -> tuple[Job, Start]:
    start = make_start(flow, request, bench.recorded_settings())
    if request.job is None and flow_run:
        # The same flow run again: a worker's retry, or a run that was gone on with by its id.
        known = bench.journal.jobs(flow_run=flow_run)
        if known:
            return known[-1], start
    return find_or_create(bench.journal, start, request.job, settings_may_differ=True), start


async def prepare(bench: Workbench, writer: Writer, start: Start, recorded: dict[str, Any]) -> Run:
    """Read the files and the history of a job that is held. Raises `WrongUse` for other files."""
    paths = [Path(path) for path in recorded["request"]["files"]]
    # What the job itself writes is none of its inputs, also when it lies among them.
    outs = {str(r["out"]) for r in (recorded["request"], start.request) if r.get("out")}
    of_documents = recorded["flow"] == "documents"
    written = [path for out in outs for path in outputs(Path(out))] if of_documents else []
    collection = await asyncio.to_thread(bench.collect, paths, writer.job, written)
    changed = [list(pair) for pair in collection.fingerprint()] != recorded["files"]
    if changed and not is_researched(bench.journal, writer.job):
        raise WrongUse(
            f"The files of job {writer.job} have changed since it began: "
            f"{differing(recorded['files'], collection.fingerprint())}.",
            "Put them back as they were, or ask anew without --job for a job on the new files.",
        )
    failed = [] if changed else [file for file in collection.files if file.state != "ready"]
    for file in failed:
        tell("trouble", writer.job, f"not read: {file.name}: {file.reason}")
    if failed and len(failed) == len(collection.files) and recorded["flow"] != "documents":
        raise WrongUse(
            "None of the files can be read: "
            + "; ".join(f"{file.name}: {file.reason}" for file in failed[:5]),
            "Mend them or give others.",
        )
    session = await asyncio.to_thread(Session, writer, bench.blobs, bench.settings, bench.endpoint)
    session.desk = bench.desk(session, collection)
    if more := going_on(session.history, start):
        steps = session.history.spend.steps
        tell(
            "job", writer.job, f"going on: {writer.next_seq} entries recorded, {steps} model calls"
        )
        await session.append(more)
    if not bench.is_local:
        bench.settings = session.settings = await _with_limits(session)
    return Run(bench, session, collection, recorded)


def is_researched(journal: Journal, job: str) -> bool:
    """Whether a standing report's run is made, and waits to be delivered alone."""
    notes = journal.metas(job, "note")
    return any(meta["note"] == RESEARCHED for _, _, meta in notes)


async def _with_limits(session: Session) -> Settings:
    """The settings with what the endpoint says of its model, asked once a job and recorded."""
    settings = session.settings
    note = session.history.notes.get("model", {})
    if note.get("model") == settings.model:
        said = ModelLimits(**note["limits"])
    else:
        said = await discover(session.endpoint, settings.model)
        if said.given():
            await session.note("model", model=settings.model, limits=said.given())
    return known_limits(settings, said)


def known_limits(settings: Settings, said: ModelLimits) -> Settings:
    """The settings with what an endpoint has said of its model, unless a person knows better."""
    own = settings.models.get(settings.model, ModelLimits())
    known = ModelLimits(**{**said.given(), **own.given()})
    if not known.given():
        return settings
    return replace(
        settings,
        profile=limited(settings.profile, known),
        models={**settings.models, settings.model: known},
    )


def _standing(journal: Journal, job: Job, run: Run) -> tuple[str, float | None]:
    limits = run.session.history.limits
    return standing_text(journal, journal.job(job.id), limits, run.parts)


def _leave(writer: Writer, run: Run | None, state: str, reason: str) -> None:
    """Record the outcome and give the job back. Not async: it must work while being cancelled."""
    try:
        if run is not None and state != "running":
            meta: dict[str, Any] = {"state": state, "answer": run.answer}
            if reason:
                meta["reason"] = reason
            if run.report:
                meta["report"] = run.report
            if run.files:
                meta["files"] = list(run.files)
            faults.point("before-outcome")
            writer.append([Draft("outcome", meta)])
            faults.point("after-outcome")
    finally:
        writer.release(state, reason)


def partial(text: str, error: OutOfBudget | NeedsReview) -> str:
    """A partial result, labelled so that nobody takes it for a finished one."""
    label = f"**Partial result: the job did not finish.** {error.message}"
    return f"{label}\n\n{text}" if text.strip() else label
