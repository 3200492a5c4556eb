"""The same record twice: in one file or in two, perhaps sent or scanned twice."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Sequence

from deskwork.tasks.extracted import Found, leaves
from deskwork.tasks.field_names import NUMBER_WORDS, words_of

_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ].*)?")
_ENOUGH = 3
"""Filled fields that make a record one of its own, when none of them is its number."""


class Twins:
    """The records of a job as they come; each that was there before is told once for its file."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}

    def tell(self, file: str, found: Sequence[Found]) -> None:
        """Add a problem to the first of each kind of record that was there before."""
        keys = [_key(item) for item in found]
        counts = Counter(key for key in keys if key)
        told: set[str] = set()
        for key, item in zip(keys, found, strict=True):
            if not key or key in told:
                continue
            told.add(key)
            before = self._first.setdefault(key, file)
            if before != file:
                item.problems.append(f"/: the same record as in {before}")
            if counts[key] > 1:
                item.problems.append(f"/: the same record {counts[key]} times in this file")


def _key(item: Found) -> str:
    """What two records that say the same have in common; "" for one that says too little."""
    filled = list(leaves(item.record))
    if len(filled) < _ENOUGH and not any(_tells(*field) for field in filled):
        return ""
    text = json.dumps(item.record, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _tells(pointer: str, value: object) -> bool:
    """Whether a value may be one document's alone: a number it bears, not a date or an amount."""
    if isinstance(value, str):
        return any(letter.isdigit() for letter in value) and not _DATE.fullmatch(value)
    named = NUMBER_WORDS.search(words_of(pointer.rpartition("/")[2]))
    return isinstance(value, int) and not isinstance(value, bool) and named is not None
