"""What can go wrong with a model endpoint, split by what the caller should do.

    DeskworkError
    ├── Transient
    │   └── Unavailable       the same request may work later: connection, 408, 409, 429, 5xx
    │       └── BrokenStream  the reply broke off; the part that came is thrown away
    └── Stop
        └── Rejected          the endpoint won't take this request; never sent again as it is
            ├── WrongKey      401 and 403
            ├── OutOfCredit   quota or balance used up
            └── ContextOverflow  the history is longer than the model's window

Facts on error bodies and texts: each server's own code, read in November 2026.
"""

from __future__ import annotations

import contextlib
import email.utils
import json
import re
import time
from collections.abc import Mapping
from typing import Any

from deskwork.tools.errors import Stop, Transient


class Unavailable(Transient):
    """The endpoint can't answer now."""


class BrokenStream(Unavailable):
    """A streamed reply ended before it was complete."""


class Rejected(Stop):
    """The endpoint refused the request; the same bytes are never sent again."""


class WrongKey(Rejected):
    """The key is missing, wrong, or has no right to this model."""


class OutOfCredit(Rejected):
    """The account has no quota or balance left."""


class ContextOverflow(Rejected):
    """The history doesn't fit into the model's context window."""


_RETRIED = {408, 409, 425, 429, 529}
# Not implemented, and no such HTTP version: a server that is no model endpoint.
_NEVER = {501, 505}
_NO_CREDIT = (
    "insufficient_quota",
    "billing_hard_limit_reached",
    "exceeded_current_quota_error",
    "credit balance is too low",
)
_OVERFLOW = (
    "context_length_exceeded",
    "maximum context length",
    "longer than the model's context length",
    "prompt is too long",
    "exceeded model token limit",
    "exceed_context_size_error",
    "exceeds the available context size",
)
# llama.cpp answers 500 to a picture that its model can't see: it would do so again.
_SEES_NOTHING = "image input is not supported"
_STREAM_STATUS = {"overloaded_error": 529, "rate_limit_error": 429, "api_error": 500}


def from_response(
    status: int, headers: Mapping[str, str], body: bytes, where: str
) -> Transient | Stop:
    """The error for an HTTP answer that is no reply. ``where`` names the endpoint."""
    text = body.decode("utf-8", "replace").strip()
    try:
        data = json.loads(text)
    except ValueError:
        data = None
    message, kind = _message(data, text)
    said = f'"{_short(message)}"' if message else "with no text"
    marks = f"{kind} {message}"
    if any(mark in marks for mark in _NO_CREDIT):
        return OutOfCredit(
            f"{where} has no credit or quota left: {said}.",
            "Add credit or another key, then run the same command again; nothing is lost.",
        )
    if any(mark in marks for mark in _OVERFLOW):
        return ContextOverflow(
            f"The history no longer fits into the model's window: {said}.",
            "Fork the job at an earlier entry, or ask anew with a larger model.",
        )
    if _SEES_NOTHING in message:
        return Rejected(
            f"{where} takes no pictures: {said}.",
            "Ask without pictures, or set DESKWORK_MODEL to a model that sees them.",
        )
    retried = status in _RETRIED or (status >= 500 and status not in _NEVER)
    should_retry = headers.get("x-should-retry")
    if should_retry in ("true", "false"):
        retried = should_retry == "true"
    if retried:
        return Unavailable(f"{where} answered {status}: {said}.", retry_after=retry_after(headers))
    if status in (401, 403):
        return WrongKey(
            f"{where} refused the key (status {status}): {said}.",
            "Set DESKWORK_MODEL_KEY to a valid key, then run the same command again.",
        )
    if status in (404, 405, 501, 505):
        return Rejected(
            f"{where} knows no such address or model (status {status}): {said}.",
            "Check DESKWORK_MODEL_URL (it ends in /v1 as a rule) and DESKWORK_MODEL.",
        )
    return Rejected(
        f"{where} refused the request (status {status}): {said}.",
        "The same request is not sent again. `deskwork doctor` checks the endpoint and profile.",
    )


def from_stream(error: Any, where: str) -> Transient | Stop:
    """The error for an error object that came inside a stream with status 200."""
    kind = error.get("type") if isinstance(error, dict) else None
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and code >= 400 else _STREAM_STATUS.get(str(kind), 502)
    return from_response(status, {}, json.dumps({"error": error}).encode(), where)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds the server asks to wait: ``retry-after-ms``, else ``retry-after``, number or date."""
    with contextlib.suppress(KeyError, ValueError):
        return max(0.0, float(headers["retry-after-ms"]) / 1000)
    value = headers.get("retry-after")
    if value is None:
        return None
    with contextlib.suppress(ValueError):
        return max(0.0, float(value))
    with contextlib.suppress(ValueError, TypeError):
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    return None


def _message(data: Any, text: str) -> tuple[str, str]:
    """(message, type and code) of an error body in any server's shape."""
    if isinstance(data, list) and data:
        data = data[0]
    if not isinstance(data, dict):
        if "<html" in text[:500].lower():
            title = re.search(r"<title>(.*?)</title>", text, re.S | re.I)
            return (title.group(1).strip() if title else "an HTML page"), ""
        return text, ""
    inner = data.get("error", data)
    if not isinstance(inner, dict):
        return str(inner), ""
    message = inner.get("message") or inner.get("detail") or data.get("detail") or ""
    if not isinstance(message, str):
        message = json.dumps(message, ensure_ascii=False)
    return message, f"{inner.get('type', '')} {inner.get('code', '')}"


def _short(message: str) -> str:
    message = " ".join(message.split())
    return message if len(message) <= 300 else message[:297] + "..."
