"""The forms by which a person answers a suspended run on Prefect's page.

Each field's description is what the form shows; what a field holds is checked by the server.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from prefect.input import RunInput
from pydantic import Field
from pydantic.fields import FieldInfo

from deskwork.tasks.asking import (
    GIVEN_UP,
    Question,
    decide_calls,
    decide_plan,
    decide_sent,
)
from deskwork.tasks.limits import Limits
from deskwork.tasks.plan import Part
from deskwork.tasks.workbench import Workbench


class Form(RunInput):
    """What a person answers. ``record`` says whether the job is to go on."""

    def record(self, bench: Workbench, job: str) -> bool:
        """Record the answer. Raises `WrongUse` for one that the job can't take."""
        raise NotImplementedError


class PlanForm(Form):
    """The plan of a research job."""

    title: str = Field(default="", description="What the report is called.")
    investigations: list[Part] = Field(
        default=[],
        max_length=12,
        description="What is investigated, each by itself. Leave it as it is to approve the plan; "
        "or change questions, add some, take some out.",
    )

    def record(self, bench: Workbench, job: str) -> bool:
        """Go by this plan; by the model's own where nothing was sent back."""
        plan = self.model_dump() if self.investigations else {}
        decide_plan(bench, job, json.dumps(plan) if plan else "")
        return True


class CallForm(Form):
    """A call that began, and of which nobody knows whether it took effect."""

    decision: Literal["run it again", "take this result", "give it up"] = Field(
        default="give it up", description="What is to happen with the interrupted call."
    )
    result: str = Field(
        default="", description="With `take this result`: what the call brought, in your words."
    )

    def record(self, bench: Workbench, job: str) -> bool:
        """Go on with that."""
        results = {"run it again": None, "take this result": self.result, "give it up": GIVEN_UP}
        decide_calls(bench, job, results[self.decision])
        return True


class DeliveryForm(Form):
    """A delivery that began, and of which nobody knows whether it arrived."""

    decision: Literal["count as sent", "send again"] = Field(
        default="count as sent", description="What is to happen with the interrupted delivery."
    )

    def record(self, bench: Workbench, job: str) -> bool:
        """Go on with that."""
        decide_sent(bench, job, sent=self.decision == "count as sent")
        return True


class LimitsForm(Form):
    """The limits of a job that has reached one; empty is no limit."""

    decision: Literal["go on with these limits", "leave it at the partial result"] = Field(
        default="go on with these limits", description="What is to happen with the job."
    )
    max_steps: int | None = Field(
        default=None, ge=1, description="Model calls in all, those so far included."
    )
    max_tokens: int | None = Field(
        default=None, ge=1, description="Tokens in and out in all, those so far included."
    )
    max_cost: float | None = Field(
        default=None, gt=0, description="Money in all, in the currency of the price table."
    )
    max_seconds: float | None = Field(
        default=None, gt=0, description="Seconds that the job runs in all, the waiting left out."
    )

    def record(self, bench: Workbench, job: str) -> bool:
        """Nothing is recorded here: the run that goes on records its limits."""
        return self.decision == "go on with these limits"

    def limits(self) -> Limits:
        """The limits to go on with."""
        return Limits(**{name: getattr(self, name) for name in Limits.model_fields})


class ReportForm(Form):
    """A published report, to be approved."""

    decision: Literal["approve", "approve it anyway", "leave it not reviewed"] = Field(
        default="leave it not reviewed",
        description="Whether the report says it was reviewed; one that is partial or empty is "
        "approved only anyway, which it says.",
    )
    by: str = Field(default="", description="Who has reviewed it: the report gives the name.")
    note: str = Field(default="", description="A remark, printed with the review.")

    def record(self, bench: Workbench, job: str) -> bool:
        """Approve it; all its files are written anew."""
        if self.decision != "leave it not reviewed":
            by = self.by or "a person at the Prefect page"
            anyway = self.decision == "approve it anyway"
            # It brings all that reports are made with, half a second of every start.
            from deskwork.tasks.reviewing import approve_report

            approve_report(bench, job, by, self.note, anyway=anyway)
        return False


FORMS: dict[str, tuple[type[Form], str]] = {
    "plan": (PlanForm, "Look at the plan before money is spent."),
    "call": (CallForm, "A call was interrupted, and its tool may not be run again unasked."),
    "delivery": (DeliveryForm, "A delivery was interrupted: it may or may not have arrived."),
    "limits": (LimitsForm, "A limit is reached. Nothing is lost by raising it."),
    "report": (ReportForm, "The report is published and waits for your review."),
}


def form_for(question: Question) -> type[Form]:
    """The form of a question, filled in as far as its answer is known."""
    form, what = FORMS[question.kind]
    filled: dict[str, Any] = {}
    for name, value in question.filled.items():
        known = form.model_fields[name]
        # With the field's own description: a bare default would take it away.
        filled[name] = FieldInfo.merge_field_infos(known, default=value)
    text = f"**{what}**\n\n{question.text}\n\nJob `{question.job}`; its page has the rest."
    return form.with_initial_data(description=text, **filled)
