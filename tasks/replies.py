"""What a model answered, in one shape for every protocol.

The message as received stays a plain dict under ``message``; the rest is read off it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from deskwork.tasks.encoding import dumps, loads

_THINKING_ITEMS = ("thinking", "redacted_thinking", "reasoning")
_KIMI_ID = re.compile(r"functions\.\w+:\d+")
Finish = Literal["answer", "calls", "length", "refused", "paused"]
"""Why a reply ended. ``length``: cut by the output limit, its calls must not be run."""


@dataclass(frozen=True)
class ToolCall:
    """A call as the model wrote it. ``arguments`` is the raw text, perhaps no valid JSON."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Usage:
    """Tokens of one reply; None where the server did not say.

    ``cache_read`` and ``cache_write`` are parts of ``input``, ``reasoning`` is part of ``output``.
    """

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None

    def as_json(self) -> dict[str, int]:
        """The known numbers only."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class Reply:
    """One complete reply. ``raw_finish`` is the server's own word for its end."""

    message: dict[str, Any]
    text: str
    calls: tuple[ToolCall, ...]
    finish: Finish
    raw_finish: str
    usage: Usage | None = None
    model: str = ""
    response_id: str = ""
    thinking: str = field(default="", repr=False)
    refusal: str = ""

    @property
    def thinks(self) -> bool:
        """True when the message bears thinking, be it readable, signed or encrypted."""
        if self.thinking or self.message.get("reasoning_details"):
            return True
        if any(call.get("extra_content") for call in self.message.get("tool_calls") or ()):
            return True  # Gemini signs its thoughts on the calls
        content = self.message.get("content")
        items = [*(content if isinstance(content, list) else ()), *self.message.get("output", ())]
        return any(item.get("type") in _THINKING_ITEMS for item in items)


def told(value: Any) -> str:
    """Text that a server gave, or nothing. Raises `TypeError` for what is neither.

    A reply goes back as it came: a number in a text's place would be refused ever after.
    """
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} stands where text is due")
    return value


def valid_object(arguments: Any) -> str:
    """A call's arguments as a JSON object's text: as it came where it is one, else ``{}``.

    SGLang and llama.cpp refuse a history in which they are anything else.
    """
    if isinstance(arguments, dict):
        return dumps(arguments).decode()
    try:
        value = loads(arguments or "{}")
    except (ValueError, TypeError):
        return "{}"
    return (arguments or "{}") if isinstance(value, dict) else "{}"


def inner_object(arguments: str) -> str | None:
    """The text of the object in arguments that were encoded twice; None for any others."""
    try:
        inner = loads(arguments)
        return inner if isinstance(inner, str) and isinstance(loads(inner), dict) else None
    except ValueError:
        return None


def is_kimi_id(call_id: str) -> bool:
    """True for Kimi's own ids, which repeat across turns and must never be renamed."""
    return bool(_KIMI_ID.fullmatch(call_id))


def suffixed(call_id: str, is_taken: Callable[[str], bool]) -> str:
    """A repeated id with the first suffix that is free: ``_d1``, ``_d2`` and so on."""
    candidates = (f"{call_id}_d{number}" for number in itertools.count(1))
    return next(candidate for candidate in candidates if not is_taken(candidate))
