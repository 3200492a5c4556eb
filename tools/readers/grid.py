"""What all kinds of workbooks share: cells as text, rows cut to what they hold, a page a sheet."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from deskwork.tools.documents import Document, Page, Table, markdown_row
from deskwork.tools.errors import BadFile
from deskwork.tools.readers.source import Source
from deskwork.tools.readers.units import unit_of

MAX_ROWS = 100_000  # with content, for each sheet
MAX_COLUMNS = 512
_TITLE_ROWS = 8  # at the top of a sheet, where units are told

Merge = tuple[int, int, int, int]
"""First row, first column, last row, last column of merged cells, from 0."""


@dataclass
class Sheet:
    """One sheet as read: ``rows`` are its cells as text, without rows that hold nothing."""

    title: str
    rows: list[tuple[str, ...]]
    numbers: list[int]  # of the rows in their sheet, from 1
    notes: list[str] = field(default_factory=list)
    formulas: dict[str, str] = field(default_factory=dict)
    below: list[str] = field(default_factory=list)  # lines after the rows, such as comments
    left: int = 0  # the first cell's column, from 0


def document(source: Source, sheets: Iterable[Sheet], warnings: Sequence[str] = ()) -> Document:
    """A page for each sheet. Raises `BadFile` when none holds a value."""
    pages: list[Page] = []
    for sheet in sheets:
        rows, empty = narrowed(sheet.rows)
        notes = list(sheet.notes)
        if not rows and not sheet.below:
            notes.append("This sheet holds no values.")
        unit = unit_of([sheet.title, *(" ".join(row) for row in rows[:_TITLE_ROWS])])
        lines = [f"Sheet: {sheet.title}", *map(markdown_row, rows), *sheet.below]
        left = sheet.left + empty
        table = Table(rows, sheet.title, unit, sheet.formulas, tuple(sheet.numbers), left)
        pages.append(
            Page(
                number=len(pages) + 1,
                text="\n".join(lines).rstrip(),
                tables=(table,) if rows else (),
                warnings=tuple(notes),
                title=sheet.title,
            )
        )
    if not any(page.tables for page in pages):
        raise BadFile(f"{source.name} is empty: none of its sheets holds a value.")
    titles = [page.title for page in pages]
    return Document(source.name, source.kind, tuple(pages), {"sheets": titles}, tuple(warnings))


def filled(
    values: Iterable[Iterable[Any]], merges: Sequence[Merge]
) -> tuple[list[tuple[str, ...]], list[int], bool]:
    """Rows that hold something, as tuples of text; their numbers, from 1; whether more were there.

    A merged cell's value stands in each of its cells, so that every column under a header has its
    name, unless nothing else stands in its rows: a title over the whole table stands once.
    """
    starts: dict[int, list[Merge]] = {}
    for merge in merges:
        starts.setdefault(merge[0], []).append(merge)
    kept: list[tuple[str, ...]] = []
    numbers: list[int] = []
    down: list[tuple[Merge, str]] = []  # merges that go on in the rows below
    blank: Any = None  # openpyxl gives one and the same row for each of a million that are missing
    for number, row in enumerate(values):
        if row is blank and not down and number not in starts:
            continue
        cells = [cell_text(value) for value in row][:MAX_COLUMNS]
        for merge, text in down:
            if merge[1] < len(cells):
                cells[merge[1]] = cells[merge[1]] or text
        for merge in starts.get(number, ()):
            _spread(cells, merge)
            if merge[2] > number and merge[1] < len(cells):
                down.append((merge, cells[merge[1]]))
        if down:
            down = [(merge, text) for merge, text in down if merge[2] > number]
        while cells and not cells[-1]:
            cells.pop()
        if not cells:
            blank = row
            continue
        if len(kept) == MAX_ROWS:
            return kept, numbers, True
        kept.append(tuple(cells))
        numbers.append(number + 1)
    return kept, numbers, False


def _spread(cells: list[str], merge: Merge) -> None:
    """Repeat a merged header over its columns."""
    _, left, _, right = merge
    text = cells[left] if left < len(cells) else ""
    alone = not any(cells[:left]) and not any(cells[right + 1 :])
    if text and not alone:
        for column in range(left + 1, min(right + 1, len(cells))):
            cells[column] = cells[column] or text


def narrowed(rows: Sequence[tuple[str, ...]]) -> tuple[tuple[tuple[str, ...], ...], int]:
    """Without the columns on the left that are empty in every row, and how many those are."""
    left = min((next(i for i, cell in enumerate(row) if cell) for row in rows), default=0)
    return tuple(row[left:] for row in rows), left


def cell_text(value: Any) -> str:
    """A cell's value as text: whole numbers without a point, dates as ISO dates."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        # 15 significant digits are what a workbook itself stores and shows at most.
        return format(Decimal(f"{value:.15g}"), "f") if value == value else "NaN"
    if isinstance(value, datetime.datetime):
        midnight = value.time() == datetime.time()
        return value.date().isoformat() if midnight else value.isoformat(" ", "seconds")
    return str(value).strip()
