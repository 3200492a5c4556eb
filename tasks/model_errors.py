"""What can go wrong with a model endpoint, split by what the caller should do.

    DeskworkError
    ├── Transient
    │   └── Unavailable       the same request may work later: connection, 408, 409, 429, 5xx
    │       ├── BrokenStream  the reply broke off; the part that came is thrown away
    │       └── Loading       the server runs and still loads its model
    └── Stop
        └── Rejected          the endpoint won't take this request; never sent again as it is
            ├── WrongKey      401 and 403
            ├── OutOfCredit   quota or balance used up
            ├── BodyTooLarge  the request has too many bytes
            ├── ImageRefused  a picture is not taken
            ├── FieldRefused  the server doesn't know a field: most likely another profile's
            └── ContextOverflow  the history is longer than the model's window

Facts on error bodies and texts: `error_bodies`.
"""

from __future__ import annotations

import contextlib
import email.utils
import json
import math
import time
from collections.abc import Mapping
from typing import Any

from deskwork.tasks import error_bodies
from deskwork.tasks.error_bodies import Overflow, Said
from deskwork.tools.errors import Stop, Transient

LONGEST_WAIT = 7 * 86_400.0
"""Seconds that a server may ask to be left alone; more is a mistake of the server."""


class Unavailable(Transient):
    """The endpoint can't answer now. ``shared``: another caller heard so; this one sent nothing."""

    shared = False


class BrokenStream(Unavailable):
    """A streamed reply ended before it was complete."""


class Loading(Unavailable):
    """The server is up and still loads its model; it takes requests when that is done."""


class Rejected(Stop):
    """The endpoint refused the request; the same bytes are never sent again."""


class WrongKey(Rejected):
    """The key is missing, wrong, or has no right to this model."""


class OutOfCredit(Rejected):
    """The account has no quota or balance left."""


class BodyTooLarge(Rejected):
    """The request has more bytes than the endpoint takes; tokens are another matter."""


class ImageRefused(Rejected):
    """The endpoint doesn't take a picture of the history."""


class FieldRefused(Rejected):
    """The endpoint doesn't know the request's ``field``, a dotted path."""

    def __init__(self, message: str, hint: str, field: str) -> None:
        super().__init__(message, hint)
        self.field = field


class ContextOverflow(Rejected):
    """The history doesn't fit into the model's context window; ``numbers`` are the server's."""

    def __init__(self, message: str, hint: str = "", numbers: Overflow | None = None) -> None:
        super().__init__(message, hint)
        self.numbers = numbers or Overflow()

    @property
    def used(self) -> int | None:
        """The size of the input, in ``unit``; the true size only without ``at_least``."""
        return self.numbers.used

    @property
    def limit(self) -> int | None:
        """The window in tokens."""
        return self.numbers.limit

    @property
    def at_least(self) -> bool:
        """True when the server stopped counting at ``used``."""
        return self.numbers.at_least

    @property
    def unit(self) -> str:
        """What ``used`` counts: tokens or characters."""
        return self.numbers.unit


_RETRIED = {408, 409, 425, 429, 529}
# Not implemented, and no such HTTP version: a server that is no model endpoint.
_NEVER = {501, 505}
_NO_CREDIT = (
    "insufficient_quota",
    "billing_hard_limit_reached",
    "exceeded_current_quota_error",
    "credit balance is too low",
)
_IMAGE = ("image_dimensions_too_large", "image exceeds", "invalid_image")
_SMALLER_HINT = (
    "Fork the job at an entry before its last pictures or long results "
    "(`deskwork fork JOB --at N`), and give fewer or smaller ones."
)
# llama.cpp answers 500 to a picture that its model can't see: it would do so again.
_SEES_NOTHING = "image input is not supported"
_STREAM_STATUS = {"overloaded_error": 529, "rate_limit_error": 429, "api_error": 500}


