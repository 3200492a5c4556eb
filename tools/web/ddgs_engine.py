"""Searching without a key, by ddgs: it reads the result pages of several engines.

`DDGS.text` says "No results found." for an engine that throttles as well as for one that found
nothing: answers other than 200 are dropped inside. So its engines are asked here one by one, with
each answer's status looked at, until one has results.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from deskwork.tools.errors import WebError
from deskwork.tools.web.search import Result, nothing_found

ORDER = ("duckduckgo", "brave", "mojeek", "yahoo", "startpage")
"""The engines by name. No backend for books: it leads to pirated copies."""
SECONDS = 10
_SNIPPET = 600
_ENOUGH = 2  # engines that find nothing before that is believed though others failed
_CHALLENGE = ("anomaly-modal", "anomaly.js", "captcha", "unusual traffic", "are you a robot")


def ddgs_engines() -> list[Any]:
    """The engines of ddgs that are in order, made anew: none keeps a cookie."""
    from ddgs.engines import ENGINES

    known = ENGINES["text"]
    return [known[name](timeout=SECONDS) for name in ORDER if name in known]


class DdgsEngine:
    """ddgs, as one engine. ``engines`` makes those to ask; each has ddgs's own interface."""

    name = "ddgs"
    host = "ddgs"

    def __init__(self, engines: Callable[[], Sequence[Any]] = ddgs_engines) -> None:
        self._engines = engines

    async def search(self, query: str, top: int) -> list[Result]:
        """The results of the first engine that has any.

        Raises `WebError`: "nothing found" where every engine answered and has none, or two of
        them at least; else how they failed, "throttled" before all other failures.
        """
        return await asyncio.to_thread(self._search, query, top)

    def _search(self, query: str, top: int) -> list[Result]:
        failed: list[tuple[str, str]] = []
        empty: list[str] = []
        for engine in self._engines():
            found, failure = _ask(engine, query)
            if found:
                return [
                    Result(row.title, row.href, row.body[:_SNIPPET], f"ddgs/{engine.name}", rank)
                    for rank, row in enumerate(found[:top], 1)
                ]
            if failure:
                failed.append(failure)
            else:
                empty.append(engine.name)
        told = "; ".join(why for _, why in failed)
        if failed and len(empty) < _ENOUGH:
            told += "".join(f"; {name} has none" for name in empty)
            kinds = [kind for kind, _ in failed]
            kind = "throttled" if "throttled" in kinds else kinds[0]
            raise WebError(
                kind,
                f"ddgs got no results: {told}.",
                "This says nothing of whether there are any. Try again later; a person can set "
                "another `search` in the table [web] of deskwork.toml.",
            )
        raise nothing_found(self.name, query, f" ({told})" if told else "")


def _ask(engine: Any, query: str) -> tuple[list[Any], tuple[str, str] | None]:
    """The engine's results, or its failure as a kind and a sentence."""
    from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException

    seen = _Seen(engine.http_client)
    engine.http_client = seen
    name = engine.name
    try:
        found = engine.search(query, region="us-en", safesearch="moderate")
    except RatelimitException as error:
        return [], ("throttled", f"{name} throttles ({error})")
    except TimeoutException:
        return [], ("timed out", f"{name} did not answer within {SECONDS} seconds")
    except DDGSException as error:
        if "timed out" in str(error).lower():
            return [], ("timed out", f"{name} did not answer within {SECONDS} seconds")
        return [], ("unreachable", f"{name} can't be reached ({str(error)[:120]})")
    except Exception as error:  # noqa: BLE001 - what an engine can't read of a page is its failure
        return [], ("search failed", f"{name} failed ({type(error).__name__})")
    rows = [row for row in found or () if getattr(row, "href", "") and getattr(row, "title", "")]
    if rows:
        return rows, None
    # 202 is DuckDuckGo's answer with a challenge in it; 403 and 429 are the others'.
    if seen.status in (202, 403, 418, 429, 503) or any(mark in seen.text for mark in _CHALLENGE):
        return [], ("throttled", f"{name} throttles (HTTP {seen.status})")
    if seen.status and seen.status != 200:
        return [], ("search failed", f"{name} answered HTTP {seen.status}")
    return [], None


class _Seen:
    """Stands before an engine's HTTP client and keeps what the last answer was."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.client = client.client
        self.status = 0
        self.text = ""

    def request(self, *arguments: Any, **more: Any) -> Any:
        """The client's own request."""
        answer = self._client.request(*arguments, **more)
        self.status, self.text = answer.status_code, str(answer.text)[:200_000].lower()
        return answer
