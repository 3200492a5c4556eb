"""XLS, XLSB and ODS by calamine, which is fast and reads all three.

It blanks error cells, which would turn a failed computation into nothing at all; they are read
apart and put in.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from deskwork.tools.documents import Document
from deskwork.tools.readers.archives import opened
from deskwork.tools.readers.cell_errors import Errors, errors_of
from deskwork.tools.readers.grid import Sheet, document, filled
from deskwork.tools.readers.source import Source, locked


def read(source: Source) -> Document:
    """Every sheet, hidden ones too (with a warning)."""
    if source.kind != "xls":
        opened(source.data, source.name).close()  # within the bounds on what it unpacks to
    return document(source, _sheets(source))


def _sheets(source: Source) -> Iterator[Sheet]:
    import python_calamine

    try:
        book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(source.data))
    except python_calamine.PasswordError:
        raise locked(source) from None
    failed = errors_of(source)
    for entry in book.sheets_metadata:
        if entry.typ != python_calamine.SheetTypeEnum.WorkSheet:
            continue
        sheet = book.get_sheet_by_name(entry.name)
        merges = [(*first, *last) for first, last in sheet.merged_cell_ranges or []]
        errors = failed.get(entry.name, {})
        found, top, left = _with_errors(sheet.iter_rows(), errors, sheet.start or (0, 0))
        # Rows come from the first that holds something; merges count from the sheet's corner.
        merges = [(a - top, b - left, c - top, d - left) for a, b, c, d in merges if a >= top]
        rows, numbers, cut = filled(found, merges)
        notes = []
        if entry.visible != python_calamine.SheetVisibleEnum.Visible:
            notes.append(f"The sheet {entry.name!r} is hidden in the workbook.")
        if errors:
            notes.append(
                f"{sum(map(len, errors.values()))} cells hold an error instead of a value."
            )
        if cut:
            notes.append(f"Only the first {len(rows):,} rows with content were read.")
        numbers = [number + top for number in numbers]
        yield Sheet(entry.name, rows, numbers, notes, left=left)


def _with_errors(
    rows: Iterable[list[Any]], errors: Errors, start: tuple[int, int]
) -> tuple[Iterator[list[Any]], int, int]:
    """The rows with their errors, which may stand outside of what holds values; and the row and
    column they begin at.
    """
    top, left = start
    if not errors:
        return iter(rows), top, left
    first = min(top, *errors)
    edge = min(left, *(column for row in errors.values() for column in row))

    def merged() -> Iterator[list[Any]]:
        number = first - 1
        padded = ([None] * (left - edge) + row for row in rows)
        for number, row in enumerate(chain([[]] * (top - first), padded), first):
            yield _with_row_errors(row, errors.get(number), edge)
        for later in range(number + 1, max(errors) + 1):
            yield _with_row_errors([], errors.get(later), edge)

    return merged(), first, edge


def _with_row_errors(row: list[Any], errors: dict[int, str] | None, left: int) -> list[Any]:
    if not errors:
        return row
    cells = [*row, *[None] * (max(errors) - left + 1 - len(row))]
    return [errors.get(at, value) for at, value in enumerate(cells, left)]