def from_response(
    status: int, headers: Mapping[str, str], body: bytes, where: str
) -> Transient | Stop:
    """The error for an HTTP answer that is no reply. ``where`` names the endpoint."""
    said = error_bodies.read(body, headers)
    if error := _for_good(status, said, where):
        return error
    retried = status in _RETRIED or (status >= 500 and status not in _NEVER)
    should_retry = headers.get("x-should-retry")
    if should_retry in ("true", "false"):
        retried = should_retry == "true"
    if retried:
        loading = status == 503 and "loading model" in said.message.lower()
        kind = Loading if loading else Unavailable
        return kind(f"{where} answered {status}: {said.quoted}.", retry_after=retry_after(headers))
    if status in (401, 403):
        return WrongKey(
            f"{where} refused the key (status {status}): {said.quoted}.",
            "Set DESKWORK_MODEL_KEY to a valid key, then run the same command again.",
        )
    if status in (404, 405, 501, 505):
        return Rejected(
            f"{where} knows no such address or model (status {status}): {said.quoted}.",
            "Check DESKWORK_MODEL_URL (it ends in /v1 as a rule) and DESKWORK_MODEL.",
        )
    refused = f"{where} refused the request (status {status}): {said.quoted}."
    if status in (400, 422) and (name := error_bodies.refused_field(said)):
        return FieldRefused(
            refused,
            f"It doesn't take {name}: set DESKWORK_PROFILE to the kind of server that it is.",
            name,
        )
    return Rejected(
        refused,
        "The same request is not sent again. `deskwork doctor` checks the endpoint and profile.",
    )


def _for_good(status: int, said: Said, where: str) -> Stop | None:
    """The errors that no header and no status make worth another try."""
    marks = f"{said.kind} {said.message}"
    if any(mark in marks for mark in _NO_CREDIT):
        return OutOfCredit(
            f"{where} has no credit or quota left: {said.quoted}.",
            "Add credit or another key, then run the same command again; nothing is lost.",
        )
    if numbers := error_bodies.overflow(said):
        return ContextOverflow(
            f"The history no longer fits into the model's window: {said.quoted}.",
            "Fork the job at an earlier entry, or ask anew with a larger model.",
            numbers,
        )
    if status == 413 or "request_too_large" in said.kind:
        return BodyTooLarge(f"{where} takes no request so large: {said.quoted}.", _SMALLER_HINT)
    if _SEES_NOTHING in said.message:
        return Rejected(
            f"{where} takes no pictures: {said.quoted}.",
            "Ask without pictures, or set DESKWORK_MODEL to a model that sees them.",
        )
    if status in (400, 422) and any(mark in marks for mark in _IMAGE):
        return ImageRefused(f"{where} doesn't take a picture: {said.quoted}.", _SMALLER_HINT)
    return None


def check_size(most: int | None, size: int, where: str) -> None:
    """Raise `BodyTooLarge` for a request of ``size`` bytes where the server takes ``most``."""
    if most is not None and size > most:
        raise BodyTooLarge(
            f"The request has {size:,} bytes and {where} takes {most:,}; it was not sent.",
            _SMALLER_HINT,
        )


def from_stream(error: Any, where: str, request_id: Any = None) -> Transient | Stop:
    """The error for an error object that came inside a stream or a body with status 200."""
    kind = error.get("type") if isinstance(error, dict) else None
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and code >= 400 else _STREAM_STATUS.get(str(kind), 502)
    body = {"error": error, "request_id": request_id}
    return from_response(status, {}, json.dumps(body).encode(), where)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds the server asks to wait: ``retry-after-ms``, else ``retry-after``, number or date.

    A date counts from the answer's own ``date``: the two clocks may differ.
    """
    with contextlib.suppress(KeyError, ValueError):
        return _seconds(headers["retry-after-ms"]) / 1000
    value = headers.get("retry-after")
    if value is None:
        return None
    with contextlib.suppress(ValueError):
        return _seconds(value)
    with contextlib.suppress(ValueError, TypeError):
        until = email.utils.parsedate_to_datetime(value).timestamp()
        with contextlib.suppress(KeyError, ValueError, TypeError):
            return max(0.0, until - email.utils.parsedate_to_datetime(headers["date"]).timestamp())
        return max(0.0, until - time.time())
    return None


def _seconds(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return min(max(0.0, value), LONGEST_WAIT)
