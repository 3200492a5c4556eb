"""The vendors' own SDKs as judges: of the requests we send, and of the scripted model's replies."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import anthropic
import openai
import pytest
from anthropic.types import message_create_params as messages_params
from openai.types.chat import completion_create_params as chat_params
from openai.types.responses import response_create_params as responses_params
from PIL import Image
from pydantic import TypeAdapter, ValidationError

from deskwork.tasks.local_model import Asked, Said, ScriptedModel
from deskwork.tasks.local_server import serve
from deskwork.tasks.profiles import find_profile
from deskwork.tools.tool import ToolResult, tool
from tests.jobs import TOOLS, answer, opened

# They outlive what they validated: an ``Iterable`` is checked as it is read, by their definitions.
KINDS: dict[str, TypeAdapter[Any]] = {
    "chat": TypeAdapter(chat_params.CompletionCreateParamsStreaming),
    "messages": TypeAdapter(messages_params.MessageCreateParamsStreaming),
    "responses": TypeAdapter(responses_params.ResponseCreateParamsStreaming),
}
PROFILES = {"chat": "openai", "messages": "anthropic", "responses": "openai"}


# Our requests


def judged(protocol: str, body: dict[str, Any]) -> None:
    """Check a body against the SDK's type of it; a key that the type doesn't know is an error."""
    _settle(KINDS[protocol].validate_python(body, extra="forbid"))


def _settle(value: Any) -> None:
    """Go through the whole value: pydantic checks an ``Iterable`` only as it is read."""
    if isinstance(value, dict):
        value = value.values()
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        for item in value:
            _settle(item)


async def bodies_of(folder: Path, protocol: str, name: str) -> list[dict[str, Any]]:
    """The requests of a job with thinking, parallel calls, failures, pictures and a user's turn."""
    picture = io.BytesIO()
    Image.new("RGB", (50, 40), "red").save(picture, "PNG")

    @tool(repeatable=True)
    def look() -> ToolResult:
        """Look."""
        return ToolResult(text="a picture", images=(picture.getvalue(),))

    script = [
        Said(thinking="t", calls=[("look", {}), ("echo", {"text": "1"})]),
        Said("some text", calls=[("echo", "{not json"), ("nope", {}), ("fail", {"text": "x"})]),
        Said(thinking="t", text="by the way", calls=[("look", {}, "same")]),
        Said(thinking="t", calls=[("look", {}, "same")]),
        Said("half", finish=CUT[protocol]),
        Said("end"),
    ]
    model = ScriptedModel(script)
    profile = find_profile(name, protocol, None)
    async with opened(folder, model, profile=profile, tools=[*TOOLS, look]) as session:
        await answer(session, images=(picture.getvalue(),))
    bodies = [asked.body for asked in model.requests]
    assert len(bodies) == len(script)
    return bodies


CUT = {"chat": "length", "messages": "max_tokens", "responses": "max_output_tokens"}


@pytest.mark.parametrize("protocol", KINDS)
async def test_our_requests_are_of_the_sdk_types(tmp_path: Path, protocol: str) -> None:
    for body in await bodies_of(tmp_path, protocol, PROFILES[protocol]):
        judged(protocol, body)
        with pytest.raises(ValidationError):
            judged(protocol, {**body, "streaming": True})


async def test_what_a_gateway_gets_beyond_openai_is_thinking_and_its_budget(
    tmp_path: Path,
) -> None:
    for number, body in enumerate(await bodies_of(tmp_path, "chat", "gateway")):
        with pytest.raises(ValidationError):
            judged("chat", body)
        # Left out: OpenAI's types know neither field, the servers that are meant here do.
        assert body.pop("thinking_budget") == "high"
        replayed = [message.pop("reasoning_content", None) for message in body["messages"]]
        assert replayed.count("t") == [0, 1, 1, 2, 3, 3][number]
        judged("chat", body)


@pytest.mark.parametrize("protocol", KINDS)
async def test_the_judge_sees_a_fault_in_each_message(tmp_path: Path, protocol: str) -> None:
    last = (await bodies_of(tmp_path, protocol, PROFILES[protocol]))[-1]
    name = "input" if protocol == "responses" else "messages"
    for index in range(len(last[name])):
        body = json.loads(json.dumps(last))
        body[name][index]["colour"] = "red"
        with pytest.raises(ValidationError, match="colour"):
            judged(protocol, body)


# Their clients and the scripted model


class Heard(NamedTuple):
    """What a client made of a reply: its text, its thinking, calls as (name, arguments)."""

    text: str
    thinking: str
    calls: list[tuple[str, Any]]


SCRIPT = [
    Said("Let me see.", thinking="é hm", calls=[("f", {"x": 1}), ("f", {"x": 2})]),
    Said("Done.", usage={"input": 100, "output": 30, "cache_read": 60, "reasoning": 20}),
]
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"x": {"type": "integer"}}}
Talk = Callable[[str, bool], tuple[list[Heard], tuple[int, int, int]]]


