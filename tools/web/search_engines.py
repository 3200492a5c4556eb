"""Engines with an interface of their own, over HTTP: SearXNG, Brave and Tavily.

Shapes as their own documentation gives them, November 2026: searxng ``/search?format=json``
(``results[]``, ``unresponsive_engines[[name, reason]]``; the JSON format is off by default: 403),
Brave ``/res/v1/web/search`` (``web.results[]``; errors ``{error: {code, detail}}``), Tavily
``/search`` (``results[]``; errors ``{detail: {error}}``; 432 and 433 are the plan's limits).
"""

from __future__ import annotations

import json
import re
from typing import Any

import httpx

from deskwork.tools.errors import WebError, WrongUse
from deskwork.tools.web.client import user_agent
from deskwork.tools.web.ddgs_engine import DdgsEngine
from deskwork.tools.web.options import SEARCHES, WebOptions
from deskwork.tools.web.search import Engine, Result, nothing_found

SECONDS = 20.0
_MAX_BYTES = 5_000_000


def open_engine(options: WebOptions) -> Engine:
    """The engine of the settings. Raises `WrongUse` for one that lacks its address or key."""
    if options.search == "ddgs":
        return DdgsEngine()
    if options.search == "searxng":
        if not options.searxng_url:
            raise _lacking("SearXNG", "searxng_url", "the address of an instance")
        return Searxng(options.searxng_url, contact=options.contact)
    if options.search == "brave":
        if not options.brave_key:
            raise _lacking("Brave", "DESKWORK_BRAVE_KEY or brave_key_file", "a key")
        return Brave(options.brave_key)
    if options.search == "tavily":
        if not options.tavily_key:
            raise _lacking("Tavily", "DESKWORK_TAVILY_KEY or tavily_key_file", "a key")
        return Tavily(options.tavily_key)
    raise WrongUse(f"There is no search {options.search!r}.", f"Take one of {', '.join(SEARCHES)}.")


def _lacking(engine: str, setting: str, what: str) -> WrongUse:
    return WrongUse(
        f"{engine} can't be searched: {what} is missing.",
        f"Set {setting}, or take another `search` in the table [web] of deskwork.toml.",
    )


class _Http:
    """What the three share: one request, its failures named, its results in one shape.

    The address is a person's setting, so that it isn't held to the rules for pages.
    """

    name = ""

    def __init__(
        self,
        url: str,
        *,
        contact: str = "",
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._url = url.rstrip("/")
        self.host = httpx.URL(url).netloc.decode("ascii", "replace")
        self._agent = user_agent(contact)
        self._transport = transport

    async def _ask(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        headers = {"User-Agent": self._agent, "Accept": "application/json"}
        headers |= request.pop("headers", {})
        try:
            async with httpx.AsyncClient(
                transport=self._transport, trust_env=False, timeout=SECONDS
            ) as client:
                answer = await client.request(method, self._url + path, headers=headers, **request)
        except httpx.TimeoutException:
            raise WebError(
                "timed out", f"{self.name} did not answer within {SECONDS:g} seconds.", _LATER
            ) from None
        except httpx.HTTPError as error:
            told = " ".join(str(error).split())[:200] or type(error).__name__
            raise WebError("unreachable", f"{self.name} at {self.host}: {told}.", _LATER) from None
        self._check(answer)
        try:
            value = json.loads(answer.content[:_MAX_BYTES])
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise WebError("search failed", f"{self.name} answered with no JSON object.", _LATER)
        return value

    def _check(self, answer: httpx.Response) -> None:
        status = answer.status_code
        if status < 300:
            return
        told = f"{self.name} answered HTTP {status}{_told(answer)}"
        if status in (429, 432, 433) or (status == 503 and "retry-after" in answer.headers):
            wait = answer.headers.get("retry-after", "")
            after = float(wait) if wait.isdigit() else None
            raise WebError("throttled", f"{told}.", _LATER, retry_after=after)
        if status in (401, 403, 422) and self.name != "searxng":
            raise WebError("login needed", f"{told}.", "Check the key; a person can set another.")
        if status == 403:
            raise WebError(
                "forbidden",
                f"{told}: its JSON format is off.",
                "The instance's settings.yml must list `json` under `search: formats:`.",
            )
        raise WebError("search failed", f"{told}.", _LATER)

    def _results(self, rows: Any, snippet: str) -> list[Result]:
        return [
            Result(
                _text(row.get("title")),
                str(row["url"]),
                _text(row.get(snippet))[:600],
                self.name,
                rank,
            )
            for rank, row in enumerate(rows if isinstance(rows, list) else [], 1)
            if isinstance(row, dict) and row.get("url")
        ]


_LATER = "Try again later, or go on with other sources."


class Searxng(_Http):
    """An instance of SearXNG, which asks many engines and says which did not answer."""

    name = "searxng"

    async def search(self, query: str, top: int) -> list[Result]:
        """The results; with none, "throttled" when its engines refused, else "nothing found"."""
        answer = await self._ask("GET", "/search", params={"q": query, "format": "json"})
        results = self._results(answer.get("results"), "content")
        if results:
            return results[:top]
        silent = [
            ": ".join(str(part) for part in row) if isinstance(row, list) else str(row)
            for row in answer.get("unresponsive_engines") or ()
        ]
        told = "; ".join(silent)
        if re.search(r"too many requests|captcha|suspended|access denied", told, re.I):
            raise WebError("throttled", f"The engines behind searxng refuse: {told}.", _LATER)
        if silent:
            raise WebError("search failed", f"The engines behind searxng fail: {told}.", _LATER)
        raise nothing_found(self.name, query)


class _Keyed(_Http):
    """An engine that is asked with a key."""

    base: str

    def __init__(
        self, key: str, url: str | None = None, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        super().__init__(url or self.base, transport=transport)
        self._key = key


class Brave(_Keyed):
    """Brave's search, by key."""

    name = "brave"
    base = "https://api.search.brave.com"

    async def search(self, query: str, top: int) -> list[Result]:
        """The results of its web index."""
        answer = await self._ask(
            "GET",
            "/res/v1/web/search",
            params={"q": query, "count": min(top, 20)},
            headers={"X-Subscription-Token": self._key},
        )
        web = answer.get("web")
        results = self._results(web.get("results") if isinstance(web, dict) else [], "description")
        if not results:
            raise nothing_found(self.name, query)
        return results


class Tavily(_Keyed):
    """Tavily's search, by key."""

    name = "tavily"
    base = "https://api.tavily.com"

    async def search(self, query: str, top: int) -> list[Result]:
        """The results, without the answer that it would write itself."""
        answer = await self._ask(
            "POST",
            "/search",
            json={"query": query, "max_results": min(top, 20)},
            headers={"Authorization": f"Bearer {self._key}"},
        )
        results = self._results(answer.get("results"), "content")
        if not results:
            raise nothing_found(self.name, query)
        return results


def _told(answer: httpx.Response) -> str:
    """What an error body says of itself, in any of the three forms."""
    try:
        value: Any = json.loads(answer.content[:20_000])
    except ValueError:
        return ""
    for key in ("error", "detail", "message", "code"):
        while isinstance(value, dict) and key in value:
            value = value[key]
    return f": {_text(value)[:200]}" if isinstance(value, str) else ""


def _text(value: Any) -> str:
    """Plain text: engines mark the words that were looked for."""
    return " ".join(re.sub(r"</?(?:strong|b|em)>", "", str(value or "")).split())
