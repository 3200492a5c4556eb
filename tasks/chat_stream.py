"""Joins the chunks of a streamed chat completion into one message.

Servers differ in how they split tool calls: deltas are joined by a new id first, then by index,
then to the last open call. An id and a name are set, never concatenated. A stream that ends with
no finish reason is a failure, though it ends cleanly.
"""

from __future__ import annotations

import json
from typing import Any

from deskwork.tasks.model_errors import BrokenStream, from_stream
from deskwork.tasks.replies import Finish, Reply, ToolCall, Usage, told
from deskwork.tasks.sse import Event

_JOINED_TEXT = ("content", "reasoning_content", "reasoning", "refusal")
_REFUSED = ("content_filter", "refusal")


class ChatParser:
    """Feed it events; `result` gives the reply."""

    def __init__(self) -> None:
        self._message: dict[str, Any] = {}
        self._calls: list[dict[str, Any]] = []
        self._indices: dict[Any, int] = {}
        self._finish: str | None = None
        self._usage: Any = None
        self._top: dict[str, Any] = {}

    def feed(self, event: Event) -> None:
        """Take one chunk."""
        if event.data.strip() == "[DONE]":
            return
        chunk = event.json()
        if chunk.get("error"):
            raise from_stream(chunk["error"], "The endpoint")
        try:
            self._take(chunk)
        except (AttributeError, TypeError, KeyError, ValueError) as error:
            raise BrokenStream(f"The stream held a malformed chunk: {error!r}.") from None

    def _take(self, chunk: dict[str, Any]) -> None:
        for name in ("id", "model"):
            if isinstance(chunk.get(name), str):
                self._top[name] = chunk[name]
        if chunk.get("usage"):
            self._usage = chunk["usage"]
        choices = chunk.get("choices")
        if not isinstance(choices, list):
            return
        for choice in choices:
            if not isinstance(choice, dict) or choice.get("index", 0) != 0:
                continue
            # Some servers send the usage inside the choice (Moonshot).
            if choice.get("usage"):
                self._usage = choice["usage"]
            delta = choice.get("delta") or choice.get("message") or {}
            if not isinstance(delta, dict):
                raise BrokenStream(f"The stream held the delta {delta!r}.")
            self._delta(delta)
            if choice.get("finish_reason"):
                self._finish = str(choice["finish_reason"])

    def result(self) -> Reply:
        """The joined reply."""
        if self._finish is None:
            raise BrokenStream("The stream ended before the reply was complete.")
        message = dict(self._message)
        if self._calls:
            message["tool_calls"] = self._calls
        return reply_from(
            {
                **self._top,
                "choices": [{"message": message, "finish_reason": self._finish}],
                "usage": self._usage,
            }
        )

    def _delta(self, delta: dict[str, Any]) -> None:
        for name in _JOINED_TEXT:
            if name in delta:
                value = delta[name]
                if isinstance(value, str):
                    self._message[name] = (self._message.get(name) or "") + value
                elif isinstance(value, list):
                    self._parts(value)
                elif name == "content":
                    self._message.setdefault(name, None)
        for detail in delta.get("reasoning_details") or []:
            self._detail(detail)
        calls = delta.get("tool_calls") or []
        if not isinstance(calls, list):
            raise BrokenStream("The stream held tool calls that are no list.")
        for call in calls:
            if isinstance(call, dict):
                self._call(call)

    def _parts(self, parts: list[Any]) -> None:
        """Content in parts, as Mistral streams it: text, and thinking of text parts."""
        for part in parts:
            if not isinstance(part, dict):
                continue
            thinking = part.get("type") == "thinking"
            text = _content_text(part.get("thinking")) if thinking else part.get("text")
            name = "reasoning_content" if thinking else "content"
            if isinstance(text, str):
                self._message[name] = (self._message.get(name) or "") + text

    def _detail(self, detail: Any) -> None:
        details = self._message.setdefault("reasoning_details", [])
        last = details[-1] if details else None
        same = (
            isinstance(detail, dict)
            and isinstance(last, dict)
            and detail.get("type") == last.get("type")
            and detail.get("index") == last.get("index")
            and detail.get("index") is not None
        )
        if not same or last is None:
            details.append(dict(detail) if isinstance(detail, dict) else detail)
            return
        for key, value in detail.items():
            joined = key in ("text", "summary", "data") and isinstance(last.get(key), str)
            last[key] = last[key] + value if joined and isinstance(value, str) else value

    def _call(self, delta: dict[str, Any]) -> None:
        call = self._find(delta)
        function = delta.get("function") or {}
        if delta.get("id"):
            call["id"] = delta["id"]
        if function.get("name"):
            call["function"]["name"] = function["name"]
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            call["function"]["arguments"] = (call["function"].get("arguments") or "") + arguments
        elif isinstance(arguments, dict):
            call["function"]["arguments"] = arguments
        for key, value in delta.items():
            if key not in ("id", "index", "type", "function"):
                call[key] = value

    def _find(self, delta: dict[str, Any]) -> dict[str, Any]:
        new_id, index = delta.get("id"), delta.get("index")
        if index in self._indices and index is not None:
            call = self._calls[self._indices[index]]
            if not new_id or not call.get("id") or call["id"] == new_id:
                return call
        elif index is None and self._calls:
            known = next((c for c in self._calls if new_id and c.get("id") == new_id), None)
            if known or not new_id:
                return known or self._calls[-1]
        call = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
        self._calls.append(call)
        self._indices[index] = len(self._calls) - 1
        return call


