"""The wire cases on content: empty parts, unknown blocks, results together, streams of blocks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deskwork.tasks.limits import Limits
from deskwork.tasks.model_errors import BrokenStream, Rejected
from deskwork.tasks.profiles import find_profile
from deskwork.tasks.states import OutOfBudget
from tests.jobs import answer, opened
from tests.wire.asking import asked
from tests.wire.conformance import blocks, case, entries, named, ran, staged, unmarked

ANTHROPIC = find_profile("anthropic", None, None)
USE = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}


def said_in(request: dict[str, Any]) -> dict[str, Any]:
    return next(row for row in request["messages"] if row["role"] == "assistant")


def stream(*events: dict[str, Any]) -> dict[str, Any]:
    """A response streamed as these events."""
    start = {"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 1}}}
    rows = [{"event": data["type"], "data": data} for data in (start, *events)]
    return {"status": 200, "sse": rows}


def block_events(*fragments: str) -> list[dict[str, Any]]:
    """The events of one tool_use block whose input comes in these fragments."""
    return [
        {"type": "content_block_start", "index": 0, "content_block": USE},
        *(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": fragment},
            }
            for fragment in fragments
        ),
        {"type": "content_block_stop", "index": 0},
    ]


TOOL_USE = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}
STOP = {"type": "message_stop"}


# Content


@case("oai-content-empty-moonshot")
async def test_empty_text_is_left_out_for_moonshot(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    expected = given_case["expect"]["next_request"]["assistant_message"]
    profile = find_profile("moonshot", None, None)
    (message,) = given_case["given"]["history"]
    for home, content in (("parts", message["content"]), ("text", ""), ("null", None)):
        choice = {"message": {**message, "content": content}, "finish_reason": "tool_calls"}
        response = {"status": 200, "body": {"choices": [choice]}}
        f = named("f")
        with staged(response, given_case["given"]["response"]) as (url, stage):
            async with opened(tmp_path / home, None, url=url, profile=profile, tools=[f]) as job:
                # The refusal that this prevents would be final.
                with pytest.raises(Rejected, match="text content is empty"):
                    await answer(job)
                (reply,) = entries(job, "assistant")
        assert len(stage.bodies) == 2
        assert said_in(stage.requests[1]) == expected
        if content is not None:
            assert reply.meta["received"] == {"content": content}


async def test_text_beside_empty_parts_is_kept_for_moonshot(tmp_path: Path) -> None:
    parts = [{"type": "text", "text": ""}, {"type": "text", "text": "Let me see."}]
    call = {"id": "f:0", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = {"role": "assistant", "content": parts, "tool_calls": [call]}
    choice = {"message": message, "finish_reason": "tool_calls"}
    profile = find_profile("moonshot", None, None)
    with staged({"status": 200, "body": {"choices": [choice]}}) as (url, stage):
        async with opened(tmp_path, None, url=url, profile=profile, tools=[named("f")]) as job:
            assert await answer(job) == "Done."
    assert said_in(stage.requests[1])["content"] == parts[1:]


@case("anth-empty-text-block")
async def test_empty_text_blocks_are_left_out(given_case: dict[str, Any], tmp_path: Path) -> None:
    ((_, expected),) = given_case["expect"]["next_request"].items()
    response = given_case["given"]["response"]
    with staged(response) as (url, stage):
        async with opened(tmp_path, None, url=url, profile=ANTHROPIC, tools=[named("f")]) as job:
            assert await answer(job) == "Done."
            reply = entries(job, "assistant")[0]
    assert said_in(unmarked(stage)[1])["content"] == expected
    # What came is on record as it came.
    assert reply.meta["received"] == {"content.0": response["body"]["content"][0]}


@case("anth-empty-tool-result")
async def test_a_result_without_text_says_so(given_case: dict[str, Any], tmp_path: Path) -> None:
    expected = given_case["expect"]["next_request"]["content"]
    with staged(blocks(USE)) as (url, stage):
        async with opened(
            tmp_path, None, url=url, profile=ANTHROPIC, tools=[named("f", "")]
        ) as job:
            assert await answer(job) == "Done."
    assert unmarked(stage)[1]["messages"][-1]["content"] == expected


@case("anth-unknown-block")
async def test_unknown_blocks_stay_at_their_place_and_are_not_shown(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    ((_, expected),) = given_case["expect"]["next_request"].items()
    response = given_case["given"]["response"]
    with staged(response) as (url, stage):
        async with opened(tmp_path, None, url=url, profile=ANTHROPIC) as job:
            assert await answer(job) == "ok"
            await job.say(job.history.conversations["ask"], "And?", "person")
            assert await answer(job) == "Done."
    content = said_in(unmarked(stage)[1])["content"]
    assert content[0] == expected
    assert content == response["body"]["content"]


@case("anth-parallel-results")
async def test_all_results_stand_in_one_message_and_text_after_them(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    ((_, expected),) = given_case["expect"]["next_request"].items()
    tools = [named("f", "r1"), named("g", "r2")]
    with staged(given_case["given"]["response"]) as (url, stage):
        async with opened(tmp_path, None, url=url, profile=ANTHROPIC, tools=tools) as job:
            with pytest.raises(OutOfBudget):
                await answer(job, limits=Limits(max_steps=1))
            text = given_case["given"]["queued_user_text"]
            await job.say(job.history.conversations["ask"], text, "person")
            assert await answer(job) == "Done."
    first, second = unmarked(stage)
    appended = second["messages"][len(first["messages"]) :]
    assert len(appended) == 2
    assert appended[1] == expected


# Streams


@case("anth-stream-no-args")
async def test_no_fragments_are_an_empty_input(given_case: dict[str, Any], tmp_path: Path) -> None:
    expected = given_case["expect"]["parsed"]["input"]
    for number, fragments in enumerate([("",), ()]):
        f = named("f")
        with staged(stream(*block_events(*fragments), TOOL_USE, STOP)) as (url, stage):
            async with opened(
                tmp_path / str(number), None, url=url, profile=ANTHROPIC, tools=[f]
            ) as job:
                assert await answer(job) == "Done."
        assert ran(f) == [expected]
        assert said_in(unmarked(stage)[1])["content"] == [{**USE, "input": expected}]


@case("anth-stream-error-event")
async def test_an_error_inside_a_stream_counts_by_its_type(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    error = given_case["expect"]["parsed"]["error"]
    response = given_case["given"]["response"]
    # A part of a reply before the error: it is dropped.
    start, failure = response["sse"]
    part = stream(
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": "PARTIAL"},
        },
    )["sse"][1:]
    with staged({**response, "sse": [start, *part, failure]}) as (url, stage):
        found = await asked(url, "anthropic")
    (trouble,) = found.troubles
    assert error == {"effective_status": 529, "retryable": True}
    assert f"answered {error['effective_status']}" in trouble.message
    assert "Overloaded" in trouble.message
    assert len(found.waits) == 1
    assert len(stage.bodies) == 2
    assert found.text == "Done."
    with staged(response) as (url, stage):
        async with opened(tmp_path, None, url=url, profile=ANTHROPIC) as job:
            assert await answer(job) == "Done."
            assert len(entries(job, "assistant", "discarded")) == 1
    assert stage.bodies[0] == stage.bodies[1]


@case("anth-stream-no-message-stop")
async def test_a_stop_reason_and_closed_blocks_make_a_message_complete(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    assert given_case["expect"]["parsed"] == {"status": "complete"}
    events = block_events('{"x":', "1}")
    whole = stream(*events, TOOL_USE)
    cut = {**whole, "sse": [*whole["sse"], {"end": True}]}
    for home, response in (("ends", whole), ("is cut", cut)):
        f = named("f", x=int)
        with staged(response) as (url, stage):
            async with opened(tmp_path / home, None, url=url, profile=ANTHROPIC, tools=[f]) as job:
                assert await answer(job) == "Done."
        assert ran(f) == [{"x": 1}]
        assert len(stage.bodies) == 2
    # Without the stop reason, or with a block that never closed, it is cut: nothing is run.
    for home, part in (("no reason", events), ("open", [*events[:-1], TOOL_USE])):
        f = named("f", x=int)
        with staged(stream(*part)) as (url, stage):
            found = await asked(url, "anthropic")
            assert [type(trouble) for trouble in found.troubles] == [BrokenStream]
        with staged(stream(*part)) as (url, stage):
            async with opened(tmp_path / home, None, url=url, profile=ANTHROPIC, tools=[f]) as job:
                assert await answer(job) == "Done."
        assert ran(f) == []
        assert len(stage.bodies) == 2
        assert json.loads(stage.bodies[1]) == json.loads(stage.bodies[0])
