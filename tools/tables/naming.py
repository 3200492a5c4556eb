"""The tables of a collection under names for SQL, and each with its rows' places in its source.

``annual_report_p12_1`` is the first table on page 12 of ``annual-report.pdf``. A CSV or Parquet
file is one table under its own name, whatever pages it is read in. The names follow from the
files' order alone, so that a name means the same table in every call of a job.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath

from deskwork.tools.collection import Collection, SourceFile
from deskwork.tools.documents import Table
from deskwork.tools.rows import headings
from deskwork.tools.tables.columns import Column, columns_of, free_name

_WHOLE = ("csv", "parquet")
"""Kinds whose pages hold one table, its heading on each of them."""


@dataclass(frozen=True)
class NamedTable:
    """A table as SQL sees it. ``rows`` and ``pages`` say where each row stands: its number (a
    workbook's or a CSV's own, else counted in the table from 1) and its page.
    """

    name: str
    file: str
    title: str
    unit: str
    columns: tuple[Column, ...]
    rows: tuple[int, ...]
    pages: tuple[int, ...]

    @property
    def where(self) -> str:
        """``report.pdf, page 12``, or the pages from first to last."""
        first, last = self.pages[0], self.pages[-1]
        return f"{self.file}, page {first}" + (f" to {last}" if last != first else "")


def file_names(collection: Collection) -> dict[str, SourceFile]:
    """Each readable file under the name that its tables begin with."""
    taken: set[str] = set()
    named: dict[str, SourceFile] = {}
    for entry in collection.files:
        if entry.state == "ready":
            named[free_name(PurePath(entry.name).stem, taken, "file")] = entry
    return named


def tables_named(collection: Collection, words: Iterable[str]) -> list[NamedTable]:
    """The tables whose names stand among these words (lower case)."""
    wanted = set(words)
    found: list[NamedTable] = []
    for base, entry in file_names(collection).items():
        pattern = re.compile(rf"{re.escape(base)}_p(\d{{1,6}})_\d+")
        if entry.kind in _WHOLE:
            if base in wanted:
                found += whole_table(collection, base, entry)
            continue
        numbers = {int(match[1]) for word in wanted if (match := pattern.fullmatch(word))}
        for number in sorted(number for number in numbers if 1 <= number <= entry.pages):
            for table in page_tables(collection, base, entry, number):
                if table.name in wanted:
                    found.append(table)
    return found


def all_tables(collection: Collection, file: str = "") -> Iterator[NamedTable]:
    """Every table, or every one of a file. Raises `NotFound` for a file that isn't there."""
    only = collection.file(file).name if file else ""
    for base, entry in file_names(collection).items():
        if only and entry.name != only:
            continue
        if entry.kind in _WHOLE:
            yield from whole_table(collection, base, entry)
            continue
        for number in range(1, entry.pages + 1):
            yield from page_tables(collection, base, entry, number)


def whole_table(collection: Collection, base: str, entry: SourceFile) -> list[NamedTable]:
    """A file that is one table, joined from its pages."""
    cells: list[tuple[str, ...]] = []
    rows: list[int] = []
    pages: list[int] = []
    head: tuple[str, ...] = ()
    for number in range(1, entry.pages + 1):
        for table in collection.tables(entry.name, number):
            head = head or table.rows[0]
            cells += table.rows[1:]
            rows += table.numbers[1:] or range(len(rows) + 2, len(rows) + 1 + len(table.rows))
            pages += [number] * (len(table.rows) - 1)
    if not cells:
        return []
    columns = columns_of(_wide(head, cells), cells)
    return [NamedTable(base, entry.name, "", "", tuple(columns), tuple(rows), tuple(pages))]


def page_tables(
    collection: Collection, base: str, entry: SourceFile, number: int
) -> list[NamedTable]:
    """The tables of one page; those that hold nothing below their headings are left out."""
    found = []
    for place, table in enumerate(collection.tables(entry.name, number), 1):
        top = headings(table)
        cells = table.rows[top:]
        if not cells:
            continue
        columns = columns_of(_headings(table, top), cells)
        rows = table.numbers[top:] or tuple(range(top + 1, len(table.rows) + 1))
        name = f"{base}_p{number}_{place}"
        pages = (number,) * len(cells)
        found.append(
            NamedTable(name, entry.name, table.title, table.unit, tuple(columns), rows, pages)
        )
    return found


def _headings(table: Table, top: int) -> list[str]:
    width = max(len(row) for row in table.rows)
    return [
        " ".join(dict.fromkeys(filter(None, (_cell(row, place) for row in table.rows[:top]))))
        for place in range(width)
    ]


def _cell(row: tuple[str, ...], place: int) -> str:
    return row[place].strip() if place < len(row) else ""


def _wide(head: tuple[str, ...], cells: list[tuple[str, ...]]) -> list[str]:
    width = max(len(head), max(len(row) for row in cells))
    return [_cell(head, place) for place in range(width)]
