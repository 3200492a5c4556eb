"""Limits of a job, and what is kept back for finishing.

Near a limit the model is told once to conclude; at it the job stops in ``out of budget`` with a
labelled partial result. Raising the limit and running again goes on from there.
"""

from __future__ import annotations

import math

from pydantic import BaseModel, ConfigDict, Field

RESERVE = 0.1
"""The share of a limit that is kept for the conclusion."""


class Limits(BaseModel):
    """How much a job may use; None is no limit. They alone may change when a job goes on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_steps: int | None = Field(default=200, ge=1, description="Model calls, at most.")
    max_tokens: int | None = Field(default=None, ge=1, description="Tokens in and out, at most.")
    max_cost: float | None = Field(
        default=None, gt=0, description="Money, in the currency of the price table, at most."
    )
    max_seconds: float | None = Field(
        default=None, gt=0, description="Seconds that the job runs, at most."
    )


class Spend(BaseModel):
    """What a job used so far. ``cost`` is None as long as no price is known."""

    steps: int = 0
    tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0

    def plus(self, other: Spend) -> Spend:
        """The sum of two."""
        known = [cost for cost in (self.cost, other.cost) if cost is not None]
        return Spend(
            steps=self.steps + other.steps,
            tokens=self.tokens + other.tokens,
            cost=sum(known) if known else None,
            seconds=max(self.seconds, other.seconds),
        )


def _pairs(limits: Limits, spend: Spend) -> list[tuple[str, float, float]]:
    pairs = [
        (f"{limits.max_steps} steps", spend.steps, limits.max_steps),
        (f"{limits.max_tokens} tokens", spend.tokens, limits.max_tokens),
        (f"a cost of {limits.max_cost}", spend.cost or 0.0, limits.max_cost),
        (f"{limits.max_seconds} seconds", spend.seconds, limits.max_seconds),
    ]
    return [(name, used, limit) for name, used, limit in pairs if limit is not None]


def exceeded(limits: Limits, spend: Spend) -> str | None:
    """The limit that is reached, in words, or None."""
    return next((name for name, used, limit in _pairs(limits, spend) if used >= limit), None)


def near(limits: Limits, spend: Spend) -> str | None:
    """The limit whose reserve is reached, in words, or None."""
    for name, used, limit in _pairs(limits, spend):
        reserve = max(1, math.ceil(limit * RESERVE)) if name.endswith("steps") else limit * RESERVE
        if used >= limit - reserve:
            return name
    return None
