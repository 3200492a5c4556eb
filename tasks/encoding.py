"""One way to turn values into JSON bytes, used for the wire and for the journal alike.

Compact separators, UTF-8 text as it is, insertion order kept: the same value always gives the
same bytes. What JSON can't hold fails here, with its path, and never when it is read back.
"""

from __future__ import annotations

import json
import math
from typing import Any

from deskwork.tools.errors import DeskworkError


class NotStorable(DeskworkError):
    """A value can't be written as plain JSON. The message names its path."""


def dumps(value: Any) -> bytes:
    """Encode a JSON value. Lone surrogates become U+FFFD: no server accepts them.

    Raises `NotStorable` with the path of the first part that isn't a JSON value.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise NotStorable(f"Can't be stored as JSON: {_first_bad_path(value) or error}.") from None
    try:
        return text.encode()
    except UnicodeEncodeError:
        return clean(text).encode()


def loads(data: bytes | str) -> Any:
    """Decode JSON; the inverse of `dumps`. Raises `ValueError` for what JSON can't hold either.

    That is NaN and infinities, and nesting deeper than Python's stack.
    """
    try:
        return json.loads(data, parse_constant=_no_constant, parse_float=_finite)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is too large a number")
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


def clean(text: str) -> str:
    """The text with lone surrogates and NULs replaced by U+FFFD; PostgreSQL takes neither."""
    text = text.replace("\0", "\ufffd")
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _first_bad_path(value: Any, path: str = "$") -> str | None:
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                return f"{path} has the key {key!r}, which is not text"
            if found := _first_bad_path(item, f"{path}.{key}"):
                return found
        return None
    if isinstance(value, list | tuple):
        for index, item in enumerate(value):
            if found := _first_bad_path(item, f"{path}[{index}]"):
                return found
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return f"{path} is {value}"
    if value is None or isinstance(value, str | int | float | bool):
        return None
    return f"{path} is a {type(value).__name__}"
