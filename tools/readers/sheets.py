"""XLS, XLSB and ODS by calamine, which is fast and reads all three. It blanks error cells."""

from __future__ import annotations

import io
from collections.abc import Iterator

from deskwork.tools.documents import Document
from deskwork.tools.readers.archives import opened
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
    for entry in book.sheets_metadata:
        if entry.typ != python_calamine.SheetTypeEnum.WorkSheet:
            continue
        sheet = book.get_sheet_by_name(entry.name)
        merges = [(*first, *last) for first, last in sheet.merged_cell_ranges or []]
        top, left = sheet.start or (0, 0)
        # Rows come from the first that holds something; merges count from the sheet's corner.
        merges = [(a - top, b - left, c - top, d - left) for a, b, c, d in merges if a >= top]
        rows, numbers, cut = filled(sheet.iter_rows(), merges)
        notes = []
        if entry.visible != python_calamine.SheetVisibleEnum.Visible:
            notes.append(f"The sheet {entry.name!r} is hidden in the workbook.")
        if cut:
            notes.append(f"Only the first {len(rows):,} rows with content were read.")
        numbers = [number + top for number in numbers]
        yield Sheet(entry.name, rows, numbers, notes, left=left)
