"""The wire cases of the responses protocol: which items go back, and which never do."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from deskwork.tasks.endpoint import Endpoint
from deskwork.tasks.entries import Entry
from deskwork.tasks.model_errors import ContextOverflow, Rejected, Unavailable
from deskwork.tasks.model_step import ModelRefused
from deskwork.tasks.profiles import Profile, find_profile
from deskwork.tasks.protocol import open_codec
from deskwork.tasks.retries import RetryPolicy
from deskwork.tasks.session import Session
from deskwork.tools.pictures import fit
from deskwork.tools.tool import ToolResult
from tests.jobs import answer, opened
from tests.wire.conformance import case, named, ran, staged

ONCE = RetryPolicy(quick_tries=1)


def profile() -> Profile:
    return find_profile("openai", "responses", None)


def entries(session: Session, kind: str) -> list[Entry]:
    return [entry for entry in session.writer.journal.entries(session.job) if entry.kind == kind]


def replied(*output: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A response in one piece."""
    body = {"object": "response", "status": "completed", "output": [*output], **fields}
    return {"status": 200, "body": body}


def called(call_id: str, arguments: str = "{}", **fields: Any) -> dict[str, Any]:
    call = {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": "f"}
    return {**call, "arguments": arguments, "status": "completed", **fields}


@case("resp-incomplete")
async def test_a_budget_used_up_by_thinking_is_a_cut_reply(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    with staged(given_case["given"]["response"]) as (url, stage):
        async with opened(tmp_path, None, url=url, profile=profile()) as session:
            assert await answer(session) == "Done."
            (discarded,) = entries(session, "discarded")
    assert discarded.meta["finish"] == "length"
    assert json.loads(b"".join(p for p in discarded.body if isinstance(p, bytes))) == {
        "output": given_case["given"]["response"]["body"]["output"]
    }
    first, second = stage.requests
    assert "max_output_tokens" not in first
    assert second["max_output_tokens"] >= 8192
    assert second["input"] == first["input"]
    assert b"rs_1" not in stage.bodies[1]


@case("resp-encrypted-roundtrip")
async def test_all_output_items_go_back_in_order_and_results_by_call_id(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    tool = named("f", "<result>")
    given, expected = given_case["given"], given_case["expect"]["next_request"]
    with staged(given["response"]) as (url, stage):
        async with opened(tmp_path, None, url=url, profile=profile(), tools=[tool]) as session:
            assert await answer(session) == "Done."
            usage = entries(session, "assistant")[0].meta["usage"]
    first, second = stage.requests
    assert stage.paths == ["/v1/responses"] * 2
    for request in (first, second):
        assert {name: request[name] for name in given["request"]} == given["request"]
    assert second["input"] == [*first["input"], *expected["input_appended"]]
    assert ran(tool) == [{}]
    assert usage == {"input": 10, "output": 20, "cache_read": 0, "reasoning": 15}


@case("resp-store-false-id-not-found")
async def test_an_item_the_server_would_have_to_look_up_is_never_sent(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    kept_by_id = {"id": "rs_1", "type": "reasoning", "summary": []}
    refusal = given_case["given"]["response"]
    with staged(replied(kept_by_id, called("c1")), refusal) as (url, stage):
        async with opened(
            tmp_path, None, url=url, profile=profile(), tools=[named("f")]
        ) as session:
            # The server's own words for it end the job at once.
            with pytest.raises(Rejected, match="Item with id 'rs_1' not found"):
                await answer(session)
            (reply,) = entries(session, "assistant")
    assert len(stage.bodies) == 2
    assert b"rs_1" not in stage.bodies[1]
    assert [item["type"] for item in stage.requests[1]["input"][1:]] == [
        "function_call",
        "function_call_output",
    ]
    assert reply.meta["received"] == {"output.0": kept_by_id}


@case("resp-stream-added-vs-done")
async def test_the_item_that_is_done_wins(given_case: dict[str, Any], tmp_path: Path) -> None:
    response = given_case["given"]["response"]
    with staged(response) as (url, _):
        endpoint = Endpoint(url, open_codec(profile()), retries=ONCE)
        reply = await endpoint.ask([b"{}"])
        await endpoint.close()
    (item,) = reply.message["output"]
    assert item["encrypted_content"] == given_case["expect"]["parsed"]["encrypted_content"]
    call = {"event": "response.output_item.done", "data": {"output_index": 1, "item": called("c1")}}
    *items, completed = response["sse"]
    with staged({**response, "sse": [*items, call, completed]}) as (url, stage):
        async with opened(
            tmp_path, None, url=url, profile=profile(), tools=[named("f")]
        ) as session:
            assert await answer(session) == "Done."
    assert b'"FULL"' in stage.bodies[1]
    assert b'"PART"' not in stage.bodies[1]


@case("resp-message-between-call-and-output")
async def test_notes_stand_after_the_last_output(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    refusal = given_case["given"]["response"]
    # The third equal call is one too many: the model is told so, after both outputs.
    same = [replied(called(f"a{n}"), called(f"b{n}", '{"n":1}')) for n in range(3)]
    tool = named("f")
    with staged(*same, refusal) as (url, stage):
        async with opened(tmp_path, None, url=url, profile=profile(), tools=[tool]) as session:
            with pytest.raises(Rejected, match="No tool output found"):
                await answer(session)
    last = stage.requests[-1]["input"]
    assert [(item["type"], item.get("call_id", "")) for item in last[-5:]] == [
        ("function_call", "a2"),
        ("function_call", "b2"),
        ("function_call_output", "a2"),
        ("function_call_output", "b2"),
        ("message", ""),
    ]
    assert "same arguments" in last[-1]["content"]
    assert len(stage.bodies) == 4


@case("img-tool-result-responses")
async def test_a_picture_stands_inside_the_output(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    picture = io.BytesIO()
    Image.new("RGB", (30, 20), "blue").save(picture, "PNG")
    text = given_case["given"]["tool_result"][0]
    look = named("f", ToolResult(text=text, images=(picture.getvalue(),)))
    with staged(replied(called("c1"))) as (url, stage):
        async with opened(tmp_path, None, url=url, profile=profile(), tools=[look]) as session:
            assert await answer(session) == "Done."
    encoded = base64.b64encode(fit(picture.getvalue()).data).decode()
    expected = json.dumps(given_case["expect"]["next_request"]["input_appended"])
    assert stage.requests[1]["input"][-1:] == json.loads(expected.replace("<b64>", encoded))


async def test_thinking_with_nothing_after_it_is_not_sent_back(tmp_path: Path) -> None:
    alone: dict[str, Any] = {
        "id": "rs_9",
        "type": "reasoning",
        "summary": [],
        "encrypted_content": "E",
    }
    spoken: dict[str, Any] = {
        "type": "message",
        "role": "assistant",
        "id": "msg_1",
        "phase": "commentary",
    }
    spoken["content"] = []
    for number, output in enumerate(([alone], [spoken, alone])):
        with staged(replied(*output)) as (url, stage):
            async with opened(
                tmp_path, None, url=url, profile=profile(), job=f"j{number}"
            ) as session:
                assert await answer(session) == "Done."
        assert b"rs_9" not in stage.bodies[1]
        assert stage.requests[1]["input"][-1]["content"] == "Please continue."


async def test_unknown_items_and_keys_and_the_phase_go_back_as_they_came(tmp_path: Path) -> None:
    output: list[dict[str, Any]] = [
        {"type": "compaction", "id": "cmp_1", "encrypted_content": "C"},
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "phase": "commentary",
            "content": [{"type": "output_text", "text": "é", "annotations": [], "new": 1}],
        },
        called("c1", '{ "x" : 1 }', namespace=None, caller={"type": "direct"}),
    ]
    with staged(replied(*output)) as (url, stage):
        async with opened(
            tmp_path, None, url=url, profile=profile(), tools=[named("f")]
        ) as session:
            await answer(session)
    assert stage.requests[1]["input"][1:4] == output
    assert list(stage.requests[1]["input"][2]) == list(output[1])


async def test_repeated_ids_and_broken_arguments_are_mended_and_kept(tmp_path: Path) -> None:
    first = replied(called("c", "{broken"), called("c"), called("", '"{\\"n\\":1}"'))
    tool = named("f", n=int)
    with staged(first, replied(called("c")), replied(called("c"))) as (url, stage):
        async with opened(tmp_path, None, url=url, profile=profile(), tools=[tool]) as session:
            await answer(session)
            kept = entries(session, "assistant")[0].meta["received"]
    items = stage.requests[3]["input"][1:]
    calls = [item for item in items if item["type"] == "function_call"]
    ids = [item["call_id"] for item in calls]
    assert len(set(ids)) == 5
    assert all(isinstance(json.loads(item["arguments"]), dict) for item in calls)
    outputs = [item["call_id"] for item in items if item["type"] == "function_call_output"]
    assert outputs == ids
    assert kept["calls.0.arguments"] == "{broken"
    assert kept["calls.1.call_id"] == "c"
    assert ran(tool) == [{"n": 1}]
    assert "{broken" in items[3]["output"]


@pytest.mark.parametrize(
    "output",
    [
        replied(status="incomplete", incomplete_details={"reason": "content_filter"}),
        replied(
            {"type": "message", "content": [{"type": "refusal", "refusal": "I can't."}]},
        ),
    ],
    ids=["content filter", "refusal"],
)
async def test_a_refusal_is_final(output: dict[str, Any], tmp_path: Path) -> None:
    with staged(output) as (url, stage):
        async with opened(tmp_path, None, url=url, profile=profile()) as session:
            with pytest.raises(ModelRefused, match=r"content_filter|I can't"):
                await answer(session)
    assert len(stage.bodies) == 1


async def test_a_cut_text_is_continued(tmp_path: Path) -> None:
    half: dict[str, Any] = {
        "type": "message",
        "role": "assistant",
        "id": "msg_1",
        "status": "incomplete",
    }
    half["content"] = [{"type": "output_text", "text": "Well ", "annotations": []}]
    cut = replied(half, status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    with staged(cut) as (url, stage):
        async with opened(tmp_path, None, url=url, profile=profile()) as session:
            assert await answer(session) == "Well Done."
    assert stage.requests[1]["input"][1] == half


@pytest.mark.parametrize(
    ("event", "kind", "words"),
    [
        (("error", {"type": "error", "code": "server_error", "message": "a"}), Unavailable, "500"),
        (("error", {"type": "error", "code": None, "message": "b"}), Unavailable, "b"),
        (("error", {"error": {"type": "overloaded_error", "message": "c"}}), Unavailable, "529"),
        (("", {"error": {"code": 500, "message": "d"}}), Unavailable, "d"),
        (("response.failed", {"code": "rate_limit_exceeded", "message": "e"}), Unavailable, "429"),
        (("response.failed", {"code": "invalid_prompt", "message": "f"}), Rejected, "f"),
        (("response.failed", {"code": "image_too_large", "message": "g"}), Rejected, "g"),
        (("response.failed", None), Unavailable, "the response failed"),
        (("response.failed", {"code": "context_length_exceeded"}), ContextOverflow, "window"),
    ],
)
async def test_errors_inside_the_stream(
    event: tuple[str, Any], kind: type[Exception], words: str
) -> None:
    name, data = event
    if name == "response.failed":
        data = {"response": {"status": "failed", "error": data}}
    response = {"status": 200, "sse": [{"event": name, "data": data}]}
    with staged(response) as (url, stage):
        endpoint = Endpoint(url, open_codec(profile()), retries=ONCE)
        with pytest.raises(kind, match=words):
            await endpoint.ask([b"{}"])
        await endpoint.close()
    assert len(stage.bodies) == 1


async def test_the_tier_is_the_effort_and_tools_are_flat(tmp_path: Path) -> None:
    with staged() as (url, stage):
        async with opened(
            tmp_path, None, url=url, profile=profile(), tools=[named("f", x=int)]
        ) as session:
            await answer(session)
    (request,) = stage.requests
    assert request["reasoning"] == {"effort": "high", "summary": "auto"}
    assert "reasoning_effort" not in request
    assert request["stream"] is True
    (tool,) = request["tools"]
    assert set(tool) == {"type", "name", "description", "parameters", "strict"}
    assert tool["strict"] is False


async def test_plain_thinking_goes_back_where_the_server_reads_it(tmp_path: Path) -> None:
    """Open models give their thinking as text; nothing has to be looked up for it."""
    plain: dict[str, Any] = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [],
        "encrypted_content": "",
    }
    plain["content"] = [{"type": "reasoning_text", "text": "hm"}]
    for name, sent in (("vllm", True), ("openai", False)):
        spoken = find_profile(name, "responses", None)
        with staged(replied(plain, called("c1"))) as (url, stage):
            async with opened(
                tmp_path, None, url=url, profile=spoken, tools=[named("f")], job=name
            ) as session:
                await answer(session)
                (reply, _) = entries(session, "assistant")
        assert (plain in stage.requests[1]["input"]) is sent
        assert reply.meta.get("received", {}) == ({} if sent else {"output.0": plain})
