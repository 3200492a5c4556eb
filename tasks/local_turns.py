"""What is asked of a local model and what it says, the same for every protocol."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from deskwork.tasks.encoding import dumps


@dataclass(frozen=True)
class Said:
    """What a model says: text, thinking, and calls as (name, arguments) or (name, arguments, id).

    Arguments are a dict, or a string that is sent as it is. ``finish`` overrides the reason.
    ``usage`` may give ``input``, ``output``, ``cache_read`` and ``reasoning``, in tokens.
    """

    text: str = ""
    calls: Sequence[tuple[Any, ...]] = ()
    thinking: str = ""
    finish: str = ""
    usage: dict[str, int] | None = None


@dataclass(frozen=True)
class Asked:
    """A request as plain data, the same for all protocols.

    ``messages`` are dicts with ``role`` (user, assistant, tool), ``text``, ``calls`` (name,
    arguments, id) and, for results, ``call``. ``number`` counts the requests from 1.
    """

    system: str
    messages: list[dict[str, Any]]
    tools: list[str]
    body: dict[str, Any] = field(repr=False)
    number: int = 1

    @property
    def results(self) -> list[str]:
        """The texts of the tool results since the last reply."""
        texts: list[str] = []
        for message in reversed(self.messages):
            if message["role"] == "assistant":
                break
            if message["role"] == "tool":
                texts.append(message["text"])
        return texts[::-1]

    @property
    def replies(self) -> int:
        """How many replies the conversation holds so far."""
        return sum(message["role"] == "assistant" for message in self.messages)


@dataclass(frozen=True)
class Turn:
    """An answer to be written: to request ``number``, of ``size`` bytes, for ``model``."""

    said: Said
    number: int
    size: int
    model: str

    @property
    def calls(self) -> Iterator[tuple[str, str, str]]:
        """(id, name, arguments as text) of each call."""
        for place, call in enumerate(self.said.calls):
            name, arguments = call[0], call[1]
            text = arguments if isinstance(arguments, str) else dumps(arguments).decode()
            yield call[2] if len(call) > 2 else f"call_{self.number}_{place}", name, text

    @property
    def used(self) -> tuple[int, int]:
        """Tokens in and out: a quarter of the bytes, unless the script says otherwise."""
        said, usage = self.said, self.said.usage or {}
        spoken = len(said.text) + len(said.thinking) + len(str(said.calls) if said.calls else "")
        return usage.get("input", self.size // 4), usage.get("output", max(1, spoken // 4))

    def part(self, name: str) -> int:
        """Tokens of a part of the usage, ``cache_read`` or ``reasoning``; zero if unsaid."""
        return (self.said.usage or {}).get(name, 0)


def text_of(content: Any, kinds: tuple[str, ...] = ("text",)) -> str:
    """The text in a message's content: a string, or a list of parts of these kinds."""
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if part.get("type") in kinds)
    return content or ""
