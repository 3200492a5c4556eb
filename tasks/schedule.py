"""Thinking budgets by kind of step, and what a model's endpoint makes of them.

The schedule is recorded with the job: it goes on with the one it began with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, cast

from deskwork.tasks.profiles import TIERS, Profile, Tier
from deskwork.tools.errors import WrongUse

Kind = Literal["plan", "tool_turn", "extraction", "draft", "check"]
"""The kinds of steps that have one tier; repairs have a row of them."""
Asked = Literal["low", "high", "max", "auto"]
"""What a person asks for: a tier, or that the question decides."""

_KINDS: tuple[Kind, ...] = ("plan", "tool_turn", "extraction", "draft", "check")


@dataclass(frozen=True)
class Schedule:
    """The table ``[budgets]`` of ``deskwork.toml``; None stands for the job's own budget.

    ``tool_turn`` covers the turns of an agent that calls tools (`ask`, each investigation);
    ``repair`` are the tiers of a report's repairs, one after the other. ``missing`` says what
    happens where the model lacks a tier: ``refuse``, or ``nearest`` stands in for it, on record.
    """

    plan: Tier | None = None
    tool_turn: Tier | None = None
    extraction: Tier | None = None
    draft: Tier | None = None
    check: Tier | None = None
    repair: tuple[Tier, ...] = ("high", "max")
    missing: Literal["refuse", "nearest"] = "refuse"

    def tier(self, kind: Kind, budget: Tier) -> Tier:
        """The tier of a kind of step in a job with this budget."""
        own: Tier | None = getattr(self, kind)
        return own or budget

    def overrides(self, budget: Tier) -> list[str]:
        """The kinds of steps that have another tier than the job's budget, as `kind at tier`."""
        tiers = ((kind, getattr(self, kind)) for kind in _KINDS)
        return [f"{kind} at {tier}" for kind, tier in tiers if tier not in (None, budget)]

    def as_json(self) -> dict[str, Any]:
        """What is recorded with a job."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def check_against(self, profile: Profile, budget: Asked) -> None:
        """Raise `WrongUse` when a job with this budget would need what the endpoint lacks."""
        if profile.tools_need and profile.protocol != profile.tools_need:
            raise WrongUse(
                f"This model of the profile {profile.name} refuses tools together with thinking "
                f"in the protocol {profile.protocol}.",
                f"Set DESKWORK_PROTOCOL={profile.tools_need}.",
            )
        asked = list(TIERS if budget == "auto" else (budget,))
        asked += [tier for kind in _KINDS if (tier := getattr(self, kind))]
        for tier in asked:
            profile.effective(tier, nearest=self.missing == "nearest")


def read_schedule(table: Mapping[str, Any]) -> Schedule:
    """The schedule of a TOML table or of a job's record. Raises `WrongUse` naming what is wrong."""
    known = Schedule().__dataclass_fields__
    for name, value in table.items():
        if name not in known:
            raise WrongUse(
                f"The table [budgets] sets {name!r}, which is no kind of step.",
                f"It takes: {', '.join(known)}.",
            )
        fits = (
            value in ("refuse", "nearest")
            if name == "missing"
            else isinstance(value, list | tuple) and all(tier in TIERS for tier in value)
            if name == "repair"
            else value in TIERS
        )
        if not fits:
            raise WrongUse(
                f"The table [budgets] sets {name} to {value!r}.",
                f"A budget is one of {', '.join(TIERS)}; repair is a list of them; missing is "
                "`refuse` or `nearest`.",
            )
    values = {k: tuple(v) if isinstance(v, list) else v for k, v in table.items()}
    return Schedule(**cast(Any, values))
