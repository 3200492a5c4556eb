"""The workbook of a document job: records, their lists, evidence, exceptions, and every file.

Written row by row: columns are found in a first pass over the records, cells in a second.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import xlsxwriter

from deskwork.tasks.records_spool import Records, Row

FILE_COLUMNS = (
    "file",
    "state",
    "reason",
    "kind",
    "pages",
    "documents",
    "document_kinds",
    "sha256",
)
_EVIDENCE = ("record", "file", "field", "value", "page", "cell", "box", "quote", "id")
_OWN = ("record", "file", "document", "problems", "row", "in row")
"""Columns that are not the schema's: a field of such a name has the column `field: NAME`."""
_EXCEPTIONS = ("file", "field", "problem")
_SHEET_NAME = 31
"""Characters of a sheet's name, at most (Excel)."""
_CELL = 32_000
"""Characters of a cell, at most (Excel's own bound is 32,767)."""

_EXACT = 10**15
"""A larger number loses digits in a workbook: it is written as text."""


def write_book(path: Path, records: Records) -> None:
    """Write the workbook. Raises `OSError`."""
    # Texts are texts: a cell of a document that begins with = is no formula here.
    options = {"strings_to_formulas": False, "strings_to_urls": False, "constant_memory": True}
    with xlsxwriter.Workbook(str(path), options) as book:
        columns: dict[str, dict[str, None]] = {}
        for number, row in enumerate(records.found, 1):
            for name, line in _lines(number, row):
                columns.setdefault(name, {}).update(dict.fromkeys(line))
        sheets = {name: Sheet(book, name or "Records", list(columns[name])) for name in columns}
        if "" not in sheets:
            sheets = {"": Sheet(book, "Records", ["record", "file"]), **sheets}
        evidence = Sheet(book, "Evidence", _EVIDENCE)
        for number, row in enumerate(records.found, 1):
            for name, line in _lines(number, row):
                sheets[name].add(line)
            for line in _evidence_rows(number, row):
                evidence.add(line)
        exceptions = Sheet(book, "Exceptions", _EXCEPTIONS, records.exceptions())
        files = Sheet(book, "Files", FILE_COLUMNS, records.files)
        for sheet in (*sheets.values(), evidence, exceptions, files):
            sheet.close()


def _lines(number: int, row: Row) -> Iterator[tuple[str, Row]]:
    """(sheet, line): the record's own on the sheet "", and one for each object in its lists."""
    head = {"record": number, "file": row["file"]}
    fields, lists = _parted(row["record"], "")
    own = {"document": row["document"], **fields, "problems": row["problems"]}
    yield "", {**head, **own}
    for name, items in lists:
        yield from _list_lines(name, items, head, "")


def _list_lines(name: str, items: list[Row], head: Row, within: str) -> Iterator[tuple[str, Row]]:
    """The lines of a list, each followed by those of the lists in it.

    ``within`` is the row that the list stands in: ``2``, or ``2.1`` for the first row of a list in
    the second one's.
    """
    for number, item in enumerate(items, 1):
        fields, lists = _parted(item, "")
        place = {"in row": within, "row": number} if within else {"row": number}
        yield name, {**head, **place, **fields}
        below = f"{within}.{number}" if within else str(number)
        for inner, rows in lists:
            yield from _list_lines(f"{name}.{inner}", rows, head, below)


def _parted(record: Row, prefix: str) -> tuple[Row, list[tuple[str, list[Row]]]]:
    """A record's fields by column, and its lists of objects by name."""
    fields: Row = {}
    lists: list[tuple[str, list[Row]]] = []
    for name, value in _fields(record, prefix):
        if isinstance(value, list) and value and all(isinstance(v, dict) for v in value):
            lists.append((name, value))
        else:
            fields[f"field: {name}" if _is_ours(name) else name] = value
    return fields, lists


def _is_ours(name: str) -> bool:
    """Whether a field's name is a column of our own, or would be taken for a renamed one."""
    return name in _OWN or name.startswith("field: ")


def _fields(record: Row, prefix: str) -> Iterable[tuple[str, Any]]:
    for name, value in record.items():
        if isinstance(value, dict):
            yield from _fields(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _evidence_rows(number: int, row: Row) -> Iterator[Row]:
    for pointer, item in row["evidence"].items():
        yield {
            "record": number,
            "file": row["file"],
            "field": pointer,
            "value": at_pointer(row["record"], pointer),
            **{name: item[name] for name in ("page", "cell", "box", "quote", "id")},
        }


def at_pointer(value: Any, pointer: str) -> Any:
    """What stands at a JSON pointer of a record."""
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        value = value[int(name)] if isinstance(value, list) else value[name]
    return value


class Sheet:
    """A sheet under a header row, filled from the top."""

    def __init__(
        self,
        book: xlsxwriter.Workbook,
        name: str,
        columns: Sequence[str],
        rows: Iterable[Row] = (),
    ) -> None:
        self._columns = columns
        self._line = 0
        self._sheet = book.add_worksheet(_free_name(book, name))
        bold = book.add_format({"bold": True, "bottom": 1})
        self._sheet.freeze_panes(1, 0)
        for column, title in enumerate(columns):
            self._sheet.set_column(column, column, 18)
            self._sheet.write_string(0, column, title, bold)
        for row in rows:
            self.add(row)

    def add(self, row: Row) -> None:
        """Write one row; columns it lacks stay empty."""
        self._line += 1
        for column, title in enumerate(self._columns):
            _write(self._sheet, self._line, column, row.get(title))

    def close(self) -> None:
        """Put filters on the columns."""
        if self._line:
            self._sheet.autofilter(0, 0, self._line, len(self._columns) - 1)


def _free_name(book: xlsxwriter.Workbook, name: str) -> str:
    used = {sheet.get_name().casefold() for sheet in book.worksheets()}
    base = "".join("_" if letter in "[]:*?/\\'" else letter for letter in name) or "Sheet"
    clean, number = base[:_SHEET_NAME], 1
    while clean.casefold() in used:
        number += 1
        clean = base[: _SHEET_NAME - 3] + f"_{number}"
    return clean


def _write(sheet: Any, line: int, column: int, value: Any) -> None:
    if value is None or value == []:
        return
    if isinstance(value, bool):
        sheet.write_boolean(line, column, value)
    elif isinstance(value, int) and abs(value) > _EXACT:
        sheet.write_string(line, column, str(value))
    elif isinstance(value, int | float):
        sheet.write_number(line, column, value)
    elif isinstance(value, list):
        parts = (v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for v in value)
        sheet.write_string(line, column, "; ".join(parts)[:_CELL])
    else:
        sheet.write_string(line, column, str(value)[:_CELL])
