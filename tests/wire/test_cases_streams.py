"""The wire cases on streams, their ends and breaks, on characters, and on usage."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from deskwork.tasks.endpoint import Endpoint
from deskwork.tasks.local_server import Exchange, serve
from deskwork.tasks.model_errors import BrokenStream
from deskwork.tasks.outcomes import usage_of
from deskwork.tasks.profiles import builtin, find_profile
from deskwork.tasks.progress import Progress, watcher
from deskwork.tasks.protocol import open_codec
from deskwork.tasks.replies import Reply, Usage
from deskwork.tasks.retries import RetryPolicy
from deskwork.tools.tool import ToolResult
from tests.jobs import answer, opened
from tests.wire.conformance import case, named, ran, staged

BODY = b'{"messages":[]}'


async def reply_to(url: str, profile: str = "openai", **options: Any) -> Reply:
    endpoint = Endpoint(
        url,
        open_codec(find_profile(profile, "chat" if profile == "openai" else None, None)),
        **options,
    )
    try:
        return await endpoint.ask([BODY])
    finally:
        await endpoint.close()


async def reply_of(given_case: dict[str, Any], profile: str = "openai") -> Reply:
    """The reply in a case's response; one attempt, so that nothing else can answer."""
    with staged(given_case["given"]["response"]) as (url, _):
        return await reply_to(url, profile, retries=RetryPolicy(quick_tries=1))


def called(reply: Reply) -> list[list[Any]]:
    return [[call.id, call.name, json.loads(call.arguments)] for call in reply.calls]


@case("stream-comments-keepalive", "stream-obfuscation", "stream-utf8-split")
async def test_the_text_of_a_stream(given_case: dict[str, Any]) -> None:
    reply = await reply_of(given_case)
    assert reply.text == given_case["expect"]["parsed"]["text"]
    # Nothing but the text is kept: no unknown key of a chunk becomes a field of the message.
    assert reply.message == {"content": reply.text}


@case("stream-done-missing-but-finish")
async def test_a_finish_reason_makes_a_reply_complete(given_case: dict[str, Any]) -> None:
    # A stream that ends in order, and one whose connection is cut after the finish reason.
    events = given_case["given"]["response"]["sse"]
    whole = {**given_case["given"]["response"], "sse": events[:-1]}
    with staged(whole) as (url, stage):
        reply = await reply_to(url, retries=RetryPolicy(quick_tries=1))
    assert (reply.text, reply.finish) == ("ok", "answer")
    assert len(stage.bodies) == 1
    reply = await reply_of(given_case)
    assert (reply.text, reply.finish) == ("ok", "answer")


@case("stream-index-all-zero", "stream-index-missing")
async def test_calls_are_told_apart(given_case: dict[str, Any], tmp_path: Path) -> None:
    reply = await reply_of(given_case)
    assert called(reply) == given_case["expect"]["parsed"]["calls"]
    tools = [named("f"), named("g")]
    with staged(given_case["given"]["response"]) as (url, stage):
        async with opened(tmp_path, None, url=url, tools=tools) as session:
            assert await answer(session) == "Done."
    assert len(ran(tools[0]) + ran(tools[1])) == 2
    sent = stage.requests[1]["messages"][2]["tool_calls"]
    assert [
        [call["id"], call["function"]["name"], json.loads(call["function"]["arguments"])]
        for call in sent
    ] == given_case["expect"]["parsed"]["calls"]
    assert [m["tool_call_id"] for m in stage.requests[1]["messages"][3:]] == ["a", "b"]


@case("stream-whole-call-one-chunk")
async def test_a_whole_call_in_one_chunk(given_case: dict[str, Any]) -> None:
    reply = await reply_of(given_case)
    assert called(reply) == given_case["expect"]["parsed"]["calls"]
    assert (reply.raw_finish, reply.finish) == ("tool_calls", "calls")


