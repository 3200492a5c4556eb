"""The JSON in a model's answer, read so that nothing in it can break what comes after.

JSON as Python reads it holds more than a record may: numbers without end, halves of characters,
lists in lists without number. Each is refused here with a sentence that the model can act on.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

DEEPEST = 40
"""Levels of lists and objects in each other, at most; a record has three or four."""
_LONGEST_NUMBER = 300
"""Digits of a whole number, at most: a longer one has no place in a workbook."""
_TRIES = 200
"""Braces at which an object may begin, at most: an answer of braces alone is soon given up."""
_SURROGATE = re.compile("[\ud800-\udfff]")


class Refused(ValueError):
    """An answer holds what no record can hold; the message is for the model."""


def answer_object(text: str) -> Any:
    """The first JSON object in a text, words and fences around it left aside.

    Raises `ValueError` with a sentence for the model: no object, or one that no record can hold.
    """
    for match, _ in zip(re.finditer(r"\{", text), range(_TRIES), strict=False):
        try:
            value, _ = _DECODER.raw_decode(text, match.start())
        except Refused:
            raise
        except RecursionError:
            raise Refused(_TOO_DEEP) from None
        except ValueError:
            continue
        _check(value)
        return value
    raise ValueError("The answer holds no JSON object.")


_TOO_DEEP = f"The answer nests lists or objects more than {DEEPEST} deep."


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise Refused(f"The answer holds the number {text[:40]}, which is too large to be one.")
    return value


def _whole(text: str) -> int:
    if len(text) > _LONGEST_NUMBER:
        raise Refused(f"The answer holds a number of {len(text):,} digits.")
    return int(text)


def _constant(text: str) -> Any:
    raise Refused(f"The answer holds {text}, which is no number; leave the field out.")


_DECODER = json.JSONDecoder(parse_float=_number, parse_int=_whole, parse_constant=_constant)


def _check(value: Any) -> None:
    """Refuse what is nested too deep, and texts with half a character. Not recursive itself."""
    level = [value]
    for _ in range(DEEPEST):
        below: list[Any] = []
        for item in level:
            if isinstance(item, str):
                _check_text(item)
            elif isinstance(item, dict):
                for name in item:
                    _check_text(name)
                below += item.values()
            elif isinstance(item, list):
                below += item
        if not below:
            return
        level = below
    if any(isinstance(item, dict | list) for item in level):
        raise Refused(_TOO_DEEP)
    for item in level:
        if isinstance(item, str):
            _check_text(item)


def _check_text(text: str) -> None:
    if found := _SURROGATE.search(text):
        raise Refused(
            f"The answer holds \\u{ord(found.group()):04x}, half a character that no text can "
            "hold; write the character itself."
        )
