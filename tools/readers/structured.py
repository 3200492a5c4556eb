"""JSON: lists of objects and objects of equally long lists as tables, all else as lines.

Public data comes in both forms: facts of a company as lists of objects, its filings as columns.
A table is named by its path in the file, such as ``filings.recent``. A company's facts, as the
SEC gives them, name their concept and unit on each line.
"""

from __future__ import annotations

import json
from typing import Any

from deskwork.tools.documents import PAGE_CHARACTERS, Document, Page, Table, markdown_row
from deskwork.tools.errors import BadFile
from deskwork.tools.readers.company_facts import HEADER, fact_row, is_company_facts
from deskwork.tools.readers.encodings import decode
from deskwork.tools.readers.source import Source

_MAX_DEPTH = 100
_LEAST_ROWS = 2  # a list or columns of fewer are lines


def read(source: Source) -> Document:
    """Pages of bounded length; every page that goes on with a table begins with its header."""
    text, encoding = decode(source.data)
    try:
        # Numbers stay as they are written: 0.10 isn't 0.1, and long ones lose no digits.
        value = json.loads(text, parse_float=Written, parse_int=Written, parse_constant=Written)
    except (ValueError, RecursionError):
        return _as_text(source)
    sheet = _Sheet()
    if is_company_facts(value):
        sheet.company_facts(value)
    else:
        sheet.value("", value, 0)
    sheet.finish()
    if not sheet.pages:
        raise BadFile(f"{source.name} is empty: it holds no values.")
    return Document(source.name, "json", tuple(sheet.pages), {"encoding": encoding})


def _as_text(source: Source) -> Document:
    """What is named JSON but isn't (a line for each object, a comment on top) is read as text."""
    from deskwork.tools.readers import plain

    return plain.read(source)


class Written(str):
    """A number as it stands in the file."""


class _Sheet:
    """Fills pages with lines and tables."""

    def __init__(self) -> None:
        self.pages: list[Page] = []
        self._lines: list[str] = []
        self._tables: list[Table] = []
        self._size = 0

    def value(self, path: str, value: Any, depth: int) -> None:
        if depth > _MAX_DEPTH:
            self._line(f"{path}: (too deep to be read)")
        elif isinstance(value, dict):
            self._object(path, value, depth)
        elif isinstance(value, list):
            self._list(path, value, depth)
        else:
            self._line(f"{path}: {scalar(value)}" if path else scalar(value))

    def company_facts(self, value: dict[str, Any]) -> None:
        for key, item in value.items():
            if key != "facts":
                self.value(str(key), item, 0)
        for taxonomy, tags in value["facts"].items():
            for tag, concept in tags.items():
                path = f"facts.{taxonomy}.{tag}"
                for key, item in concept.items():
                    if key != "units":
                        self.value(f"{path}.{key}", item, 0)
                for unit, facts in concept["units"].items():
                    rows = [fact_row(f"{taxonomy}:{tag}", unit, fact) for fact in facts]
                    if rows:
                        self._table(f"{path}.units.{unit}", HEADER, rows)

    def finish(self) -> None:
        """Close the page that is being filled."""
        if self._lines:
            text = "\n".join(self._lines)
            self.pages.append(Page(len(self.pages) + 1, text, tuple(self._tables)))
        self._lines, self._tables, self._size = [], [], 0

    def _object(self, path: str, value: dict[str, Any], depth: int) -> None:
        lengths = {len(item) if isinstance(item, list) else -1 for item in value.values()}
        if len(value) > 1 and len(lengths) == 1 and max(lengths) >= _LEAST_ROWS:
            columns = list(value.values())
            if all(_flat(item) for column in columns for item in column):
                rows = [tuple(map(scalar, row)) for row in zip(*columns, strict=True)]
                self._table(path, tuple(value), rows)
                return
        for key, item in value.items():
            self.value(f"{path}.{key}" if path else str(key), item, depth + 1)

    def _list(self, path: str, value: list[Any], depth: int) -> None:
        if value and all(map(_flat, value)):
            self._line(f"{path}: {', '.join(map(scalar, value))}")
        elif value and all(isinstance(item, dict) for item in value):
            keys = tuple(dict.fromkeys(key for item in value for key in item))
            if keys and all(_flat(part) for item in value for part in item.values()):
                rows = [tuple(scalar(item.get(key)) for key in keys) for item in value]
                self._table(path, keys, rows)
                return
            self._each(path, value, depth)
        else:
            self._each(path, value, depth)

    def _each(self, path: str, value: list[Any], depth: int) -> None:
        for number, item in enumerate(value, 1):
            self.value(f"{path}[{number}]", item, depth + 1)

    def _line(self, line: str) -> None:
        self._room(len(line))
        self._lines.append(line)
        self._size += len(line) + 1

    def _table(self, path: str, header: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
        head = markdown_row(header)
        self._room(len(path) + 2 * len(head) + 100)
        kept: list[tuple[str, ...]] = []
        lines: list[str] = []
        size = 0
        for row in rows:
            line = markdown_row(row)
            if kept and self._size + size + len(line) > PAGE_CHARACTERS:
                self._put(path, header, kept, lines)
                self.finish()
                kept, lines, size = [], [], 0
            kept.append(row)
            lines.append(line)
            size += len(line) + 1
        self._put(path, header, kept, lines)

    def _put(
        self, path: str, header: tuple[str, ...], rows: list[tuple[str, ...]], lines: list[str]
    ) -> None:
        added = [f"{path}:", markdown_row(header), *lines]
        self._lines += added
        self._size += sum(len(line) + 1 for line in added)
        self._tables.append(Table((header, *rows), path))

    def _room(self, size: int) -> None:
        if self._size and self._size + size > PAGE_CHARACTERS:
            self.finish()


def _flat(value: Any) -> bool:
    return not isinstance(value, (dict, list))


def scalar(value: Any) -> str:
    """A plain value as it is written, without the quotes."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
