"""The wire cases on how replies end: cut, refused, empty, or at the window's end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deskwork.tasks.entries import Entry
from deskwork.tasks.model_errors import ContextOverflow
from deskwork.tasks.model_step import CONTINUE_CUT, ModelRefused
from deskwork.tasks.profiles import find_profile
from deskwork.tasks.progress import watcher
from deskwork.tasks.protocol import open_codec
from deskwork.tools.errors import Stop
from tests.jobs import answer, opened
from tests.wire.conformance import blocks, case, entries, named, ran, staged, unmarked

OPENAI = find_profile("openai", "chat", None)
ANTHROPIC = find_profile("anthropic", None, None)
EMPTY = blocks(stop="end_turn")


def body_of(entry: Entry) -> dict[str, Any]:
    value = json.loads(b"".join(part for part in entry.body if isinstance(part, bytes)))
    assert isinstance(value, dict)
    return value


@case("anth-end-turn-empty")
async def test_an_empty_answer_is_followed_up_and_not_sent_back(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    (expected,) = given_case["expect"]["next_request"]["messages_appended"]
    with staged(given_case["given"]["response"]) as (url, stage):
        async with opened(tmp_path / "one", None, url=url, profile=ANTHROPIC) as session:
            assert await answer(session) == "Done."
            assert [entry.kind for entry in entries(session, "discarded", "assistant")] == [
                "discarded",
                "assistant",
            ]
    first, second = unmarked(stage)
    (added,) = second["messages"][len(first["messages"]) :]
    assert added == {**expected, "content": [{"type": "text", "text": expected["content"]}]}
    with staged(*[given_case["given"]["response"]] * 9) as (url, stage):
        async with opened(tmp_path / "bound", None, url=url, profile=ANTHROPIC) as session:
            with pytest.raises(Stop, match="3 empty"):
                await answer(session)
    assert len(stage.bodies) == len(set(stage.bodies)) == 3


@case("oai-finish-length-text")
async def test_a_cut_text_is_kept_and_continued(given_case: dict[str, Any], tmp_path: Path) -> None:
    response = given_case["given"]["response"]
    half = response["body"]["choices"][0]["message"]
    assert given_case["expect"]["parsed"] == {"status": "truncated"}
    with staged(response) as (url, stage):
        async with opened(tmp_path / "one", None, url=url, profile=OPENAI) as session:
            assert await answer(session) == f"{half['content']}Done."
            cut, whole = entries(session, "assistant")
    # A cut reply is told by its finish: `length` is what the case calls truncated.
    assert (cut.meta["finish"], whole.meta["finish"]) == ("length", "answer")
    first, second = (request["messages"] for request in stage.requests)
    assert second[len(first) :] == [half, {"role": "user", "content": CONTINUE_CUT}]
    with staged(*[response] * 9) as (url, stage):
        async with opened(tmp_path / "bound", None, url=url, profile=OPENAI) as session:
            with pytest.raises(Stop, match="3 empty or cut"):
                await answer(session)
    assert len(stage.bodies) == 3


@case("oai-finish-length-thinking-only")
async def test_thinking_that_ate_the_limit_is_named_and_gets_a_larger_one(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    status = given_case["expect"]["parsed"]["status"]
    response = given_case["given"]["response"]
    told: list[str] = []
    watcher.set(lambda progress: told.append(progress.text))
    with staged(response, response) as (url, stage):
        async with opened(tmp_path, None, url=url, profile=OPENAI) as session:
            assert await answer(session) == "Done."
            discarded = entries(session, "discarded")
    assert [entry.meta["status"] for entry in discarded] == [status] * 2
    assert sum("thinking used up the whole output limit" in text for text in told) == 2
    assert body_of(discarded[0]).items() <= response["body"]["choices"][0]["message"].items()
    first, second, third = stage.requests
    used = response["body"]["usage"]["completion_tokens"]
    assert "max_completion_tokens" not in first
    assert used < second["max_completion_tokens"] < third["max_completion_tokens"]
    efforts = {request["reasoning_effort"] for request in stage.requests}
    assert len(efforts) == 1
    assert first["messages"] == second["messages"] == third["messages"]


@case("oai-finish-tool_calls-empty")
async def test_no_calls_are_an_answer(given_case: dict[str, Any], tmp_path: Path) -> None:
    parsed = given_case["expect"]["parsed"]
    with staged(given_case["given"]["response"]) as (url, stage):
        async with opened(tmp_path, None, url=url, profile=OPENAI, tools=[named("f")]) as session:
            assert await answer(session) == parsed["text"]
            (reply,) = entries(session, "assistant")
    assert parsed["action"] == "final"
    assert reply.meta["finish"] == "answer"
    assert len(stage.bodies) == 1


@case("oai-refusal")
async def test_a_refusal_is_an_end_of_its_own(given_case: dict[str, Any], tmp_path: Path) -> None:
    expected = given_case["expect"]
    text = expected["next_request"]["assistant_message"]["refusal"]
    with staged(given_case["given"]["response"]) as (url, stage):
        for _ in range(2):
            async with opened(tmp_path, None, url=url, profile=OPENAI) as session:
                with pytest.raises(ModelRefused, match=text):
                    await answer(session)
                (discarded,) = entries(session, "discarded", "assistant")
    assert len(stage.bodies) == 1
    assert expected["parsed"] == {"status": "refused"}
    assert (discarded.meta["finish"], discarded.meta["refusal"]) == ("refused", text)
    # A job ends with a refusal, so nothing is replayed in it; where one is, it is in its field.
    codec = open_codec(OPENAI)
    reply = codec.whole(given_case["given"]["response"]["body"])
    wire = codec.assistant(reply, lambda place, call_id, before: call_id).body
    assert json.loads(wire) == expected["next_request"]["assistant_message"]


@case("anth-stop-refusal")
async def test_a_refusal_is_reported_with_its_details(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    details = given_case["given"]["response"]["body"]["stop_details"]
    with staged(given_case["given"]["response"]) as (url, stage):
        for _ in range(2):
            async with opened(tmp_path, None, url=url, profile=ANTHROPIC) as session:
                with pytest.raises(ModelRefused, match=f"category {details['category']}"):
                    await answer(session)
                (discarded,) = entries(session, "discarded", "assistant")
    assert len(stage.bodies) == 1
    assert given_case["expect"]["parsed"] == {"status": discarded.meta["finish"]}
    assert body_of(discarded) == {"content": [], "stop_details": details}


@case("anth-stop-max-tokens-tool")
async def test_a_call_that_may_be_cut_is_not_run(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    parsed = given_case["expect"]["parsed"]
    write = named("write", path=str)
    with staged(given_case["given"]["response"]) as (url, stage):
        async with opened(tmp_path, None, url=url, profile=ANTHROPIC, tools=[write]) as session:
            assert await answer(session) == "Done."
            (discarded,) = entries(session, "discarded")
    assert len(ran(write)) == parsed["tools_run"] == 0
    # `length` is what the case calls truncated.
    assert (parsed["status"], discarded.meta["finish"]) == ("truncated", "length")
    assert discarded.meta["not_run"] == ["write"]
    first, second = unmarked(stage)
    assert given_case["expect"]["next_request"] == {"max_tokens": "larger"}
    assert second["max_tokens"] > first["max_tokens"]
    assert second["messages"] == first["messages"]


@case("anth-stop-window")
async def test_a_full_window_goes_on_in_a_new_conversation(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    parsed, response = given_case["expect"]["parsed"], given_case["given"]["response"]
    use = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    with staged(blocks(use), response) as (url, stage):
        async with opened(
            tmp_path, None, url=url, profile=ANTHROPIC, tools=[named("f", "found it")]
        ) as session:
            assert await answer(session) == "Done."
            _, cut, _ = entries(session, "assistant")
            opening = entries(session, "conversation")[1].meta
            # Nobody asks for more in the full window.
            assert [entry.meta["why"] for entry in entries(session, "user")] == ["opening"] * 2
    assert body_of(cut)["content"] == response["body"]["content"]
    assert (parsed["status"], cut.meta["finish"]) == ("truncated", "length")
    assert cut.meta["raw_finish"] == response["body"]["stop_reason"]
    assert cut.meta["status"] == parsed["class"]
    assert (opening["continues"], opening["why"]) == (1, "overflow")
    # The new conversation knows the question, the finding and the text; the old one is left.
    (message,) = unmarked(stage)[2]["messages"]
    text = "".join(block["text"] for block in message["content"])
    for part in ("Question?", "found it", "You said: cut"):
        assert part in text


@case("anth-stop-window")
async def test_a_window_that_is_full_again_at_once_stops_the_job(
    given_case: dict[str, Any], tmp_path: Path
) -> None:
    use = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    cut = given_case["given"]["response"]
    calls_cut = blocks({"type": "text", "text": "so"}, use, stop=cut["body"]["stop_reason"])
    f = named("f")
    for home, responses in (("text", [cut] * 9), ("call", [calls_cut] * 9)):
        with staged(*responses) as (url, stage):
            for _ in range(2):
                async with opened(
                    tmp_path / home, None, url=url, profile=ANTHROPIC, tools=[f]
                ) as session:
                    with pytest.raises(ContextOverflow, match="whole context window"):
                        await answer(session)
        assert len(stage.bodies) == 2
    assert ran(f) == []
