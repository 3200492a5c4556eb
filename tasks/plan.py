"""A research plan as the model writes it, checked before anything is done by it."""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError


class Part(BaseModel):
    """One investigation: a question that stands alone, with its own tools and limit of steps."""

    model_config = ConfigDict(extra="ignore")

    title: str = Field(min_length=1, max_length=200, description="A short name of the part.")
    question: str = Field(min_length=1, description="Its question, which stands alone.")
    tools: list[str] = Field(default=[], description="Left empty: all that the job has.")
    steps: int | None = Field(
        default=None, ge=2, le=100, description="Model calls, at most; empty for the usual number."
    )


class Plan(BaseModel):
    """What a research job does, in the model's own words."""

    model_config = ConfigDict(extra="ignore")

    title: str = Field(min_length=1)
    investigations: list[Part] = Field(min_length=1, max_length=12)


def read_plan(text: str, least: int = 3) -> Plan:
    """The plan in a model's answer, or in a person's file. Raises `ValueError` with a sentence."""
    try:
        plan = Plan.model_validate(first_object(text))
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(part) for part in row['loc'])}: {row['msg']}"
            for row in error.errors()[:5]
        )
        raise ValueError(f"The plan is not of the form asked for: {problems}.") from None
    if len(plan.investigations) < least:
        raise ValueError(
            f"The plan is not of the form asked for: investigations should be at least {least}."
        )
    return plan


class _Reflection(BaseModel):
    model_config = ConfigDict(extra="ignore")

    add: list[Part] = Field(default=[], max_length=4)


def read_reflection(text: str) -> list[Part]:
    """The investigations that a reflection adds; an answer of no use adds none."""
    try:
        return _Reflection.model_validate(first_object(text)).add
    except ValueError:
        return []


def first_object(text: str) -> Any:
    """The first JSON object in a text; models like to put fences and words around it."""
    decoder = json.JSONDecoder()
    for match in re.finditer(r"\{", text):
        try:
            value, _ = decoder.raw_decode(text, match.start())
        except ValueError:
            continue
        return value
    raise ValueError("The answer holds no JSON object.")
