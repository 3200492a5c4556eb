"""Joins the events of a streamed message into its content blocks, unknown ones included."""

from __future__ import annotations

from typing import Any

from deskwork.tasks.chat_stream import is_count
from deskwork.tasks.encoding import dumps, loads
from deskwork.tasks.model_errors import BrokenStream, from_stream
from deskwork.tasks.replies import Finish, Reply, ToolCall, Usage, told
from deskwork.tasks.sse import Event

_FINISH: dict[str, Finish] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
    "pause_turn": "paused",
}
_DELTAS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
}


class MessagesParser:
    """Feed it events; `result` gives the reply."""

    def __init__(self) -> None:
        self._top: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, str] = {}
        self._open: set[int] = set()
        self._usage: dict[str, Any] = {}
        self._stop: str | None = None
        self._details: Any = None

    def feed(self, event: Event) -> None:
        """Take one event."""
        data = event.json()
        kind = data.get("type", event.name)
        if kind == "error":
            raise from_stream(data.get("error"), "The endpoint", data.get("request_id"))
        try:
            self._take(kind, data)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise BrokenStream(f"The stream held a malformed {kind} event: {error!r}.") from None

    def result(self) -> Reply:
        """The joined reply."""
        if self._stop is None or self._open:
            raise BrokenStream("The stream ended before the reply was complete.")
        content = []
        for index in sorted(self._blocks):
            block = self._blocks[index]
            if index in self._inputs:
                given = self._inputs[index]
                # Some servers send the whole input at the block's start and no fragment.
                block = {**block, "input": _parsed(given) if given else block.get("input") or {}}
            content.append(block)
        return reply_from(
            {
                **self._top,
                "content": content,
                "stop_reason": self._stop,
                "stop_details": self._details,
                "usage": self._usage,
            }
        )

    def _take(self, kind: str, data: dict[str, Any]) -> None:
        if kind == "message_start":
            message = data["message"]
            self._top = {name: message[name] for name in ("id", "model") if name in message}
            self._usage.update(message.get("usage") or {})
        elif kind == "content_block_start":
            block = dict(data["content_block"])
            # Blocks are put in order by it: what is no number must fail here.
            self._blocks[int(data["index"])] = block
            self._open.add(data["index"])
            if block.get("type") == "tool_use":
                self._inputs[data["index"]] = ""
        elif kind == "content_block_delta":
            self._delta(data["index"], data["delta"])
        elif kind == "content_block_stop":
            self._open.discard(data["index"])
        elif kind == "message_delta":
            delta = data["delta"]
            if delta.get("stop_reason"):
                self._stop = str(delta["stop_reason"])
                self._details = delta.get("stop_details")
            # Cumulative: it replaces what message_start said.
            self._usage.update(
                {k: v for k, v in (data.get("usage") or {}).items() if v is not None}
            )

    def _delta(self, index: int, delta: dict[str, Any]) -> None:
        block = self._blocks[index]
        kind = delta["type"]
        if kind == "input_json_delta":
            self._inputs[index] = self._inputs.get(index, "") + delta["partial_json"]
        elif kind == "citations_delta":
            block["citations"] = [*(block.get("citations") or []), delta["citation"]]
        elif kind in _DELTAS:
            name = _DELTAS[kind]
            block[name] = (block.get(name) or "") + delta[name]


def reply_from(data: Any) -> Reply:
    """The reply in a whole message object, streamed or not."""
    try:
        content = [dict(block) for block in data["content"]]
        return _reply(data, content)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise BrokenStream("The answer holds no message of the form due.") from None


def _reply(data: dict[str, Any], content: list[dict[str, Any]]) -> Reply:
    stop = str(data.get("stop_reason") or "end_turn")
    calls = tuple(
        ToolCall(told(block.get("id")), told(block.get("name")), _arguments(block.get("input")))
        for block in content
        if block.get("type") == "tool_use"
    )
    details = data.get("stop_details") or {}
    return Reply(
        # The details of a refusal stay on record; a refusal is never sent back.
        message={"content": content, **({"stop_details": details} if details else {})},
        text="".join(told(b.get("text")) for b in content if b.get("type") == "text"),
        calls=calls,
        finish=_FINISH.get(stop, "calls" if calls else "answer"),
        raw_finish=stop,
        usage=_usage(data.get("usage")),
        model=told(data.get("model")),
        response_id=told(data.get("id")),
        thinking="".join(told(b.get("thinking")) for b in content if b.get("type") == "thinking"),
        refusal=_refusal(details) if stop == "refusal" else "",
    )


def _refusal(details: dict[str, Any]) -> str:
    """What the server says of a refusal: its explanation, and the category with it."""
    category = f"category {details['category']}" if details.get("category") else ""
    known = [str(details.get("explanation") or ""), category]
    return "; ".join(part for part in known if part) or "refusal"


def _parsed(text: str) -> Any:
    """The input's JSON; what is no object stays as the text that it came as."""
    try:
        value = loads(text)
    except ValueError:
        return text
    return value if isinstance(value, dict) else text


def _arguments(value: Any) -> str:
    return value if isinstance(value, str) else dumps(value or {}).decode()


def _usage(data: Any) -> Usage | None:
    """Tokens; the input total includes what came from and went to the cache."""
    if not isinstance(data, dict) or not data:
        return None
    data = {name: value for name, value in data.items() if is_count(value) or value is None} | {
        "output_tokens_details": data.get("output_tokens_details")
    }
    read, write = data.get("cache_read_input_tokens"), data.get("cache_creation_input_tokens")
    fresh = data.get("input_tokens")
    details = data["output_tokens_details"]
    if not isinstance(details, dict):
        details = {}
    return Usage(
        input=None if fresh is None else fresh + (read or 0) + (write or 0),
        output=data.get("output_tokens"),
        cache_read=read,
        cache_write=write,
        reasoning=details["thinking_tokens"] if is_count(details.get("thinking_tokens")) else None,
    )
