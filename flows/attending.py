"""A run that a worker runs, and the person at Prefect's page: it asks there by a form.

While it waits the run is suspended: no process waits with it, and a restart of the machine does it
no harm. Resume, with the form filled in, lets a worker go on. A run of a plain call asks nothing
here: its answer is `deskwork answer`, or the deployment `decide`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from prefect.client.schemas.objects import State
from prefect.context import FlowRunContext
from prefect.flow_runs import asuspend_flow_run
from prefect.runtime import flow_run as current_run
from prefect.states import Completed, Failed

from deskwork.flows.forms import Form, LimitsForm, form_for
from deskwork.flows.running import Ended, Run, run_job
from deskwork.flows.stopping import by_worker
from deskwork.tasks.asking import Question, question_of
from deskwork.tasks.outcomes import outcome
from deskwork.tasks.requests import JobRequest
from deskwork.tasks.starts import limits_of
from deskwork.tasks.workbench import opened
from deskwork.tools.errors import WrongUse


def prefect_state(ended: Ended) -> State[Any]:
    """The flow run's state for the state of its job."""
    if ended.state == "done":
        return Completed(message=f"Job {ended.job} is done.")
    if ended.state == "needs review":
        return Completed(name="Needs review", message=ended.reason)
    name = ended.state.capitalize() if ended.state != "failed" else None
    return Failed(name=name, message=ended.reason)


async def attended(
    flow: str, request: JobRequest, work: Callable[[Run], Awaitable[None]]
) -> State[Any]:
    """Run the job that a request means, asking whoever is at the page what it asks.

    Raises what `run_job` does, and Prefect's `Pause` where the run is suspended.
    """
    run_id = current_run.id
    if not by_worker(run_id):
        return prefect_state(await run_job(flow, request, work, run_id))
    request = await asyncio.to_thread(_as_it_stands, request, run_id)
    # What the job asked when the run was suspended; nothing for a run that begins.
    question = await asyncio.to_thread(_question, run_id)
    while True:
        if question is None:
            ended = await run_job(flow, request, work, run_id)
            question = await asyncio.to_thread(_question, run_id)
            if question is None:
                return prefect_state(ended)
        form = await _asked(question)
        try:
            goes_on = form is not None and await asyncio.to_thread(_recorded, form, question)
        except WrongUse as error:
            # Under another key: the server has the answer to this one.
            text = f"{error}\n\n{question.text}"
            question = replace(question, key=f"{question.key}-again", text=text)
            continue
        if not goes_on:
            return prefect_state(await asyncio.to_thread(_ended, question.job))
        if isinstance(form, LimitsForm):
            request = request.model_copy(update={"limits": form.limits()})
        question = None


async def _asked(question: Question) -> Form | None:
    """The person's answer. The first time the run is suspended, which ends this process.

    None where the server doesn't take the question: the run then ends as it stands.
    """
    form = form_for(question)
    try:
        return await asuspend_flow_run(wait_for_input=form, key=f"{question.kind}-{question.key}")
    except RuntimeError:
        return None


def _question(run_id: str) -> Question | None:
    context = FlowRunContext.get()
    run = context.flow_run if context else None
    with opened() as bench:
        known = bench.journal.jobs(flow_run=run_id)
        if not known:
            return None
        by_schedule = bool(run and run.auto_scheduled)
        return question_of(bench, known[-1], about_limits=not by_schedule)


def _as_it_stands(request: JobRequest, run_id: str) -> JobRequest:
    """The request with the limits that its job had last: a person may have raised them."""
    with opened() as bench:
        known = bench.journal.jobs(flow_run=run_id)
        if not known:
            return request
        return request.model_copy(update={"limits": limits_of(bench.journal, known[-1].id)})


def _recorded(form: Form, question: Question) -> bool:
    with opened() as bench:
        return form.record(bench, question.job)


def _ended(job: str) -> Ended:
    with opened() as bench:
        end = outcome(bench.journal, job)
        return Ended(job, end.state, end.reason, end.answer)
