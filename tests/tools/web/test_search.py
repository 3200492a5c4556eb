"""Searches in the shapes of their engines; a failed one never looks like one that found nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from deskwork.tools.errors import WebError, WrongUse
from deskwork.tools.web.access import Web
from deskwork.tools.web.ddgs_engine import DdgsEngine, ddgs_engines
from deskwork.tools.web.options import WebOptions
from deskwork.tools.web.search import Engine, Result
from deskwork.tools.web.search_engines import Brave, Searxng, Tavily, open_engine
from tests.tools.web.server import Reply, site

JSON = {"Content-Type": "application/json"}
ROWS = [
    {
        "title": "<strong>Net</strong> sales",
        "url": "https://a.example/1",
        "description": "Rose <strong>8%</strong>",
        "content": "Rose 8%",
    },
    {"title": "Again", "url": "https://a.example/1/", "description": "", "content": ""},
    {"title": "Other", "url": "https://b.example/", "description": "x", "content": "x"},
    {"title": "No page", "url": "javascript:alert(1)", "description": "", "content": ""},
]
ANSWERS = {
    "searxng": {"query": "q", "results": ROWS, "unresponsive_engines": [["brave", "timeout"]]},
    "brave": {"type": "search", "web": {"type": "search", "results": ROWS}},
    "tavily": {"query": "q", "answer": None, "results": ROWS, "response_time": 0.5},
}
Make = Callable[[str], Engine]
MAKES: dict[str, tuple[str, Make]] = {
    "searxng": ("/search", lambda url: Searxng(url)),
    "brave": ("/res/v1/web/search", lambda url: Brave("key-b", url)),
    "tavily": ("/search", lambda url: Tavily("key-t", url)),
}


def body(value: Any, status: int = 200, **headers: str) -> Reply:
    return Reply(json.dumps(value).encode(), status, {**JSON, **headers})


@pytest.mark.parametrize("name", MAKES)
async def test_results_have_one_shape(name: str, tmp_path: Path) -> None:
    path, make = MAKES[name]
    with site({path: body(ANSWERS[name])}) as running:
        web = Web(WebOptions(per_second=1000), tmp_path, engine=make(running.url("")))
        results = await web.search("q", 8)
        assert results == [
            Result("Net sales", "https://a.example/1", "Rose 8%", name, 1),
            Result("Other", "https://b.example/", "x", name, 2),
        ]
        assert await web.search("q", 8) == results
        assert await web.search("q", 1) == results[:1]
    assert len(running.asked) == 2
    headers = running.asked[0][1]
    assert headers["User-Agent"].startswith("Deskwork/")
    assert headers.get("X-Subscription-Token") == ("key-b" if name == "brave" else None)
    assert headers.get("Authorization") == ("Bearer key-t" if name == "tavily" else None)


FAILURES = [
    ("searxng", body({}, 429), "throttled"),
    ("searxng", Reply(b"Forbidden", 403), "forbidden"),
    ("searxng", body({"results": [], "unresponsive_engines": []}), "nothing found"),
    (
        "searxng",
        body({"results": [], "unresponsive_engines": [["brave", "Suspended: too many requests"]]}),
        "throttled",
    ),
    ("searxng", body({"results": [], "unresponsive_engines": [["a", "timeout"]]}), "search failed"),
    ("searxng", Reply(b"<html>Welcome</html>"), "search failed"),
    ("searxng", Reply(b"", 500), "search failed"),
    (
        "brave",
        body(
            {
                "type": "ErrorResponse",
                "error": {"status": 429, "code": "RATE_LIMITED", "detail": "Request rate limit"},
            },
            429,
        ),
        "throttled",
    ),
    (
        "brave",
        body({"error": {"code": "SUBSCRIPTION_TOKEN_INVALID", "detail": "Bad token"}}, 422),
        "login needed",
    ),
    ("brave", body({"type": "search"}), "nothing found"),
    ("tavily", body({"detail": {"error": "Unauthorized: invalid API key."}}, 401), "login needed"),
    ("tavily", body({"detail": {"error": "This request exceeds your plan"}}, 432), "throttled"),
    ("tavily", body({"results": []}), "nothing found"),
]


@pytest.mark.parametrize(("name", "reply", "kind"), FAILURES)
async def test_each_failure_has_its_name(
    name: str, reply: Reply, kind: str, tmp_path: Path
) -> None:
    path, make = MAKES[name]
    with site({path: reply}) as running:
        web = Web(WebOptions(per_second=1000), tmp_path, engine=make(running.url("")))
        with pytest.raises(WebError) as caught:
            await web.search("q", 8)
    assert caught.value.kind == kind
    assert name in str(caught.value)
    assert "key-" not in str(caught.value)


async def test_what_cannot_be_reached() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectTimeout("too slow")

    with pytest.raises(WebError, match="Timed out"):
        await Brave("k", transport=httpx.MockTransport(refuse)).search("q", 1)


def test_an_engine_that_lacks_something_is_wrong_use() -> None:
    for options, lacking in (
        (WebOptions(search="searxng"), "searxng_url"),
        (WebOptions(search="brave"), "DESKWORK_BRAVE_KEY"),
        (WebOptions(search="tavily"), "DESKWORK_TAVILY_KEY"),
    ):
        with pytest.raises(WrongUse, match=lacking):
            open_engine(options)
    assert open_engine(WebOptions()).name == "ddgs"


# ddgs: its own engines, with their network replaced by answers as the services give them.

MOJEEK = """<html><body><ul class="results-standard"><li><h2><a href="https://a.example/1">Net sales
</a></h2><p class="s">Rose 8%</p></li></ul></body></html>"""
DUCKDUCKGO = """<html><body><div class="links_main result__body"><h2><a>Net sales</a></h2>
<a href="https://a.example/1">Rose 8%</a></div></body></html>"""
CHALLENGE = '<html><body><form><div class="anomaly-modal__title">Unfortunately, bots</div></form>'


class Canned:
    """In the place of an engine's HTTP client: one answer, or an error."""

    def __init__(self, inner: Any, status: int, text: str, error: Exception | None) -> None:
        self.client = inner.client
        self._answer = httpx.Response(status, text=text)
        self._error = error

    def request(self, *arguments: Any, **more: Any) -> httpx.Response:
        if self._error:
            raise self._error
        return self._answer


