"""Models that live in this process and speak the wire protocols: for tests and for no endpoint.

A `LocalModel` sees each request as plain data and says what to answer; everything around it, from
the encoded request to the streamed reply, is the same as with a server. It serves through an
in-process transport, or on loopback with `deskwork.tasks.local_server.serve`.

For your own tests, `ScriptedModel` answers from a list or a function::

    model = ScriptedModel([Said(calls=[("search_documents", {"query": "revenue"})]), Said("42")])
    answer = await ask("How much?", transport=model.transport())
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from deskwork.tasks.encoding import dumps


@dataclass(frozen=True)
class Said:
    """What a model says: text, thinking, and calls as (name, arguments) or (name, arguments, id).

    Arguments are a dict, or a string that is sent as it is. ``finish`` overrides the reason.
    """

    text: str = ""
    calls: Sequence[tuple[Any, ...]] = ()
    thinking: str = ""
    finish: str = ""
    usage: dict[str, int] | None = None


@dataclass(frozen=True)
class Asked:
    """A request as plain data, the same for both protocols.

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


class LocalModel:
    """Base of the models in this process; `answer` is what differs."""

    name = "local"

    def __init__(self) -> None:
        self.requests: list[Asked] = []

    def answer(self, asked: Asked) -> Said:
        """What to say to this request."""
        raise LookupError("a local model needs an answer")

    def transport(self) -> httpx.AsyncBaseTransport:
        """An httpx transport that reaches this model and no network."""
        return _Transport(self)

    def respond(self, path: str, body: bytes) -> tuple[int, str, list[bytes]]:
        """(status, media type, chunks) for one request; used by transport and server alike."""
        try:
            data = json.loads(body)
        except ValueError:
            error = {"error": {"message": "the body is no JSON", "type": "invalid_request_error"}}
            return 400, "application/json", [dumps(error)]
        messages = path.endswith("/messages")
        asked = _asked_messages(data) if messages else _asked_chat(data)
        asked = Asked(asked.system, asked.messages, asked.tools, data, len(self.requests) + 1)
        self.requests.append(asked)
        said = self.answer(asked)
        write = _write_messages if messages else _write_chat
        return 200, "text/event-stream", list(write(said, data, asked.number, len(body)))


class ScriptedModel(LocalModel):
    """Says what a script tells: a list of `Said` in order, or a function of the request."""

    name = "scripted"

    def __init__(self, script: Sequence[Said] | Callable[[Asked], Said]) -> None:
        super().__init__()
        self._script = script

    def answer(self, asked: Asked) -> Said:
        """The script's next line."""
        if callable(self._script):
            return self._script(asked)
        if asked.number > len(self._script):
            raise LookupError(f"the script has {len(self._script)} lines, and was asked for more")
        return self._script[asked.number - 1]


class _Transport(httpx.AsyncBaseTransport):
    def __init__(self, model: LocalModel) -> None:
        self._model = model

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        body = await request.aread()
        status, media_type, chunks = self._model.respond(request.url.path, body)
        return httpx.Response(
            status, headers={"content-type": media_type}, stream=_Chunks(chunks), request=request
        )


class _Chunks(httpx.AsyncByteStream):
    def __init__(self, chunks: list[bytes]) -> None:
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk


def _asked_chat(data: dict[str, Any]) -> Asked:
    system, messages = "", []
    for message in data.get("messages", []):
        role = message["role"]
        text = _text(message.get("content"))
        if role == "system":
            system += text
            continue
        row: dict[str, Any] = {"role": role, "text": text}
        if role == "tool":
            row["call"] = message["tool_call_id"]
        if message.get("tool_calls"):
            row["calls"] = [
                (c["function"]["name"], json.loads(c["function"]["arguments"] or "{}"), c["id"])
                for c in message["tool_calls"]
            ]
        messages.append(row)
    tools = [tool["function"]["name"] for tool in data.get("tools", [])]
    return Asked(system, messages, tools, data)


