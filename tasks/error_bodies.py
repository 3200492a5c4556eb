"""What an endpoint's error body says, in any server's shape: its text, its numbers, its ids.

Shapes and texts are those of the servers' own code, read in November 2026. Nothing here decides
what to do about an error; `model_errors` does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

_REQUEST_IDS = ("x-request-id", "request-id")
_OVERFLOW = (
    "context_length_exceeded",
    "maximum context length",
    "longer than the model's context length",
    "the model's context length is only",
    "prompt is too long",
    "exceed context limit",
    "exceeded model token limit",
    "exceed_context_size_error",
    "exceeds the available context size",
    "exceeds the maximum number of tokens allowed",
)
_LIMIT = (
    r"(?:maximum context length (?:of|is)|context length is only|context size|token limit:"
    r"|context length) \(?(\d+)",
    r"context limit: \d+ \+ \d+ > (\d+)",
    r"> (\d+) maximum",
    r"tokens allowed \((\d+)",
    r"(\d+) maximum context length",
    r"limit is (\d+)",
)
_USED = (
    r"(\d+) in the messages",
    r"\((\d+) of text input",
    r"[Pp]rompt contains (?:at least )?(\d+)",
    r"messages resulted in (\d+)",
    r"passed (?:at least )?(\d+) input",
    r"request has (\d+) input",
    r"The input \((\d+) tokens\)",
    r"(?:request|requested:?) \(?(\d+)(?: tokens)?\)",
    r"prompt is too long: (\d+)",
    r"context limit: (\d+) \+",
    r"token count \((\d+)\)",
    r"length is (\d+) while",
    r"requested (?:a total of |about )?(\d+) tokens",
)
_RESERVED = (
    r"requested (\d+) output tokens",
    r"(\d+) (?:of output|in the completion|in the output)",
    r"context limit: \d+ \+ (\d+)",
)


@dataclass(frozen=True)
class Said:
    """An error body, read: the message, its type and code in one text, and the request's id."""

    message: str
    kind: str = ""
    request_id: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def quoted(self) -> str:
        """The message in quotation marks and the request's id, short enough for a line."""
        text = " ".join(self.message.split())
        text = text if len(text) <= 300 else text[:297] + "..."
        quoted = f'"{text}"' if text else "with no text"
        return f"{quoted} (request {self.request_id})" if self.request_id else quoted


@dataclass(frozen=True)
class Overflow:
    """The numbers of a context overflow; None where the server doesn't say.

    ``used`` counts ``unit``; with ``at_least`` it is a lower bound, because the server stopped
    counting (vLLM). ``limit`` and ``reserved`` (kept for the output) are tokens.
    """

    used: int | None = None
    limit: int | None = None
    at_least: bool = False
    unit: Literal["tokens", "characters"] = "tokens"
    reserved: int | None = None


def read(body: bytes, headers: Mapping[str, str]) -> Said:
    """The error that a body tells. Headers are looked up in lower case."""
    text = body.decode("utf-8", "replace").strip()
    try:
        data: Any = json.loads(text)
    except ValueError:
        data = None
    found = [data.get("request_id")] if isinstance(data, dict) else []
    found += [headers.get(name) for name in _REQUEST_IDS]
    request_id = next((value for value in found if isinstance(value, str) and value), "")[:100]
    message, kind, fields = _parts(data, text)
    return Said(message, kind, request_id, fields)


def _parts(data: Any, text: str) -> tuple[str, str, dict[str, Any]]:
    if isinstance(data, list) and data:
        data = data[0]
    if not isinstance(data, dict):
        if "<html" in text[:500].lower():
            title = re.search(r"<title>(.*?)</title>", text, re.S | re.I)
            return (title.group(1).strip() if title else "an HTML page"), "", {}
        return text, "", {}
    inner = data.get("error", data)
    if not isinstance(inner, dict):
        return str(inner), "", {}
    message = inner.get("message") or inner.get("detail") or data.get("detail") or ""
    if not isinstance(message, str):
        message = json.dumps(message, ensure_ascii=False)
    details = inner.get("details")
    code = details.get("error_code", "") if isinstance(details, dict) else ""
    return message, f"{inner.get('type', '')} {inner.get('code', '')} {code}", {**data, **inner}


def overflow(said: Said) -> Overflow | None:
    """The overflow that is told, by code first and by text second, or None."""
    if not any(mark in f"{said.kind} {said.message}" for mark in _OVERFLOW):
        return None
    used, limit = said.fields.get("n_prompt_tokens"), said.fields.get("n_ctx")
    if isinstance(used, int) and isinstance(limit, int):  # llama.cpp
        return Overflow(used, limit)
    text = said.message
    characters = re.search(r"prompt contains (?:at least )?\d+ characters", text) is not None
    return Overflow(
        used=_number(_USED, text),
        limit=_number(_LIMIT, text),
        at_least=re.search(r"(?:contains|passed) at least \d+", text) is not None,
        unit="characters" if characters else "tokens",
        reserved=_number(_RESERVED, text),
    )


def refused_field(said: Said) -> str | None:
    """The request's field that the server doesn't know or take, or None.

    pydantic's ``extra_forbidden`` (Mistral and others built on FastAPI), OpenAI's
    ``unknown_parameter`` and ``unsupported_parameter``, Groq's and Cerebras's sentences.
    """
    for detail in _details(said.fields):
        if isinstance(detail, dict) and detail.get("type") == "extra_forbidden":
            place = detail.get("loc") or ()
            return ".".join(str(part) for part in place if part != "body") or "a field"
    if "unknown_parameter" in said.kind or "unsupported_parameter" in said.kind:
        return str(said.fields.get("param") or "a field")
    match = re.search(
        r"(?:Unrecognized request arguments? supplied: |property '|Unknown name \"|"
        r"[Uu]nknown field:? [`'\"]?|unsupported (?:field|property):? [`'\"]?)([\w.]+)",
        said.message,
    )
    return match.group(1) if match else None


def _details(fields: Mapping[str, Any]) -> list[Any]:
    for holder in (fields, fields.get("message")):
        details = holder.get("detail") if isinstance(holder, Mapping) else None
        if isinstance(details, list):
            return details
    return []


def _number(patterns: tuple[str, ...], text: str) -> int | None:
    # 1,048,576 as some gateways write it.
    plain = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    for pattern in patterns:
        if match := re.search(pattern, plain):
            return int(match.group(1))
    return None
