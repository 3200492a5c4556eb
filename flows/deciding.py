"""The flow `decide`: a person's word on a waiting job, in the Prefect UI; the job then goes on.

It is what `deskwork answer` and `deskwork resume` do, as a form.
"""

from __future__ import annotations

import asyncio

from prefect import flow

from deskwork.flows.launching import launch, request_going_on
from deskwork.tasks import records
from deskwork.tasks.delivery.record import Decided, decide_deliveries
from deskwork.tasks.outcomes import Outcome
from deskwork.tasks.plan import read_plan
from deskwork.tasks.requests import DecisionRequest, JobRequest
from deskwork.tasks.settings import load_settings
from deskwork.tasks.workbench import Workbench
from deskwork.tools.errors import WrongUse

UNKNOWN = "Error: it is not known whether this call took effect; do not count on it."
"""The result of a call that a person gave up."""


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
    bench = Workbench(load_settings())
    try:
        if request.decision == "approve the plan":
            records.decide_plan(bench.journal, request.job, True)
        elif request.decision == "use this plan":
            try:
                plan = read_plan(request.plan, 1)
            except ValueError as error:
                raise WrongUse(
                    f"This is no plan: {error}", "Change what plan.json holds."
                ) from None
            records.decide_plan(bench.journal, request.job, plan.model_dump(exclude_defaults=True))
        elif request.decision in ("send again", "count as sent"):
            how: Decided = "again" if request.decision == "send again" else "sent"
            decide_deliveries(bench.journal, request.job, how)
        else:
            result = UNKNOWN if request.decision == "give the call up" else None
            records.decide(bench.journal, bench.blobs, request.job, result)
        return request_going_on(bench.journal, request.job, {})
    finally:
        bench.journal.database.close()