def _asked_messages(data: dict[str, Any]) -> Asked:
    messages: list[dict[str, Any]] = []
    for message in data.get("messages", []):
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if message["role"] == "assistant":
            calls = [(b["name"], b["input"], b["id"]) for b in blocks if b["type"] == "tool_use"]
            row: dict[str, Any] = {"role": "assistant", "text": _text(blocks)}
            messages.append({**row, "calls": calls} if calls else row)
            continue
        for block in blocks:
            if block["type"] == "tool_result":
                text = _text(block["content"])
                messages.append({"role": "tool", "text": text, "call": block["tool_use_id"]})
        texts = [b for b in blocks if b["type"] != "tool_result"]
        if texts:
            messages.append({"role": "user", "text": _text(texts)})
    tools = [tool["name"] for tool in data.get("tools", [])]
    return Asked(_text(data.get("system")), messages, tools, data)


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if part.get("type") == "text")
    return content or ""


def _calls(said: Said, number: int) -> Iterator[tuple[str, str, str]]:
    for place, call in enumerate(said.calls):
        name, arguments = call[0], call[1]
        text = arguments if isinstance(arguments, str) else dumps(arguments).decode()
        yield call[2] if len(call) > 2 else f"call_{number}_{place}", name, text


def _used(said: Said, size: int) -> tuple[int, int]:
    """Tokens in and out: a quarter of the bytes, unless the script says otherwise."""
    usage = said.usage or {}
    spoken = len(said.text) + len(said.thinking) + len(str(said.calls) if said.calls else "")
    return usage.get("input", size // 4), usage.get("output", max(1, spoken // 4))


def _write_chat(said: Said, data: dict[str, Any], number: int, size: int) -> Iterator[bytes]:
    base = {"id": f"chat-{number}", "object": "chat.completion.chunk", "model": data.get("model")}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return b"data: " + dumps({**base, "choices": [choice]}) + b"\n\n"

    yield chunk(
        {"role": "assistant", "content": said.text if not said.calls else said.text or None}
    )
    if said.thinking:
        yield chunk({"reasoning_content": said.thinking})
    for index, (call_id, name, arguments) in enumerate(_calls(said, number)):
        function = {"name": name, "arguments": arguments}
        call = {"index": index, "id": call_id, "type": "function", "function": function}
        yield chunk({"tool_calls": [call]})
    yield chunk({}, said.finish or ("tool_calls" if said.calls else "stop"))
    tokens_in, tokens_out = _used(said, size)
    usage = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out}
    yield b"data: " + dumps({**base, "choices": [], "usage": usage}) + b"\n\n"
    yield b"data: [DONE]\n\n"


def _write_messages(said: Said, data: dict[str, Any], number: int, size: int) -> Iterator[bytes]:
    def event(kind: str, **fields: Any) -> bytes:
        return f"event: {kind}\ndata: ".encode() + dumps({"type": kind, **fields}) + b"\n\n"

    def block(index: int, opening: dict[str, Any], *deltas: dict[str, Any]) -> Iterator[bytes]:
        yield event("content_block_start", index=index, content_block=opening)
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)

    tokens_in, tokens_out = _used(said, size)
    message = {"id": f"msg_{number}", "model": data.get("model"), "role": "assistant"}
    usage = {"input_tokens": tokens_in, "output_tokens": 1}
    yield event("message_start", message={**message, "content": [], "usage": usage})
    index = 0
    if said.thinking:
        opening = {"type": "thinking", "thinking": "", "signature": ""}
        text = {"type": "thinking_delta", "thinking": said.thinking}
        signed = {"type": "signature_delta", "signature": f"sig{number}"}
        yield from block(index, opening, text, signed)
        index += 1
    if said.text:
        text = {"type": "text_delta", "text": said.text}
        yield from block(index, {"type": "text", "text": ""}, text)
        index += 1
    for call_id, name, arguments in _calls(said, number):
        use: dict[str, Any] = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
        yield from block(index, use, {"type": "input_json_delta", "partial_json": arguments})
        index += 1
    stop = said.finish or ("tool_use" if said.calls else "end_turn")
    yield event("message_delta", delta={"stop_reason": stop}, usage={"output_tokens": tokens_out})
    yield event("message_stop")