@case("stream-stream-options-nonstream")
async def test_stream_options_only_where_a_stream_is_asked_for(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    # Every request streams: there is no setting for another kind.
    (name,) = given_case["expect"]["next_request"]["absent"]
    for kind in builtin():
        profile = find_profile(kind, "chat" if kind == "openai" else None, None)
        with staged() as (url, stage):
            async with opened(tmp_path / profile.name, None, url=url, profile=profile) as session:
                assert await answer(session) == "Done."
        (request,) = stage.requests
        assert request["stream"] is True
        assert (name in request) == (profile.protocol == "chat")


@case("err-idle-timeout")
async def test_silence_ends_an_attempt_and_life_signs_do_not(given_case: dict[str, Any]) -> None:
    assert given_case["expect"]["parsed"] == {"status": "idle_timeout", "retryable": True}
    over = threading.Event()
    asked: list[float] = []

    def respond(path: str, body: bytes, exchange: Exchange) -> None:
        asked.append(time.monotonic())
        exchange.start(200, "text/event-stream")
        exchange.chunk(b'data: {"choices":[{"index":0,"delta":{"content":"half"}}]}\n\n')
        if len(asked) == 1:
            over.wait(20)
            return
        # Longer in all than the idle limit; a comment or a ping every now and then.
        for number in range(12):
            exchange.chunk(b": ping\n\n" if number % 2 else b'data: {"choices":[]}\n\n')
            over.wait(0.1)
        exchange.chunk(
            b'data: {"choices":[{"index":0,"delta":{"content":" done"},'
            b'"finish_reason":"stop"}]}\n\n'
        )
        exchange.chunk(b"")

    with serve(respond) as url:
        once = RetryPolicy(quick_tries=1)
        with pytest.raises(BrokenStream, match="silent for"):
            await reply_to(url, retries=once, idle_seconds=0.6)
        reply = await reply_to(url, retries=once, idle_seconds=0.6)
        over.set()
    assert reply.text == "half done"
    assert len(asked) == 2


@case("stream-reset-mid")
async def test_a_reset_throws_the_partial_away(given_case: dict[str, Any], tmp_path: Path) -> None:
    told: list[Progress] = []
    watcher.set(told.append)
    given = given_case["given"]
    with staged(given["response"], given["then"]) as (url, stage):
        async with opened(tmp_path, None, url=url) as session:
            assert await answer(session) == "Hello world"
            usage = usage_of(session.writer.journal, ["job"])
    assert stage.bodies[0] == stage.bodies[1]
    assert len(stage.bodies) == given_case["expect"]["parsed"]["attempts"]
    # Whoever watches is told that the first attempt came to nothing.
    (trouble,) = [event for event in told if event.kind == "trouble"]
    assert "broke" in trouble.text
    # Neither attempt said what it used.
    assert usage["unknown"] == 2


@case("unicode-lone-surrogate")
async def test_lone_surrogates_never_reach_a_server(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    assert "lone surrogate" in given_case["given"]["tool_result"]
    name = b"scan\x80.pdf".decode("utf-8", "surrogateescape")
    cut = "pair \U0001f600".encode("utf-16-le")[:-2].decode("utf-16-le", "surrogatepass")
    tool = named("f", ToolResult(text=f"{name} {cut}"))
    call = {"id": "a", "function": {"name": "f", "arguments": "{}"}}
    calls = {
        "status": 200,
        "headers": {"content-type": "application/json"},
        "body": {"choices": [{"message": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]},
    }
    with staged(calls, calls) as (url, stage):
        async with opened(tmp_path, None, url=url, tools=[tool]) as session:
            assert await answer(session, f"Read {name}\0") == "Done."
    result = stage.requests[1]["messages"][3]["content"]
    assert result == "scan\ufffd.pdf pair \ufffd"
    for body in stage.bodies:
        assert b"\\ud" not in body.lower()
        body.decode("utf-8")
    # A NUL, which no database takes, goes the same way.
    assert "Read scan\ufffd.pdf\ufffd" in stage.bodies[0].decode()
    # Request n stands in request n+1.
    head = stage.bodies[1].rpartition(b"]")[0]
    assert stage.bodies[2].startswith(head)


async def test_a_lone_surrogate_in_a_long_result_is_stored(tmp_path: Path) -> None:
    tool = named("f", ToolResult(text="x" * 50_000 + "\udc80"))
    call = {"id": "a", "function": {"name": "f", "arguments": "{}"}}
    calls = {
        "status": 200,
        "headers": {"content-type": "application/json"},
        "body": {"choices": [{"message": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]},
    }
    with staged(calls) as (url, _):
        async with opened(tmp_path, None, url=url, tools=[tool]) as session:
            assert await answer(session) == "Done."
            ((_, meta),) = session.writer.journal.results("job")
            assert session.blobs.get(meta["spilled"]).decode() == "x" * 50_000 + "\ufffd"


@case("usage-deepseek", "usage-openai-details", "usage-sglang-toplevel")
async def test_usage_in_every_spelling(given_case: dict[str, Any], tmp_path: Path) -> None:
    profile = given_case["protocol"].removesuffix("-chat")
    expected = given_case["expect"]["parsed"]
    reply = await reply_of(given_case, profile)
    assert reply.usage == Usage(**expected)
    with staged(given_case["given"]["response"]) as (url, _):
        spoken = find_profile(profile, "chat" if profile == "openai" else None, None)
        async with opened(tmp_path, None, url=url, profile=spoken) as session:
            assert await answer(session) == "x"
            total = usage_of(session.writer.journal, ["job"])
    # Parts are not added to the totals, and what is unknown is not zero.
    known = {name: count for name, count in expected.items() if count is not None}
    assert {name: total.get(name) for name in expected} == {
        name: known.get(name) for name in expected
    }
    assert "unknown" not in total


@case("usage-missing")
async def test_usage_that_is_missing_is_unknown(given_case: dict[str, Any], tmp_path: Path) -> None:
    reply = await reply_of(given_case)
    assert reply.usage is given_case["expect"]["parsed"]["usage"]
    with staged(given_case["given"]["response"]) as (url, _):
        async with opened(tmp_path, None, url=url) as session:
            assert await answer(session) == "hi"
            total = usage_of(session.writer.journal, ["job"])
            ((_, meta),) = session.writer.journal.replies("job")
    assert "usage" not in meta
    assert total["unknown"] == 1