def talk_chat(url: str, streamed: bool) -> tuple[list[Heard], tuple[int, int, int]]:
    function = {"name": "f", "description": "", "parameters": SCHEMA}
    messages: list[Any] = [{"role": "user", "content": "?"}]
    heard, usage = [], None
    with openai.OpenAI(base_url=url, api_key="k", max_retries=0) as client:
        for _ in SCRIPT:
            fields: Any = {"model": "m", "messages": messages}
            fields["tools"] = [{"type": "function", "function": function}]
            if streamed:
                with client.chat.completions.stream(
                    **fields, stream_options={"include_usage": True}
                ) as stream:
                    # The SDK joins only what it knows: thinking is on the chunks.
                    events = list(stream)
                    done: Any = stream.get_final_completion()
                chunks = [event.chunk for event in events if event.type == "chunk"]
                thinking = "".join(
                    getattr(choice.delta, "reasoning_content", None) or ""
                    for chunk in chunks
                    for choice in chunk.choices
                )
            else:
                done = client.chat.completions.create(**fields)
                thinking = getattr(done.choices[0].message, "reasoning_content", "")
            message = done.choices[0].message
            calls = message.tool_calls or []
            given = [(c.function.name, json.loads(c.function.arguments)) for c in calls]
            heard.append(Heard(message.content or "", thinking, given))
            messages.append(message.model_dump(exclude_none=True, exclude={"parsed"}))
            for call in calls:
                messages.append({"role": "tool", "tool_call_id": call.id, "content": call.id})
            usage = done.usage
    assert usage is not None
    return heard, (
        usage.prompt_tokens,
        usage.completion_tokens,
        usage.prompt_tokens_details.cached_tokens,
    )


def talk_responses(url: str, streamed: bool) -> tuple[list[Heard], tuple[int, int, int]]:
    items: list[Any] = [{"role": "user", "content": "?"}]
    heard, usage = [], None
    function = {"type": "function", "name": "f", "parameters": SCHEMA, "strict": False}
    with openai.OpenAI(base_url=url, api_key="k", max_retries=0) as client:
        for _ in SCRIPT:
            fields: Any = {"model": "m", "input": items, "tools": [function], "store": False}
            if streamed:
                with client.responses.stream(**fields) as stream:
                    done: Any = stream.get_final_response()
            else:
                done = client.responses.create(**fields)
            calls = [item for item in done.output if item.type == "function_call"]
            given = [(call.name, json.loads(call.arguments)) for call in calls]
            summaries = [item.summary for item in done.output if item.type == "reasoning"]
            thinking = "".join(part.text for summary in summaries for part in summary)
            heard.append(Heard(done.output_text, thinking, given))
            items += [item.to_dict() for item in done.output]
            for call in calls:
                output = {"type": "function_call_output", "call_id": call.call_id}
                items.append({**output, "output": call.call_id})
            usage = done.usage
    assert usage is not None
    assert usage.output_tokens_details.reasoning_tokens == 20
    cached = usage.input_tokens_details.cached_tokens
    return heard, (usage.input_tokens, usage.output_tokens, cached)


def talk_messages(url: str, streamed: bool) -> tuple[list[Heard], tuple[int, int, int]]:
    messages: list[Any] = [{"role": "user", "content": "?"}]
    heard, usage = [], None
    with anthropic.Anthropic(
        base_url=url.removesuffix("/v1"), api_key="k", max_retries=0
    ) as client:
        for _ in SCRIPT:
            fields: Any = {"model": "m", "messages": messages, "max_tokens": 100}
            fields["tools"] = [{"name": "f", "input_schema": SCHEMA}]
            if streamed:
                with client.messages.stream(**fields) as stream:
                    done: Any = stream.get_final_message()
            else:
                done = client.messages.create(**fields)
            calls = [block for block in done.content if block.type == "tool_use"]
            texts = [block.text for block in done.content if block.type == "text"]
            thoughts = [block for block in done.content if block.type == "thinking"]
            assert all(block.signature == "sig1" for block in thoughts)
            given = [(call.name, call.input) for call in calls]
            thinking = "".join(block.thinking for block in thoughts)
            heard.append(Heard("".join(texts), thinking, given))
            assert done.stop_reason == ("tool_use" if calls else "end_turn")
            messages.append({"role": "assistant", "content": done.content})
            results = [{"type": "tool_result", "tool_use_id": c.id, "content": c.id} for c in calls]
            messages.append({"role": "user", "content": results})
            usage = done.usage
    assert usage is not None
    cached = usage.cache_read_input_tokens
    return heard, (usage.input_tokens + cached, usage.output_tokens, cached)


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("talk", [talk_chat, talk_responses, talk_messages])
def test_the_sdks_understand_the_scripted_model(talk: Talk, streamed: bool) -> None:
    model = ScriptedModel(SCRIPT)
    with serve(model) as url:
        heard, usage = talk(url, streamed)
    assert heard == [
        Heard("Let me see.", "é hm", [("f", {"x": 1}), ("f", {"x": 2})]),
        Heard("Done.", "", []),
    ]
    assert usage == (100, 30, 60)
    # What the SDK sent back was understood in turn.
    assert model.requests[1].results == ["call_1_0", "call_1_1"]
    reply = model.requests[1].messages[1]
    assert (reply["role"], reply["text"]) == ("assistant", "Let me see.")
    assert reply["calls"] == [("f", {"x": 1}, "call_1_0"), ("f", {"x": 2}, "call_1_1")]


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
def test_encrypted_thinking_makes_the_round_trip_through_the_sdk(streamed: bool) -> None:
    seen: list[Asked] = []

    def script(asked: Asked) -> Said:
        seen.append(asked)
        return SCRIPT[len(seen) - 1]

    with serve(ScriptedModel(script)) as url:
        talk_responses(url, streamed)
    thinking = seen[1].body["input"][1]
    assert (thinking["type"], thinking["encrypted_content"]) == ("reasoning", "enc:é hm")
