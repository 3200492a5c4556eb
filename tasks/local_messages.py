"""How a local model hears and speaks messages of content blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from deskwork.tasks.encoding import dumps, loads
from deskwork.tasks.local_turns import Asked, Turn, text_of


def read(data: dict[str, Any]) -> Asked:
    """The request as plain data; each tool result is a message of its own."""
    messages: list[dict[str, Any]] = []
    for message in data.get("messages", []):
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if message["role"] == "assistant":
            calls = [(b["name"], b["input"], b["id"]) for b in blocks if b["type"] == "tool_use"]
            row: dict[str, Any] = {"role": "assistant", "text": text_of(blocks)}
            messages.append({**row, "calls": calls} if calls else row)
            continue
        for block in blocks:
            if block["type"] == "tool_result":
                text = text_of(block["content"])
                messages.append({"role": "tool", "text": text, "call": block["tool_use_id"]})
        texts = [b for b in blocks if b["type"] != "tool_result"]
        if texts:
            messages.append({"role": "user", "text": text_of(texts)})
    tools = [tool["name"] for tool in data.get("tools", [])]
    return Asked(text_of(data.get("system")), messages, tools, data)


def stream(turn: Turn) -> Iterator[bytes]:
    """The answer as events."""

    def event(kind: str, **fields: Any) -> bytes:
        return f"event: {kind}\ndata: ".encode() + dumps({"type": kind, **fields}) + b"\n\n"

    start = {**_head(turn), "content": [], "stop_reason": None, "usage": _usage(turn, 1)}
    yield event("message_start", message=start)
    for index, (opening, deltas) in enumerate(_blocks(turn)):
        yield event("content_block_start", index=index, content_block=opening)
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    yield event("message_delta", delta=_stop(turn), usage={"output_tokens": turn.used[1]})
    yield event("message_stop")


def whole(turn: Turn) -> dict[str, Any]:
    """The answer in one piece."""
    content = []
    if turn.said.thinking:
        block = {"type": "thinking", "thinking": turn.said.thinking}
        content.append({**block, "signature": f"sig{turn.number}"})
    if turn.said.text:
        content.append({"type": "text", "text": turn.said.text})
    for call_id, name, arguments in turn.calls:
        try:
            given = loads(arguments)
        except ValueError:
            given = arguments
        content.append({"type": "tool_use", "id": call_id, "name": name, "input": given})
    usage = _usage(turn, turn.used[1])
    return {**_head(turn), "content": content, **_stop(turn), "usage": usage}


def _head(turn: Turn) -> dict[str, Any]:
    return {
        "id": f"msg_{turn.number}",
        "type": "message",
        "role": "assistant",
        "model": turn.model,
        "stop_sequence": None,
    }


def _blocks(turn: Turn) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Each block as it opens, and what is added to it."""
    if turn.said.thinking:
        yield (
            {"type": "thinking", "thinking": "", "signature": ""},
            [
                {"type": "thinking_delta", "thinking": turn.said.thinking},
                {"type": "signature_delta", "signature": f"sig{turn.number}"},
            ],
        )
    if turn.said.text:
        yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": turn.said.text}]
    for call_id, name, arguments in turn.calls:
        use: dict[str, Any] = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
        yield use, [{"type": "input_json_delta", "partial_json": arguments}]


def _stop(turn: Turn) -> dict[str, Any]:
    usual = "tool_use" if turn.said.calls else "end_turn"
    return {"stop_reason": turn.said.finish or usual, "stop_sequence": None}


def _usage(turn: Turn, output: int) -> dict[str, Any]:
    cached = turn.part("cache_read")
    return {
        "input_tokens": turn.used[0] - cached,
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": 0,
        "output_tokens": output,
    }
