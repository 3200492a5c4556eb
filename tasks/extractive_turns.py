"""What a conversation has brought so far, read from its messages: the turns, pages and quotes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

_HIT = re.compile(r"^\[\d+\] (.+) · page (\d+) · score (-?[\d.]+)$", re.M)
_PAGE = re.compile(r"^(.+?) · page (\d+) of \d+(?: · .*)?$")
_CITED = re.compile(r"^(E[0-9a-f]{8}) · (.+) · page (\d+)\n“(.*)”$", re.M)


@dataclass(frozen=True)
class Call:
    """A call with its result."""

    name: str
    arguments: dict[str, Any]
    result: str


Turn = tuple[Call, ...]


@dataclass(frozen=True)
class FoundPage:
    """A page as a search found it."""

    file: str
    number: int
    score: float


@dataclass(frozen=True)
class Quote:
    """A passage that was cited and stands. ``columns`` is the evidence of its table's head."""

    id: str
    file: str
    page: int
    text: str


def turns_of(messages: Iterable[dict[str, Any]]) -> list[Turn]:
    """The replies that made calls, each call with its result; ids count within a reply only."""
    turns: list[Turn] = []
    calls: list[tuple[str, dict[str, Any], str]] = []
    results: dict[str, str] = {}

    def close() -> None:
        if calls:
            turns.append(tuple(Call(name, given, results.get(i, "")) for name, given, i in calls))

    for message in messages:
        if message["role"] == "assistant":
            close()
            calls, results = list(message.get("calls", ())), {}
        elif message["role"] == "tool":
            results[message["call"]] = message["text"]
    close()
    return turns


def pages_found(turns: Sequence[Turn]) -> list[FoundPage]:
    """The pages that the searches found, best first."""
    best: dict[tuple[str, int], float] = {}
    for call in _calls(turns, "search_documents"):
        for file, page, score in _HIT.findall(call.result):
            place = (file, int(page))
            best[place] = max(best.get(place, 0.0), float(score))
    pages = [FoundPage(file, number, score) for (file, number), score in best.items()]
    return sorted(pages, key=lambda page: -page.score)


def pages_read(turns: Sequence[Turn]) -> dict[tuple[str, int], str]:
    """The text of each page that was read."""
    pages = {}
    for call in _calls(turns, "read_document"):
        head, _, text = call.result.partition("\n")
        if match := _PAGE.match(head):
            while text.startswith("Warning: "):
                text = text.partition("\n")[2]
            pages[match.group(1), int(match.group(2))] = text
    return pages


def quotes_cited(turns: Sequence[Turn]) -> list[Quote]:
    """The quotes that were accepted, in the order in which they were made."""
    quotes: dict[str, Quote] = {}
    for call in _calls(turns, "cite"):
        if match := _CITED.search(call.result):
            name, file, page, text = match.groups()
            quotes.setdefault(name, Quote(name, file, int(page), text))
    return list(quotes.values())


def _calls(turns: Sequence[Turn], name: str) -> list[Call]:
    return [call for turn in turns for call in turn if call.name == name]
