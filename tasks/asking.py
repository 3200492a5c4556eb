"""What a job asks a person, and what the answer records: for the forms of a suspended run.

A job asks about its plan, about calls and deliveries that began and never ended, about its limits
once one is reached, and, where its request says so, about its report.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from deskwork.tasks import records
from deskwork.tasks.delivery.record import decide_deliveries, undecided
from deskwork.tasks.estimate import estimate
from deskwork.tasks.history import History
from deskwork.tasks.journal import Job, Journal
from deskwork.tasks.outcomes import descendants
from deskwork.tasks.plan import Plan, read_plan
from deskwork.tasks.reviews import approval, reviews_of
from deskwork.tasks.starts import first_entry, limits_of
from deskwork.tasks.workbench import Workbench
from deskwork.tools.errors import WrongUse

Kind = Literal["plan", "call", "delivery", "limits", "report"]
GIVEN_UP = "Error: it is not known whether this call took effect; do not count on it."
"""The result of a call that a person gave up."""


@dataclass(frozen=True)
class Question:
    """What a job asks. ``key`` is another one once the job has gone on; ``text`` is Markdown;
    ``filled`` has what the form's fields begin with."""

    kind: Kind
    job: str
    key: str
    text: str
    filled: dict[str, Any] = field(default_factory=dict)


def question_of(bench: Workbench, job: Job, *, about_limits: bool = True) -> Question | None:
    """What a job asks as it stands; None if nothing.

    ``about_limits`` is off where nobody looks on: such a job ends with its partial result.
    """
    journal = bench.journal
    key = journal.head(job.id).hex()[:12]
    if job.state == "waiting for a person":
        kind = _waits_for(journal, job)
        if kind == "plan":
            plan = _plan(bench, job.id)
            text = f"It has {estimate(bench, plan)}."
            return Question(kind, job.id, key, text, plan.model_dump())
        return Question(kind, job.id, key, job.reason)
    if job.state == "out of budget" and about_limits:
        now = limits_of(journal, job.id).model_dump()
        doubled = {name: value * 2 for name, value in now.items() if value is not None}
        return Question("limits", job.id, key, job.reason, doubled)
    asked = first_entry(journal, job.id)["request"].get("review_report")
    if asked and job.state in ("done", "needs review"):
        if approval(reviews_of(journal, job.id)):
            return None
        return Question("report", job.id, key, job.reason)
    return None


def decide_calls(bench: Workbench, job: str, result: str | None) -> list[str]:
    """What a person said about the interrupted calls of a job and of its parts; them in words.

    ``result`` None runs them again. Raises `WrongUse` when none is waiting.
    """
    decided: list[str] = []
    for name in [job, *descendants(bench.journal, job)]:
        if bench.journal.job(name).state == "waiting for a person":
            try:
                decided += records.decide(bench.journal, bench.blobs, name, result)
            except WrongUse:
                continue  # it waits for one of its parts
    if not decided:
        raise WrongUse(
            f"Job {job} has no interrupted call to decide about.",
            f"`deskwork show {job}` tells where it stands.",
        )
    return decided


def decide_plan(bench: Workbench, job: str, edited: str) -> None:
    """Approve a job's plan, or another one given as JSON. Raises `WrongUse`."""
    if not edited.strip():
        records.decide_plan(bench.journal, job, True)
        return
    try:
        plan = read_plan(edited, 1)
    except ValueError as error:
        raise WrongUse(f"This is no plan: {error}", "Change what the form held.") from None
    same = plan == _plan(bench, job)
    records.decide_plan(
        bench.journal, job, True if same else plan.model_dump(exclude_defaults=True)
    )


def decide_sent(bench: Workbench, job: str, *, sent: bool) -> None:
    """Whether interrupted deliveries count as sent, or are made again. Raises `WrongUse`."""
    decide_deliveries(bench.journal, job, "sent" if sent else "again")


def _waits_for(journal: Journal, job: Job) -> Kind:
    if undecided(journal, job.id):
        return "delivery"
    return "plan" if "plan" in job.reason.lower() else "call"


def _plan(bench: Workbench, job: str) -> Plan:
    """The plan that a job's model made."""
    history = History(bench.blobs)
    for entry in bench.journal.entries(job):
        history.apply(entry)
    reply = history.conversations["plan"].reply
    return read_plan(reply.text if reply else "")
