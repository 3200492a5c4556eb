"""One profile per kind of server: where thinking lives, how the budget maps, which ids.

A profile is data; the protocols read it. Sources: the servers' own code and vendors' pages, read
in November 2026. A later table adds the remaining kinds; every field has its default here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from deskwork.tools.errors import WrongUse

Tier = Literal["low", "high", "max"]
TIERS: tuple[Tier, ...] = ("low", "high", "max")


def _effort(name: str) -> dict[Tier, dict[str, Any]]:
    return {tier: {name: tier} for tier in TIERS}


@dataclass(frozen=True)
class Profile:
    """How one kind of server wants to be spoken to.

    ``reasoning_fields``: the names under which thinking is sent back (empty: the server refuses
    it). ``reasoning_required``: messages with calls carry the field even when it is empty.
    ``ids``: ``verbatim`` replays call ids as they came, ``unique`` gives a repeat a suffix.
    ``budget``: the body fields of each tier. ``output_field`` names the output limit;
    ``max_output`` is sent always when set. ``versions`` are extra headers.
    """

    name: str
    protocol: Literal["chat", "messages", "responses"]
    budget: dict[Tier, dict[str, Any]]
    reasoning_fields: tuple[str, ...] = ()
    reasoning_required: bool = False
    omit_empty_content: bool = False
    ids: Literal["verbatim", "unique"] = "verbatim"
    output_field: str = "max_tokens"
    max_output: int | None = None
    cache_marks: bool = False
    headers: dict[str, str] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()
    context_window: int | None = None


_ANTHROPIC_BUDGET: dict[Tier, dict[str, Any]] = {
    tier: {
        "thinking": {"type": "adaptive", "display": "summarized"},
        "output_config": {"effort": tier},
    }
    for tier in TIERS
}

PROFILES: dict[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile(
            "gateway",
            "chat",
            budget=_effort("thinking_budget"),
            reasoning_fields=("reasoning_content",),
        ),
        Profile(
            "openai",
            "chat",
            budget=_effort("reasoning_effort"),
            output_field="max_completion_tokens",
            hosts=("api.openai.com",),
        ),
        Profile(
            "anthropic",
            "messages",
            budget=_ANTHROPIC_BUDGET,
            ids="unique",
            max_output=64_000,
            cache_marks=True,
            headers={"anthropic-version": "2023-06-01"},
            hosts=("api.anthropic.com",),
        ),
        Profile(
            "moonshot",
            "chat",
            budget=_effort("reasoning_effort"),
            reasoning_fields=("reasoning_content",),
            reasoning_required=True,
            omit_empty_content=True,
            output_field="max_completion_tokens",
            hosts=("api.moonshot.ai", "api.moonshot.cn"),
        ),
        Profile(
            "deepseek",
            "chat",
            budget={
                tier: {"thinking": {"type": "enabled"}, "reasoning_effort": tier} for tier in TIERS
            },
            reasoning_fields=("reasoning_content",),
            reasoning_required=True,
            ids="unique",
            hosts=("api.deepseek.com",),
        ),
        Profile(
            "vllm",
            "chat",
            budget=_effort("reasoning_effort"),
            # 0.16 and newer read `reasoning`, older ones `reasoning_content`.
            reasoning_fields=("reasoning", "reasoning_content"),
            output_field="max_completion_tokens",
        ),
        Profile(
            "sglang",
            "chat",
            budget=_effort("reasoning_effort"),
            reasoning_fields=("reasoning_content",),
            output_field="max_completion_tokens",
        ),
        Profile(
            "llamacpp",
            "chat",
            budget={
                "low": {"reasoning_effort": "low", "reasoning_budget_tokens": 2048},
                "high": {"reasoning_effort": "high", "reasoning_budget_tokens": 16384},
                "max": {"reasoning_effort": "max", "reasoning_budget_tokens": -1},
            },
            reasoning_fields=("reasoning_content",),
        ),
        Profile(
            "openrouter",
            "chat",
            budget={tier: {"reasoning": {"effort": tier}} for tier in TIERS},
            reasoning_fields=("reasoning",),
            hosts=("openrouter.ai",),
        ),
    )
}


def find_profile(name: str | None, protocol: str | None, url: str | None) -> Profile:
    """The profile by name, else by the endpoint's host, else `gateway`.

    ``protocol`` overrides the profile's own, so that a gateway can speak any.
    """
    host = urlsplit(url or "").hostname or ""
    if name is None:
        name = next(
            (profile.name for profile in PROFILES.values() if host in profile.hosts), "gateway"
        )
    if name not in PROFILES:
        raise WrongUse(
            f"There is no profile {name!r}.",
            f"Set DESKWORK_PROFILE to one of: {', '.join(sorted(PROFILES))}.",
        )
    profile = PROFILES[name]
    if protocol is None or protocol == profile.protocol:
        return profile
    if protocol not in ("chat", "messages", "responses"):
        raise WrongUse(
            f"There is no protocol {protocol!r}.",
            "Set DESKWORK_PROTOCOL to `chat`, `messages` or `responses`.",
        )
    return _spoken(profile, protocol)


def _spoken(profile: Profile, protocol: str) -> Profile:
    from dataclasses import replace

    if protocol == "messages":
        anthropic = PROFILES["anthropic"]
        return replace(
            profile,
            protocol="messages",
            ids="unique",
            max_output=anthropic.max_output,
            headers=anthropic.headers,
        )
    if protocol == "responses":
        return replace(profile, protocol="responses", ids="unique", headers={}, max_output=None)
    return replace(profile, protocol="chat", headers={}, max_output=None)
