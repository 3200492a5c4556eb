"""The deliveries of a published standing report, each a Prefect task of its own."""

from __future__ import annotations

from pydantic import TypeAdapter

from deskwork.flows.running import Run
from deskwork.tasks.delivery.parcel import NotReached, Refused, parcel_of
from deskwork.tasks.delivery.step import Delivery
from deskwork.tasks.delivery.targets import Target
from deskwork.tasks.progress import tell
from deskwork.tasks.report import Report
from deskwork.tasks.states import WaitingForPerson
from deskwork.tasks.steps import AS_TASKS
from deskwork.tools.errors import Stop


async def deliver_all(run: Run, report: Report) -> list[str]:
    """Make every delivery that isn't made yet; the addresses that refused theirs.

    One that fails keeps none of the others. Raises `WaitingForPerson` where it isn't known whether
    one was made, else `Stop` that names those that failed.
    """
    request, job = run.start["request"], run.session.job
    targets = TypeAdapter(list[Target]).validate_python(request["delivery"])
    steps = run.steps or AS_TASKS
    waiting: list[WaitingForPerson] = []
    failed: list[str] = []
    refused: list[str] = []
    for place, target in enumerate(targets, 1):
        parcel = parcel_of(report, run.files, f"{job}.{place}", request["outputs"])
        delivery = Delivery(place, target, parcel)
        try:
            await steps.deliver(run.session, delivery, str(target))
            refused += delivery.refused
            tell("publish", job, f"delivered: {target}")
        except WaitingForPerson as error:
            waiting.append(error)
        except (NotReached, Refused) as error:
            tell("trouble", job, f"not delivered: {target}: {error}")
            failed.append(f"{target}: {error}")
    if waiting:
        raise WaitingForPerson(" ".join(one.message for one in waiting), waiting[0].hint)
    if failed:
        raise Stop(
            f"Not delivered: {'; '.join(failed)}",
            f"The report is made; `deskwork resume {job}` delivers what is left.",
        )
    return refused
