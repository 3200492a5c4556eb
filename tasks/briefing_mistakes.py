"""Mistakes in the file of a standing report, told by key, value and what fits there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

KINDS = ("mail", "chat", "webhook", "folder", "store")
_SECRET = ("password", "token")
_PATTERNS = {
    "name": "small letters, digits and hyphens, at most 50, such as weekly-margins",
    "url": "it is an address such as s3://bucket/reports",
}
_ADDRESS = "it is one mail address, such as desk@example.com"


def told(row: Any, known: Sequence[str]) -> str:
    """A row of pydantic's errors as a sentence; ``known`` are the keys that may stand there."""
    kind, where = row["type"], [part for part in row["loc"] if part not in KINDS]
    key = ".".join(str(part) for part in where)
    given = f"`{key}`" if key else "the file"
    if kind == "extra_forbidden":
        return f"{given}: there is no such key; here stand {', '.join(known)}"
    if kind == "missing":
        return f"{given}: it is missing; add it"
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        return f"{given}: `kind` is one of {', '.join(KINDS)}"
    if _may_be_secret(row["loc"]) and not isinstance(row["input"], dict):
        return f"{given}: write where the secret is, not the secret: {{env: VARIABLE}}"
    message = row["msg"].removeprefix("Value error, ")
    message = message[:1].lower() + message[1:]
    if isinstance(row["input"], dict):
        return f"{given}: {message}"
    if "pattern" in row.get("ctx", {}):
        message = _PATTERNS.get(str(where[-1]), _ADDRESS)
    return f"{given} can't be {row['input']!r}: {message}"


def _may_be_secret(where: Sequence[Any]) -> bool:
    """Whether a secret may stand there by mistake, so that its value isn't shown."""
    last = tuple(where[-2:])
    return last == ("chat", "url") or (where[-1:] or ("",))[-1] in (*_SECRET, "env", "block")
