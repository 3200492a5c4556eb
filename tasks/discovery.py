"""What an endpoint says of its model when asked: the window, the output limit, the budgets.

Asked when a job starts, until it has said something, which is recorded with the job. A server
that doesn't answer, or says nothing of the kind, leaves all of it unknown; a person's table
``[models]`` stands over what a server says.

Where it stands: Anthropic ``/models/{id}`` (``max_input_tokens``, ``max_tokens``,
``capabilities``); vLLM and SGLang ``/models`` (``max_model_len``); OpenRouter ``/models``
(``context_length``); llama.cpp ``/props`` (``n_ctx``). Read in November 2026.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from deskwork.tasks.endpoint import Endpoint
from deskwork.tasks.profiles import TIERS
from deskwork.tasks.settings import ModelLimits

_WINDOWS = ("max_input_tokens", "max_model_len", "context_length", "context_window")
_OUTPUTS = ("max_tokens", "max_completion_tokens", "max_output_tokens")


async def discover(endpoint: Endpoint, model: str) -> ModelLimits:
    """What the endpoint says of a model; nothing is known where it says nothing."""
    found = await endpoint.look(f"/models/{quote(model, safe='')}")
    if not _says(found):
        listed = await endpoint.look("/models")
        rows = listed.get("data") if isinstance(listed.get("data"), list) else []
        found = next((r for r in rows or [] if isinstance(r, dict) and r.get("id") == model), {})
    window = _number(found, _WINDOWS)
    if window is None and endpoint.codec.profile.name == "llamacpp":
        props = await endpoint.look("/props", from_root=True)
        settings = props.get("default_generation_settings")
        window = _number(settings if isinstance(settings, dict) else {}, ("n_ctx",))
    most = _number(found, _OUTPUTS)
    return ModelLimits(
        context_window=window,
        max_output=most if endpoint.codec.profile.max_output else None,
        budget=_budget(found.get("capabilities")),
    )


def _says(found: Mapping[str, Any]) -> bool:
    return _number(found, _WINDOWS) is not None or isinstance(found.get("capabilities"), dict)


def _number(row: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    values = (row.get(name) for name in names)
    return next((value for value in values if type(value) is int and value > 0), None)


def _budget(capabilities: Any) -> dict[str, dict[str, Any]] | None:
    """The budgets of an Anthropic model by its own word; None where it says nothing of thinking."""
    try:
        kinds = capabilities["thinking"]["types"]
        effort = capabilities["effort"]
        adaptive, manual = kinds["adaptive"]["supported"], kinds["enabled"]["supported"]
        levels = [t for t in TIERS if effort["supported"] and effort[t]["supported"]]
    except (KeyError, TypeError):
        return None
    if adaptive:
        thinking = {"type": "adaptive", "display": "summarized"}
        return {tier: {"thinking": thinking, "output_config": {"effort": tier}} for tier in levels}
    if manual:
        sizes = {"low": 2048, "high": 16_384, "max": 32_768}
        return {t: {"thinking": {"type": "enabled", "budget_tokens": n}} for t, n in sizes.items()}
    return {}
