"""The flow `decide`: a person's word on a waiting job, in the Prefect UI; the job then goes on.

It is what `deskwork answer` and `deskwork resume` do, as a form.
"""

from __future__ import annotations

import asyncio

from prefect import flow

from deskwork.flows.launching import launch, request_going_on
from deskwork.tasks.asking import GIVEN_UP, decide_calls, decide_plan, decide_sent
from deskwork.tasks.outcomes import Outcome
from deskwork.tasks.requests import DecisionRequest, JobRequest
from deskwork.tasks.workbench import opened


@flow(name="decide", persist_result=False)
async def decide_flow(request: DecisionRequest) -> str:
    """Decide what a waiting job asks, and let it go on.

    Args:
        request: Which job, and what is decided.
    """
    job = request.job
    found = await asyncio.to_thread(decided, request)
    outcome: Outcome = await launch(found[0], found[1], going_on=True)
    return f"Job {job}: {outcome.state}"


def decided(request: DecisionRequest) -> tuple[str, JobRequest]:
    """Record what is decided; the flow of the job and the request that goes on with it."""
    with opened() as bench:
        job = request.job
        if request.decision == "approve the plan":
            decide_plan(bench, job, "")
        elif request.decision == "use this plan":
            decide_plan(bench, job, request.plan or "{}")
        elif request.decision in ("send again", "count as sent"):
            decide_sent(bench, job, sent=request.decision == "count as sent")
        else:
            decide_calls(bench, job, GIVEN_UP if request.decision == "give the call up" else None)
        return request_going_on(bench.journal, job, {})