def engines(
    *answers: tuple[str, int, str], error: Exception | None = None
) -> Callable[[], list[Any]]:
    def make() -> list[Any]:
        known = {engine.name: engine for engine in ddgs_engines()}
        for name, status, text in answers:
            known[name].http_client = Canned(known[name].http_client, status, text, error)
        return [known[name] for name, _, _ in answers]

    return make


def test_the_engines_asked_are_there_and_none_is_for_books() -> None:
    names = [engine.name for engine in ddgs_engines()]
    assert {"duckduckgo", "brave", "mojeek"} <= set(names)
    assert "annasarchive" not in names


async def test_ddgs_goes_on_to_the_next_engine() -> None:
    engine = DdgsEngine(engines(("duckduckgo", 202, CHALLENGE), ("mojeek", 200, MOJEEK)))
    assert await engine.search("q", 5) == [
        Result("Net sales", "https://a.example/1", "Rose 8%", "ddgs/mojeek", 1)
    ]
    engine = DdgsEngine(engines(("duckduckgo", 200, DUCKDUCKGO)))
    assert (await engine.search("q", 5))[0].engine == "ddgs/duckduckgo"


EMPTY = "<html><body><p>No results</p></body></html>"


@pytest.mark.parametrize(
    ("answers", "kind"),
    [
        ([("duckduckgo", 202, CHALLENGE)], "throttled"),
        ([("duckduckgo", 200, CHALLENGE)], "throttled"),
        ([("duckduckgo", 202, ""), ("mojeek", 403, ""), ("brave", 429, "")], "throttled"),
        ([("duckduckgo", 202, CHALLENGE), ("mojeek", 200, EMPTY)], "throttled"),
        ([("mojeek", 500, "")], "search failed"),
        ([("mojeek", 200, EMPTY)], "nothing found"),
        (
            [("mojeek", 200, EMPTY), ("duckduckgo", 200, EMPTY), ("brave", 429, "")],
            "nothing found",
        ),
    ],
)
async def test_ddgs_tells_refused_from_empty(answers: Any, kind: str) -> None:
    with pytest.raises(WebError) as caught:
        await DdgsEngine(engines(*answers)).search("q", 5)
    assert caught.value.kind == kind


async def test_the_errors_of_ddgs_have_names() -> None:
    from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException

    for error, kind in (
        (RatelimitException("202"), "throttled"),
        (TimeoutException("operation timed out"), "timed out"),
        (DDGSException("ConnectError: dns error"), "unreachable"),
        (ValueError("odd page"), "search failed"),
    ):
        with pytest.raises(WebError) as caught:
            await DdgsEngine(engines(("mojeek", 200, ""), error=error)).search("q", 5)
        assert caught.value.kind == kind
