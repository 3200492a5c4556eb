"""How a local model hears and speaks responses.

Its thinking is encrypted as ``enc:`` and the text, so that a test can see whether it came back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from deskwork.tasks.encoding import dumps, loads
from deskwork.tasks.local_turns import Asked, Turn, text_of

_TEXTS = ("input_text", "output_text")


def read(data: dict[str, Any]) -> Asked:
    """The request as plain data; the items of one reply are one message."""
    system = [data.get("instructions") or ""]
    messages: list[dict[str, Any]] = []
    given = data.get("input") or []
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    for item in items:
        kind = item.get("type", "message")
        if kind == "function_call_output":
            text = text_of(item["output"], _TEXTS)
            messages.append({"role": "tool", "text": text, "call": item["call_id"]})
        elif kind == "message" and item["role"] in ("system", "developer"):
            system.append(text_of(item["content"], _TEXTS))
        elif kind == "message" and item["role"] == "user":
            messages.append({"role": "user", "text": text_of(item["content"], _TEXTS)})
        else:
            _add_output(messages, kind, item)
    tools = [tool["name"] for tool in data.get("tools", [])]
    return Asked("".join(system), messages, tools, data)


def _add_output(messages: list[dict[str, Any]], kind: str, item: dict[str, Any]) -> None:
    if not messages or messages[-1]["role"] != "assistant":
        messages.append({"role": "assistant", "text": ""})
    reply = messages[-1]
    if kind == "message":
        reply["text"] += text_of(item["content"], _TEXTS)
    elif kind == "function_call":
        call = (item["name"], loads(item["arguments"] or "{}"), item["call_id"])
        reply.setdefault("calls", []).append(call)


def stream(turn: Turn) -> Iterator[bytes]:
    """The answer as events: each item as it is added, what is added to it, and as it is done."""
    count = iter(range(1_000_000))

    def event(kind: str, **fields: Any) -> bytes:
        data = {"type": f"response.{kind}", "sequence_number": next(count), **fields}
        return f"event: response.{kind}\ndata: ".encode() + dumps(data) + b"\n\n"

    begun = {**whole(turn), "status": "in_progress", "output": [], "usage": None}
    begun["incomplete_details"] = None
    yield event("created", response=begun)
    yield event("in_progress", response=begun)
    for index, item in enumerate(_output(turn)):
        opened = {**item, "status": "in_progress"}
        where = {"item_id": item["id"], "output_index": index}
        if item["type"] == "message":
            part = item["content"][0]
            yield event("output_item.added", output_index=index, item={**opened, "content": []})
            yield event("content_part.added", **where, content_index=0, part={**part, "text": ""})
            yield event(
                "output_text.delta", **where, content_index=0, delta=part["text"], logprobs=[]
            )
            yield event(
                "output_text.done", **where, content_index=0, text=part["text"], logprobs=[]
            )
            yield event("content_part.done", **where, content_index=0, part=part)
        elif item["type"] == "function_call":
            text = item["arguments"]
            yield event("output_item.added", output_index=index, item={**opened, "arguments": ""})
            yield event("function_call_arguments.delta", **where, delta=text)
            yield event("function_call_arguments.done", **where, name=item["name"], arguments=text)
        else:
            # What is added is unfinished: only the item that is done may be sent back.
            half = {**opened, "summary": [], "encrypted_content": "enc:half"}
            yield event("output_item.added", output_index=index, item=half)
        yield event("output_item.done", output_index=index, item=item)
    response = whole(turn)
    yield event(response["status"], response=response)


def whole(turn: Turn) -> dict[str, Any]:
    """The answer in one piece."""
    tokens_in, tokens_out = turn.used
    incomplete = turn.said.finish not in ("", "completed")
    return {
        "id": f"resp_{turn.number}",
        "object": "response",
        "created_at": 0,
        "model": turn.model,
        "status": "incomplete" if incomplete else "completed",
        "incomplete_details": {"reason": turn.said.finish} if incomplete else None,
        "error": None,
        "output": _output(turn),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": tokens_in,
            "input_tokens_details": {
                "cached_tokens": turn.part("cache_read"),
                "cache_write_tokens": 0,
            },
            "output_tokens": tokens_out,
            "output_tokens_details": {"reasoning_tokens": turn.part("reasoning")},
            "total_tokens": tokens_in + tokens_out,
        },
    }


def _output(turn: Turn) -> list[dict[str, Any]]:
    output: list[dict[str, Any]] = []
    if turn.said.thinking:
        output.append(
            {
                "id": f"rs_{turn.number}",
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": turn.said.thinking}],
                "encrypted_content": f"enc:{turn.said.thinking}",
                "status": "completed",
            }
        )
    if turn.said.text:
        part = {"type": "output_text", "text": turn.said.text, "annotations": [], "logprobs": []}
        output.append(
            {
                "id": f"msg_{turn.number}",
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "phase": "commentary" if turn.said.calls else "final_answer",
                "content": [part],
            }
        )
    for place, (call_id, name, arguments) in enumerate(turn.calls):
        output.append(
            {
                "id": f"fc_{turn.number}_{place}",
                "type": "function_call",
                "call_id": call_id,
                "name": name,
                "arguments": arguments,
                "status": "completed",
            }
        )
    return output
