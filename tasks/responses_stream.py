"""Joins the events of a streamed response into its output items, unknown ones included.

An item counts as it stands in ``response.output_item.done``: what ``added`` or the deltas said is
provisional. A response that failed, or ended in no final event, is no reply.
"""

from __future__ import annotations

import re
from typing import Any

from deskwork.tasks.chat_stream import is_count
from deskwork.tasks.encoding import dumps
from deskwork.tasks.model_errors import BrokenStream, from_stream
from deskwork.tasks.replies import Finish, Reply, ToolCall, Usage, told
from deskwork.tasks.sse import Event
from deskwork.tools.errors import Stop, Transient

_FINAL = ("response.completed", "response.incomplete")
_FAILED = ("response.failed", "response.cancelled")
# Codes of a failed response that name a fault of its input: it would fail again. Others may pass.
_LASTING = re.compile("invalid|image|policy|residency|context_length")


class ResponsesParser:
    """Feed it events; `result` gives the reply."""

    def __init__(self) -> None:
        self._items: dict[int, dict[str, Any]] = {}
        self._open: set[int] = set()
        self._top: dict[str, Any] = {}
        self._final: dict[str, Any] | None = None

    def feed(self, event: Event) -> None:
        """Take one event."""
        if event.data.strip() == "[DONE]":
            return
        data = event.json()
        kind = data.get("type") or event.name
        if kind == "error" or (data.get("error") and "response" not in data):
            # OpenAI sends the error's fields flat, others as an object.
            raise _failure(data.get("error") or {**data, "type": None})
        try:
            self._take(kind, data)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise BrokenStream(f"The stream held a malformed {kind} event: {error!r}.") from None

    def _take(self, kind: str, data: dict[str, Any]) -> None:
        if kind == "response.output_item.added":
            place = self._place(data, done=False)
            self._items[place] = dict(data["item"])
            self._open.add(place)
        elif kind == "response.output_item.done":
            place = self._place(data, done=True)
            self._items[place] = dict(data["item"])
            self._open.discard(place)
        elif kind in _FAILED:
            raise _failure(data["response"].get("error"))
        elif kind in _FINAL:
            status = kind.removeprefix("response.")
            self._final = {"status": status, **dict(data["response"])}
        elif kind == "response.created":
            response = data["response"]
            self._top = {name: response[name] for name in ("id", "model") if name in response}

    def _place(self, data: dict[str, Any], *, done: bool) -> int:
        """Where an item stands in the output. llama.cpp sends no index: then its id tells."""
        index = data.get("output_index")
        if index is not None:
            return int(index)
        item_id = data["item"].get("id")
        for place, item in self._items.items():
            if item_id and item.get("id") == item_id:
                return place
        if done and self._open:
            return max(self._open)
        return max(self._items, default=-1) + 1

    def result(self) -> Reply:
        """The joined reply."""
        if self._final is None:
            raise BrokenStream("The stream ended before the reply was complete.")
        try:
            output = self._output(self._final)
        except (TypeError, ValueError):
            raise BrokenStream("The stream's last event holds no output of the form due.") from None
        return reply_from({**self._top, **self._final, "output": output})

    def _output(self, final: dict[str, Any]) -> list[dict[str, Any]]:
        """The items that ended; those that didn't are taken from the last event, where it has them.

        In a reply that was cut, an item that never ended is left out.
        """
        whole = [dict(item) for item in final.get("output") or []]
        if not self._items:
            return whole
        output = []
        for index in sorted(self._items):
            if index not in self._open:
                output.append(self._items[index])
            elif 0 <= index < len(whole):
                output.append(whole[index])
            elif final["status"] != "incomplete":
                raise BrokenStream("The stream ended before an item of the reply did.")
        return output


def reply_from(data: Any) -> Reply:
    """The reply in a whole response object, streamed or not. Raises the error of a failed one."""
    try:
        status = data.get("status") or "completed"
        if status in ("failed", "cancelled"):
            raise _failure(data.get("error"))
        if status not in ("completed", "incomplete"):
            raise BrokenStream(f"The response came while it was still {status}.")
        return _reply(data, [dict(item) for item in data["output"]])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise BrokenStream("The answer holds no response of the form due.") from None


def _reply(data: dict[str, Any], output: list[dict[str, Any]]) -> Reply:
    raw = "completed"
    if data.get("status") == "incomplete":
        raw = str((data.get("incomplete_details") or {}).get("reason") or "max_output_tokens")
    calls = tuple(
        ToolCall(told(item.get("call_id")), told(item.get("name")), _text_of(item.get("arguments")))
        for item in output
        if item.get("type") == "function_call"
    )
    messages = [item for item in output if item.get("type") == "message"]
    refusal = _joined(messages, "refusal")
    return Reply(
        message={"output": output},
        # A model that marks its answer has said the rest by the way.
        text=_joined([m for m in messages if m.get("phase") == "final_answer"] or messages, "text"),
        calls=calls,
        finish=_finish(raw, bool(calls), bool(refusal)),
        raw_finish=raw,
        usage=_usage(data.get("usage")),
        model=told(data.get("model")),
        response_id=told(data.get("id")),
        thinking="".join(_thinking(item) for item in output if item.get("type") == "reasoning"),
        refusal=refusal,
    )


def _finish(raw: str, calls: bool, refusal: bool) -> Finish:
    if raw == "content_filter" or refusal:
        return "refused"
    if raw != "completed":
        return "length"
    return "calls" if calls else "answer"


def _joined(messages: list[dict[str, Any]], name: str) -> str:
    kind = "output_text" if name == "text" else name
    return "".join(
        told(part.get(name))
        for message in messages
        for part in message.get("content") or []
        if part.get("type") == kind
    )


def _thinking(item: dict[str, Any]) -> str:
    """The summary, or the text itself, which open models give."""
    parts = item.get("summary") or item.get("content") or []
    return "".join(told(part.get("text")) for part in parts)


def _text_of(arguments: Any) -> str:
    if isinstance(arguments, str) or arguments is None:
        return arguments or ""
    return dumps(arguments).decode()


def _failure(error: Any) -> Transient | Stop:
    """The error for an error object in a response, a stream, or an event of its own."""
    if not isinstance(error, dict):
        error = {"message": str(error or "the response failed")}
    code = error.get("code")
    if isinstance(code, str):
        lasting = _LASTING.search(code) is not None
        status = 400 if lasting else 429 if code == "rate_limit_exceeded" else 500
        # The code's place takes a status: its text moves to the type.
        error = {**error, "type": f"{error.get('type') or ''} {code}", "code": status}
    return from_stream(error, "The endpoint")


def _usage(data: Any) -> Usage | None:
    """Tokens; details are parts of the totals."""
    if not isinstance(data, dict) or not data:
        return None
    given, made = (
        part if isinstance(part := data.get(f"{name}_tokens_details"), dict) else {}
        for name in ("input", "output")
    )
    return Usage(
        input=_count(data.get("input_tokens")),
        output=_count(data.get("output_tokens")),
        cache_read=_count(given.get("cached_tokens")),
        cache_write=_count(given.get("cache_write_tokens")),
        reasoning=_count(made.get("reasoning_tokens")),
    )


def _count(value: Any) -> int | None:
    return value if is_count(value) else None
