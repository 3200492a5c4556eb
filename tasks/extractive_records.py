"""The built-in answerer's extraction: the documents of a file, each with its record.

A file holds several where the field that tells documents apart (an invoice's number) is found
again with another value, where a message has them attached, and where the columns of a table are
the record's own fields, so that each row is one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from deskwork.tasks.extractive_fields import Shown, label_of, typed, value_of
from deskwork.tasks.extractive_tables import Row, rows_in
from deskwork.tasks.field_names import NUMBER_WORDS, words_of
from deskwork.tasks.schema import resolved

AGAIN = "\n\nAn earlier answer was checked and these problems were found:\n"
"""Begins what a second opening says below the pages."""
TABLES = "\n\n### Tables of this page\n\n"
"""Stands between a page's text and its tables, which the built-in answerer alone is shown."""
_PAGE = re.compile(r"^## Page (\d+)(?:: ([^\n]*))?\n\n", re.M)
_OTHERS = re.compile(
    r"\b(vat|tax|po|order|customer|client|phone|fax|account|iban|bank|supplier|vendor|postal|zip)\b"
)


def extraction(brief: str) -> str:
    """The answer to an extraction's opening."""
    schema = json.loads(brief.partition("```json\n")[2].partition("\n```")[0])
    pages = _pages(brief.rpartition(AGAIN)[0] or brief)
    documents = _Records(schema).of(pages)
    return json.dumps({"documents": documents}, ensure_ascii=False)


def _pages(brief: str) -> list[Shown]:
    parts = _PAGE.split(brief)[1:]
    pages = []
    for number, title, body in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        text, _, tables = body.partition(TABLES)
        pages.append(Shown(int(number), (title or "").partition(" · ")[0], text, tables))
    return pages


Document = dict[str, Any]


class _Records:
    """The records that pages hold by one schema."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._schema = schema
        fields = {
            name: resolved(field, schema)
            for name, field in schema.get("properties", {}).items()
            if isinstance(field, dict)
        }
        self._lists = {
            name: {
                field: resolved(inner, schema)
                for field, inner in item.get("properties", {}).items()
                if isinstance(inner, dict)
            }
            for name, value in fields.items()
            if value.get("type") == "array"
            and (item := resolved(value.get("items", {}), schema)) is not None
        }
        self._plain = {
            name: field
            for name, field in fields.items()
            if field.get("type") not in ("array", "object")
        }
        self._required = [name for name in schema.get("required", ()) if name in fields]
        self._kind = str(schema.get("title", "document")).lower()
        self._telling = self._telling_field()

    def of(self, pages: Sequence[Shown]) -> list[Document]:
        """The documents of a file, in its order."""
        by_part: dict[str, list[Shown]] = {}
        for page in pages:
            by_part.setdefault(page.title, []).append(page)
        if len(by_part) > 1:
            found = [item for part in by_part.values() for item in self._of_part(part)]
            if holding := [item for item in found if self._holds(item)]:
                return holding
        return self._of_part(pages)

    def _of_part(self, pages: Sequence[Shown]) -> list[Document]:
        if rows := self._as_rows(pages):
            return rows
        found: list[tuple[list[Shown], Document]] = []
        for part in self._split(pages):
            document = self._record(part)
            if found and not (document and self._holds(document)):
                # A number alone, as of an invoice that is spoken of: no document of its own.
                joined = [*found[-1][0], *part]
                found[-1] = (joined, self._record(joined) or found[-1][1])
            elif document:
                found.append((part, document))
        return [document for _, document in found]

    def _as_rows(self, pages: Sequence[Shown]) -> list[Document]:
        """A document for each row, where a table's columns are the record's own fields."""
        least = max(2, (2 * len(self._plain) + 2) // 3)
        rows = rows_in(pages, self._plain, least)
        needed = {name for name in self._required if name in self._plain}
        if not rows or not all(needed <= set(row.values) for row in rows[:1]):
            return []
        return [self._row(row) for row in rows]

    def _row(self, row: Row) -> Document:
        evidence = {f"/{_escaped(name)}": row.evidence for name in row.values}
        pages = [row.evidence["page"]]
        return {"kind": self._kind, "pages": pages, "record": row.values, "evidence": evidence}

    def _record(self, pages: Sequence[Shown]) -> Document | None:
        record: dict[str, Any] = {}
        evidence: dict[str, dict[str, Any]] = {}
        for name in self._schema.get("properties", {}):
            if name in self._lists:
                fields = self._lists[name]
                rows = rows_in(pages, fields, (len(fields) + 1) // 2) if fields else []
                for number, row in enumerate(rows):
                    for field in row.values:
                        evidence[f"/{_escaped(name)}/{number}/{_escaped(field)}"] = row.evidence
                if rows:
                    record[name] = [row.values for row in rows]
            elif name in self._plain and (found := value_of(name, self._plain[name], pages)):
                record[name], evidence[f"/{_escaped(name)}"] = found
        if not record:
            return None
        numbers = list(dict.fromkeys(page.number for page in pages))
        return {"kind": self._kind, "pages": numbers, "record": record, "evidence": evidence}

    def _holds(self, document: Document) -> bool:
        """Whether a document has what the schema requires, or half of its fields."""
        record = document["record"]
        if self._required:
            return all(name in record for name in self._required)
        return len(record) * 2 >= len(self._plain) + len(self._lists)

    def _telling_field(self) -> str:
        """The field that tells documents apart: a number or an id of the record's own."""
        named = [
            name
            for name in self._plain
            if NUMBER_WORDS.search(words_of(name)) and not _OTHERS.search(words_of(name))
        ]
        return min(named, key=lambda name: name not in self._required, default="")

    def _split(self, pages: Sequence[Shown]) -> list[list[Shown]]:
        """The pages of each document; a page that holds two is cut between them."""
        if not self._telling:
            return [list(pages)]
        label, field = label_of(self._telling), self._plain[self._telling]
        parts: list[list[Shown]] = [[]]
        current: Any = None
        for page in pages:
            lines = page.text.splitlines()
            begun = passed = 0
            for at, line in enumerate(lines):
                match = label.search(line)
                value = typed(line[match.end() :], field) if match else None
                if value is None or not any(letter.isdigit() for letter in str(value)):
                    continue
                if current is not None and value != current:
                    cut = self._beginning(lines, passed, at)
                    if cut > begun:
                        parts[-1].append(replace(page, text="\n".join(lines[begun:cut])))
                    parts.append([])
                    begun = cut
                current, passed = value, at + 1
            whole = replace(page, text="\n".join(lines[begun:])) if begun else page
            parts[-1].append(whole)
        return [part for part in parts if part]

    def _beginning(self, lines: Sequence[str], passed: int, at: int) -> int:
        """The line that a document begins with, whose number stands on line ``at``.

        ``passed`` is the first line after the number before it on the page, 0 without one.
        """
        for place in range(at, passed - 1, -1):
            words = lines[place].strip().strip("*# ").casefold()
            if lines[place].startswith("#") or (words and words in (self._kind, "invoice")):
                return place
        return at if passed else 0


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
