"""The same record twice: in one file or in two, perhaps sent or scanned twice."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Sequence

from deskwork.tasks.extracted import Found, leaves

_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ].*)?")
_ENOUGH = 3
"""Filled fields that make a record one of its own, when none of them is a number."""


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
    filled = [value for _, value in leaves(item.record)]
    if len(filled) < _ENOUGH and not any(map(_tells, filled)):
        return ""
    text = json.dumps(item.record, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _tells(value: object) -> bool:
    """Whether a value may be one document's alone: a number, or a text with digits but no date."""
    if isinstance(value, str):
        return any(letter.isdigit() for letter in value) and not _DATE.fullmatch(value)
    return isinstance(value, int | float) and not isinstance(value, bool)