def reply_from(data: Any) -> Reply:
    """The reply in a whole ``chat.completion`` object, streamed or not."""
    try:
        choice = data["choices"][0]
        message = dict(choice["message"])
        return _reply(data, choice, message)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError):
        raise BrokenStream("The answer holds no message of the form due.") from None


def _reply(data: dict[str, Any], choice: dict[str, Any], message: dict[str, Any]) -> Reply:
    message.pop("role", None)
    raw_finish = str(choice.get("finish_reason") or "stop")
    calls = tuple(
        ToolCall(
            told(call.get("id")),
            told((call.get("function") or {}).get("name")),
            _text_of((call.get("function") or {}).get("arguments")),
        )
        for call in message.get("tool_calls") or []
    )
    return Reply(
        message=message,
        text=_content_text(message.get("content")),
        calls=calls,
        finish=_finish(raw_finish, bool(calls), bool(message.get("refusal"))),
        raw_finish=raw_finish,
        usage=_usage(data.get("usage")),
        model=told(data.get("model")),
        response_id=told(data.get("id")),
        thinking=told(message.get("reasoning_content") or message.get("reasoning"))
        or _content_thinking(message.get("content")),
        refusal=told(message.get("refusal")),
    )


def _finish(raw: str, calls: bool, refusal: bool) -> Finish:
    if raw == "length":
        return "length"
    if raw in _REFUSED or refusal:
        return "refused"
    return "calls" if calls else "answer"


def _content_text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _content_thinking(content: Any) -> str:
    """Thinking that stands in the content's parts, as Mistral takes it back."""
    parts = content if isinstance(content, list) else []
    return "".join(_content_text(part.get("thinking")) for part in parts if isinstance(part, dict))


def _text_of(arguments: Any) -> str:
    if isinstance(arguments, str) or arguments is None:
        return arguments or ""
    return json.dumps(arguments, ensure_ascii=False)


def _usage(data: Any) -> Usage | None:
    """Tokens in every server's spelling; details are parts of the totals."""
    if not isinstance(data, dict):
        return None
    prompt, completion = (
        part if isinstance(part := data.get(f"{name}_tokens_details"), dict) else {}
        for name in ("prompt", "completion")
    )
    return Usage(
        input=_first(data.get("prompt_tokens")),
        output=_first(data.get("completion_tokens")),
        cache_read=_first(
            prompt.get("cached_tokens"),
            data.get("prompt_cache_hit_tokens"),
            data.get("cached_tokens"),
        ),
        cache_write=_first(prompt.get("cache_write_tokens"), prompt.get("cache_creation_tokens")),
        reasoning=_first(completion.get("reasoning_tokens"), data.get("reasoning_tokens")),
    )


def _first(*values: Any) -> int | None:
    return next((value for value in values if is_count(value)), None)


def is_count(value: Any) -> bool:
    """True for a number of tokens that can be one; servers have sent text and worse."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**12
