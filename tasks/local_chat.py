"""How a local model hears and speaks chat completions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from deskwork.tasks.encoding import dumps
from deskwork.tasks.local_turns import Asked, Turn, text_of


def read(data: dict[str, Any]) -> Asked:
    """The request as plain data."""
    system, messages = "", []
    for message in data.get("messages", []):
        role = message["role"]
        text = text_of(message.get("content"))
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


def stream(turn: Turn) -> Iterator[bytes]:
    """The answer as chunks, usage in a chunk of its own."""
    said = turn.said
    base = {
        "id": f"chat-{turn.number}",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": turn.model,
    }

    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return b"data: " + dumps({**base, "choices": [choice]}) + b"\n\n"

    yield chunk({"role": "assistant", "content": _content(turn)})
    if said.thinking:
        yield chunk({"reasoning_content": said.thinking})
    for index, call in enumerate(_calls(turn)):
        yield chunk({"tool_calls": [{"index": index, **call}]})
    yield chunk({}, _finish(turn))
    yield b"data: " + dumps({**base, "choices": [], "usage": _usage(turn)}) + b"\n\n"
    yield b"data: [DONE]\n\n"


def whole(turn: Turn) -> dict[str, Any]:
    """The answer in one piece."""
    message: dict[str, Any] = {"role": "assistant", "content": _content(turn)}
    if turn.said.thinking:
        message["reasoning_content"] = turn.said.thinking
    if turn.said.calls:
        message["tool_calls"] = list(_calls(turn))
    return {
        "id": f"chat-{turn.number}",
        "object": "chat.completion",
        "created": 0,
        "model": turn.model,
        "choices": [{"index": 0, "message": message, "finish_reason": _finish(turn)}],
        "usage": _usage(turn),
    }


def _content(turn: Turn) -> str | None:
    return turn.said.text or None if turn.said.calls else turn.said.text


def _calls(turn: Turn) -> Iterator[dict[str, Any]]:
    for call_id, name, arguments in turn.calls:
        function = {"name": name, "arguments": arguments}
        yield {"id": call_id, "type": "function", "function": function}


def _finish(turn: Turn) -> str:
    return turn.said.finish or ("tool_calls" if turn.said.calls else "stop")


def _usage(turn: Turn) -> dict[str, Any]:
    tokens_in, tokens_out = turn.used
    return {
        "prompt_tokens": tokens_in,
        "completion_tokens": tokens_out,
        "total_tokens": tokens_in + tokens_out,
        "prompt_tokens_details": {"cached_tokens": turn.part("cache_read")},
        "completion_tokens_details": {"reasoning_tokens": turn.part("reasoning")},
    }
