"""What a person, a script or a schedule asks for: the one parameter of each flow.

The descriptions here are the form in the Prefect UI. Secrets never stand in a request.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from deskwork.tasks.limits import Limits
from deskwork.tasks.plan import Part
from deskwork.tasks.profiles import Tier
from deskwork.tasks.records_paths import outputs
from deskwork.tasks.schedule import Asked

LAST = ("budget", "limits", "model", "job", "record_schema", "set_hash")
"""Fields that stand at a form's end: most people leave them as they are."""


def _in_order(schema: dict[str, Any]) -> None:
    """What a person has to say first, in the form of any job."""
    known = schema.get("properties", {})
    last = {name: known.pop(name) for name in LAST if name in known}
    known.update(last)


class JobRequest(BaseModel):
    """What every job takes."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=_in_order)

    question: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)] = Field(
        description="What you want to know, in your own words."
    )
    files: list[Path] = Field(
        default=[],
        description="Folders and files to answer from, as paths on the machine that runs the job "
        "(this form can't carry the files themselves).",
    )
    images: list[Path] = Field(
        default=[], description="Pictures that the model shall look at, as paths there."
    )
    addresses: list[Annotated[str, StringConstraints(pattern=r"^https?://[^/\s]+\S*$")]] = Field(
        default=[],
        description="Documents and pictures that lie elsewhere, by their http or https address: "
        "this form can't carry files, so they are fetched before the job begins.",
    )
    budget: Asked = Field(
        default="high",
        description="How long the model may think at each step; auto lets the question decide.",
    )
    model: str | None = Field(
        default=None, description="Another model at the same endpoint; empty for the one set up."
    )
    limits: Limits = Field(
        default=Limits(), description="How much the job may use before it stops and reports."
    )
    job: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
        description="A job's id: goes on with it, or gives a new job this id. "
        "Left empty, the id follows from the question and the files.",
    )

    @property
    def written(self) -> list[Path]:
        """Files that the job writes, which are none of its inputs wherever they lie."""
        return []

    @property
    def identity(self) -> list[str]:
        """What tells this work from other work, where that isn't its inputs."""
        return []


class SourcesRequest(JobRequest):
    """What a job takes that may look for sources of its own."""

    web: bool | None = Field(
        default=None,
        description="Whether the model may search the web and fetch pages; "
        "left empty, as the settings say.",
    )
    workspace: bool | None = Field(
        default=None,
        description="Whether the model may run programs in a sandbox of the job's own; "
        "left empty, as the settings say.",
    )


class AskRequest(SourcesRequest):
    """One agent job, from brief to answer."""

    tools: list[str] = Field(
        default=[],
        description="Tools the model may call, by name; left empty, those that fit the files.",
    )


class ResearchRequest(SourcesRequest):
    """A research job: plan, investigations side by side, draft, check, report."""

    out: Path | None = Field(
        default=None,
        description="Folder for the report; left empty, `reports` under the Deskwork home.",
    )
    review_plan: bool = Field(
        default=False,
        description="Whether the job waits, once it has a plan, until a person approves it.",
    )
    review_report: bool = Field(
        default=False,
        description="Whether the run, once the report is published, waits on Prefect's page "
        "until a person approves it or leaves it not reviewed.",
    )
    spread: bool = Field(
        default=False,
        description="Whether other workers may take up its investigations too, as runs of their "
        "own. They need the same files under the same paths.",
    )


class InvestigationRequest(BaseModel):
    """One investigation of a research job, for another worker than the one that runs the job."""

    model_config = ConfigDict(extra="forbid")

    parent: str = Field(description="The research job's id.")
    number: int = Field(ge=1, description="Which of its investigations.")
    part: Part = Field(description="Its title and question, as the plan has them.")
    tier: Tier = Field(description="How long the model thinks at each step.")


class DocumentsRequest(JobRequest):
    """A document job: files in, records with evidence out."""

    question: str = Field(
        default="Extract the records.", description="What the records are for, in a sentence."
    )
    budget: Asked = Field(
        default="auto",
        description="How long the model may think; auto begins low and thinks more on doubt.",
    )
    limits: Limits = Field(
        default=Limits(max_steps=None),
        description="How much the job may use before it stops and reports.",
    )
    schema_source: str = Field(
        description="A JSON Schema file, or a pydantic class as module:Class or file.py:Class."
    )
    record_schema: dict[str, Any] = Field(
        default={}, description="The schema itself, so that a changed one is another job."
    )
    out: Path | None = Field(
        default=None,
        description="The workbook to write; left empty, `documents` under the Deskwork home.",
    )
    ocr: bool = Field(
        default=False, description="Read pages without text by their picture, by OCR."
    )
    fresh: bool = Field(
        default=False,
        description="Ask again, also for files that another job has finished in the same way.",
    )

    @property
    def written(self) -> list[Path]:
        """The workbook, the data and the page."""
        return outputs(self.out) if self.out else []


class EvaluationRequest(SourcesRequest):
    """An evaluation: a set of questions with gold answers, scored by model and budget."""

    question: str = Field(default="Evaluate.", description="What the evaluation is for.")
    question_set: Path = Field(
        description="The set: FinanceBench, TAT-QA, or rows with question and answer."
    )
    set_hash: str = Field(default="", description="The set's SHA-256: another set, another job.")
    models: list[str] = Field(
        default=[], description="Models at the endpoint, side by side; empty for the one set up."
    )
    budgets: list[Tier] = Field(
        default=["high"], description="How long the models may think; each is tried."
    )
    scope: Literal["all", "file"] = Field(
        default="all",
        description="Whether a question is asked over all files, or over the one its set names.",
    )
    limits: Limits = Field(
        default=Limits(max_steps=None),
        description="How much the evaluation may use before it stops and reports.",
    )
    out: Path | None = Field(
        default=None,
        description="Folder for the scores; left empty, `evaluations` under the Deskwork home.",
    )


class DecisionRequest(BaseModel):
    """What a person decides about a job that waits."""

    model_config = ConfigDict(extra="forbid")

    job: str = Field(description="The job's id, as its run's name and `deskwork jobs` give it.")
    decision: Literal[
        "approve the plan",
        "use this plan",
        "run the call again",
        "give the call up",
        "send again",
        "count as sent",
    ] = Field(default="approve the plan", description="What is to happen.")
    plan: str = Field(
        default="", description="With `use this plan`: the plan as JSON, as plan.json holds it."
    )
