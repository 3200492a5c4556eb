"""What a model extracted from one file: documents, their records, and the evidence of each field.

Nothing is taken on trust: a record must fit the schema, each value must have a quote, the quote
must stand in the file, and the value in the quote. What doesn't is a problem with its field named.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from deskwork.tasks.answer_json import answer_object
from deskwork.tasks.bearing import Notation, doubt
from deskwork.tasks.schema import RecordSchema, field_at
from deskwork.tools.errors import ToolError
from deskwork.tools.tool import Evidence

Find = Callable[[int | None, str], Evidence]
"""Finds a quote on a page of the file, or anywhere in it. Raises `ToolError`."""

MOST = 2_000
"""Documents that are taken of one answer; a file with more is split before it is given."""

Notate = Callable[[int], Notation]
"""How a page of the file writes numbers and dates."""


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
        evidence = {name: Evidence.from_json(item) for name, item in row["evidence"].items()}
        return cls(row["kind"], row["pages"], row["record"], evidence, row["problems"])


def read_answer(
    text: str, schema: RecordSchema, find: Find, notate: Notate, pages: int | None = None
) -> list[Found]:
    """The documents in a model's answer, checked; ``pages`` is how many the file has.

    Raises `ValueError` with a sentence where there are none, or where no record can hold what the
    answer does.
    """
    answer = answer_object(text)
    rows = answer.get("documents") if isinstance(answer, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError('The answer holds no list "documents".')
    found = [_checked(row, schema, find, notate, pages) for row in rows[:MOST]]
    if len(rows) > MOST:
        found[0].problems.append(
            f"/: the answer lists {len(rows):,} documents; the first {MOST:,} are taken, split "
            "the file for the rest"
        )
    return found


def _checked(
    row: dict[str, Any], schema: RecordSchema, find: Find, notate: Notate, pages: int | None
) -> Found:
    record = row.get("record")
    if not isinstance(record, dict):
        raise ValueError('A document holds no "record" object.')
    given_pages = row.get("pages")
    listed = given_pages if isinstance(given_pages, list) else []
    named = [n for n in listed if type(n) is int]
    there = [n for n in named if n >= 1 and (pages is None or n <= pages)]
    found = Found(
        kind=str(row.get("kind") or ""),
        pages=there,
        record=record,
        problems=schema.problems(record),
    )
    if wrong := [n for n in named if n not in there]:
        found.problems.append(_no_such_pages(wrong, pages))
    if next(leaves(record), None) is None:
        found.problems.append("/: the record is empty")
    given = row.get("evidence")
    given = given if isinstance(given, dict) else {}
    for pointer, value in leaves(record):
        evidence = _evidence(found, pointer, value, given.get(pointer), find)
        if evidence is None:
            continue
        found.evidence[pointer] = evidence
        field = field_at(schema.schema, pointer)
        if why := doubt(evidence.quote, value, field, notate(evidence.page)):
            quote = evidence.quote[:120]
            found.problems.append(f"{pointer}: {_shown(value)} {why}: “{quote}”")
    return found


def _no_such_pages(wrong: list[int], pages: int | None) -> str:
    listed = ", ".join(str(n) for n in wrong[:5]) + (", ..." if len(wrong) > 5 else "")
    last = "" if pages is None else f" to {pages}"
    return f"/: the answer names pages that are not there ({listed}); they are 1{last}"


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


def _evidence(found: Found, pointer: str, value: Any, given: Any, find: Find) -> Evidence | None:
    if not isinstance(given, dict) or not isinstance(given.get("quote"), str):
        found.problems.append(f"{pointer}: no evidence for {_shown(value)}")
        return None
    page = given.get("page")
    try:
        return find(page if type(page) is int else None, given["quote"])
    except ToolError as error:
        found.problems.append(f"{pointer}: {error.message}")
        return None


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:80]
