"""The flow `investigation`: one part of a research job, made by another worker than the job's own.

It is taken up by whoever has a hand free. The job's own process offers it, reads what came of it
out of the journal, and makes it itself where nobody else does.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run as current_run
from prefect.states import Completed

from deskwork.flows.attending import prefect_state
from deskwork.flows.children import Family, investigated
from deskwork.flows.loop import Budget
from deskwork.flows.offers import spent_elsewhere
from deskwork.flows.running import Ended, known_limits, settings_of
from deskwork.flows.stopping import take_signals
from deskwork.tasks import logs, otlp
from deskwork.tasks.deployments import lighten_events
from deskwork.tasks.limits import Spend
from deskwork.tasks.outcomes import descendants
from deskwork.tasks.requests import InvestigationRequest, JobRequest
from deskwork.tasks.settings import ModelLimits, load_settings
from deskwork.tasks.starts import first_entry, limits_of
from deskwork.tasks.states import state_of
from deskwork.tasks.workbench import Workbench
from deskwork.tools.errors import DeskworkError, JobHeld, Stop, WrongUse


@flow(name="investigation", persist_result=False)
async def investigation_flow(request: InvestigationRequest) -> State[Any]:
    """Make one investigation of a research job; the job offers it by itself.

    Args:
        request: Which investigation of which job.
    """
    take_signals()
    lighten_events()
    run_id = current_run.id
    bench = Workbench(load_settings())
    logs.begin(bench.settings.log, run_id)
    job = f"{request.parent}.{request.number}"
    try:
        otlp.trace_calls(job)
        family = await asyncio.to_thread(_family, bench, request, run_id)
        limits = await asyncio.to_thread(limits_of, bench.journal, request.parent)
        total = Budget(limits, [])
        watched = Budget(limits, total.sessions, [], lambda: _elsewhere(family, total))
        child = await investigated(family, watched, request.number, request.part, request.tier)
    except JobHeld as error:
        return Completed(name="Under way", message=error.message)
    except DeskworkError as error:
        return prefect_state(Ended(job, *state_of(error), ""))
    finally:
        await otlp.flush()
        await bench.close()
    return Completed(message=child.problem or f"Job {job} is done.")


def _family(bench: Workbench, request: InvestigationRequest, run_id: str) -> Family:
    """The job's files and settings as it recorded them.

    Raises `WrongUse` where this machine has other files: the job's own process then makes it.
    """
    journal, parent = bench.journal, request.parent
    recorded = first_entry(journal, parent)
    plain = JobRequest(question=recorded["request"]["question"])
    settings = settings_of(plain, recorded["settings"])
    for _, _, note in journal.metas(parent, "note"):
        if note["note"] == "model" and note["model"] == settings.model:
            settings = known_limits(settings, ModelLimits(**note["limits"]))
    bench.settings = settings
    files = [Path(path) for path in recorded["request"]["files"]]
    try:
        collection = bench.collect(files, parent)
    except DeskworkError as error:
        raise WrongUse(f"This machine lacks the files of job {parent}: {error.message}") from None
    if [list(pair) for pair in collection.fingerprint()] != recorded["files"]:
        raise WrongUse(
            f"The files of job {parent} are others on this machine.",
            "Keep them where all workers see the same, or leave `spread` off.",
        )
    return Family(bench, parent, collection, recorded, flow_run=run_id)


def _elsewhere(family: Family, own: Budget) -> Spend:
    """What the rest of the job used. Raises `Stop` once the job itself is stopped."""
    journal, parent = family.bench.journal, family.parent
    state = journal.job(parent).state
    if state != "running":
        raise Stop(f"The job {parent}, of which this is a part, is {state}.", "It is left to it.")
    return spent_elsewhere(journal, [parent, *descendants(journal, parent)], own)
