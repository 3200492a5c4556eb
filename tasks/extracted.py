"""What a model extracted from one file: documents, their records, and the evidence of each field.

Nothing is taken on trust: a record must fit the schema, each value must have a quote, the quote
must stand in the file, and the value in the quote. What doesn't is a problem with its field named.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from deskwork.tasks.plan import first_object
from deskwork.tasks.schema import RecordSchema
from deskwork.tools.errors import ToolError
from deskwork.tools.tool import Evidence

Find = Callable[[int | None, str], Evidence]
"""Finds a quote on a page of the file, or anywhere in it. Raises `ToolError`."""


_SCALES = (("thousand", 1e3), ("million", 1e6), ("billion", 1e9), ("%", 0.01))


@dataclass
class Found:
    """One document in a file, with its record.

    ``evidence`` maps a field's JSON pointer to the place its value stands at. ``problems`` are
    sentences that begin with the pointer.
    """

    kind: str
    pages: list[int]
    record: dict[str, Any]
    evidence: dict[str, Evidence] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Plain values, as an outcome keeps them."""
        return asdict(self)

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Found:
        """The inverse of `as_json`."""
        evidence = {name: Evidence(**item) for name, item in row["evidence"].items()}
        return cls(row["kind"], row["pages"], row["record"], evidence, row["problems"])


def read_answer(text: str, schema: RecordSchema, find: Find) -> list[Found]:
    """The documents in a model's answer, checked. Raises `ValueError` where there are none."""
    answer = first_object(text)
    rows = answer.get("documents") if isinstance(answer, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError('The answer holds no list "documents".')
    return [_checked(row, schema, find) for row in rows]


def _checked(row: dict[str, Any], schema: RecordSchema, find: Find) -> Found:
    record = row.get("record")
    if not isinstance(record, dict):
        raise ValueError('A document holds no "record" object.')
    pages = row.get("pages")
    found = Found(
        kind=str(row.get("kind") or ""),
        pages=[n for n in pages if type(n) is int] if isinstance(pages, list) else [],
        record=record,
        problems=schema.problems(record),
    )
    given = row.get("evidence")
    given = given if isinstance(given, dict) else {}
    for pointer, value in leaves(record):
        _check_evidence(found, pointer, value, given.get(pointer), find)
    return found


def leaves(value: Any, pointer: str = "") -> Iterator[tuple[str, Any]]:
    """(JSON pointer, value) of every field that holds something; null and empty text are none."""
    if isinstance(value, dict):
        for name, item in value.items():
            escaped = name.replace("~", "~0").replace("/", "~1")
            yield from leaves(item, f"{pointer}/{escaped}")
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from leaves(item, f"{pointer}/{number}")
    elif value not in (None, ""):
        yield pointer, value


def _check_evidence(found: Found, pointer: str, value: Any, given: Any, find: Find) -> None:
    if not isinstance(given, dict) or not isinstance(given.get("quote"), str):
        found.problems.append(f"{pointer}: no evidence for {_shown(value)}")
        return
    page = given.get("page")
    try:
        evidence = find(page if type(page) is int else None, given["quote"])
    except ToolError as error:
        found.problems.append(f"{pointer}: {error.message}")
        return
    found.evidence[pointer] = evidence
    if not bears_out(evidence.quote, value):
        found.problems.append(
            f"{pointer}: {_shown(value)} does not stand in its quote “{evidence.quote[:120]}”"
        )


def bears_out(quote: str, value: Any) -> bool:
    """Whether a value stands in a quote: a number by its digits, text by its words.

    Dates and choices may be written otherwise in the source, so one part of them is enough.
    """
    if isinstance(value, bool):
        return True
    if isinstance(value, int | float):
        return any(abs(abs(value) - number) < 1e-9 for number in numbers_in(quote))
    text, words = _folded(quote), _folded(str(value)).split()
    if not words:
        return True
    if re.fullmatch(r"\d{4}-\d\d-\d\d.*", str(value)):
        return str(value)[:4] in quote or str(value)[2:4] in quote
    return any(word in text for word in words) and (
        sum(word in text for word in words) >= len(words) / 2
    )


def numbers_in(text: str) -> list[float]:
    """Every reading of the numbers in a text: 1,234.5 and 1.234,5 and 1 234,5 are the same.

    A scale behind the number (thousand, million, %) gives one more reading.
    """
    found: list[float] = []
    for match in re.finditer(r"\d[\d.,'\u00a0\u202f ]*\d|\d", text):
        for reading in _readings(match.group()):
            found.append(reading)
            after = text[match.end() : match.end() + 12].lower()
            found += [reading * factor for word, factor in _SCALES if word in after]
    return found


def _readings(text: str) -> set[float]:
    readings = set()
    compact = re.sub(r"[\s'\u00a0\u202f]", "", text)
    for thousands, point in ((",", "."), (".", ",")):
        plain = compact.replace(thousands, "").replace(point, ".")
        try:
            readings.add(float(plain))
        except ValueError:
            continue
    for part in re.findall(r"\d+(?:[.,]\d+)?", text):
        readings.add(float(part.replace(",", ".")))
    return readings


def _folded(text: str) -> str:
    return " ".join(re.sub(r"[^\w]+", " ", text.casefold()).split())


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:80]
