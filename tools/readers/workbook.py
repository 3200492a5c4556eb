"""Workbooks: each sheet is a page, its rows Markdown rows; values as shown, not formulas.

XLSX goes through openpyxl in read-only mode, XLS through calamine. A sheet's claimed range may
run to a million empty rows, so rows and columns are cut to those that hold something.
"""

from __future__ import annotations

import datetime
import io
import warnings
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from deskwork.tools.documents import Document, Page, Table, markdown_row
from deskwork.tools.errors import BadFile
from deskwork.tools.readers import Source

_MAX_ROWS = 100_000  # with content, for each sheet
_MAX_COLUMNS = 512
_MAX_EMPTY_RUN = 10_000  # empty rows in a row, after which a sheet counts as ended


def read(source: Source) -> Document:
    """Every sheet, hidden ones too (with a warning). Raises `BadFile` when all are empty."""
    sheets = _xlsx(source) if source.kind == "xlsx" else _xls(source)
    pages: list[Page] = []
    for title, hidden, rows, cut in sheets:
        notes = []
        if hidden:
            notes.append(f"The sheet {title!r} is hidden in the workbook.")
        if cut:
            notes.append(f"Only the first {len(rows):,} rows with content were read.")
        if not rows:
            notes.append("This sheet holds no values.")
        body = "\n".join(markdown_row(row) for row in rows)
        pages.append(
            Page(
                number=len(pages) + 1,
                text=f"Sheet: {title}\n{body}".rstrip(),
                tables=(Table(rows, title),) if rows else (),
                warnings=tuple(notes),
                title=title,
            )
        )
    if not any(page.tables for page in pages):
        raise BadFile(f"{source.name} is empty: none of its sheets holds a value.")
    return Document(
        file=source.name,
        kind=source.kind,
        pages=tuple(pages),
        metadata={"sheets": [page.title for page in pages]},
    )


_Sheet = tuple[str, bool, tuple[tuple[str, ...], ...], bool]


def _xlsx(source: Source) -> Iterable[_Sheet]:
    import openpyxl

    # It prints a warning for each extension it leaves out (validations, charts): none holds values.
    warnings.filterwarnings("ignore", category=UserWarning, module="openpyxl")
    book = openpyxl.load_workbook(io.BytesIO(source.data), read_only=True, data_only=True)
    try:
        for sheet in book.worksheets:
            # Without this, a sheet whose stored range is wrong yields one cell or a million.
            sheet.reset_dimensions()
            rows, cut = _rows(sheet.iter_rows(values_only=True, max_col=_MAX_COLUMNS))
            yield sheet.title, sheet.sheet_state != "visible", rows, cut
    finally:
        book.close()


def _xls(source: Source) -> Iterable[_Sheet]:
    import python_calamine

    book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(source.data))
    for entry in book.sheets_metadata:
        if entry.typ != python_calamine.SheetTypeEnum.WorkSheet:
            continue
        sheet = book.get_sheet_by_name(entry.name)
        rows, cut = _rows(iter(sheet.to_python(skip_empty_area=False)))
        yield (entry.name, entry.visible != python_calamine.SheetVisibleEnum.Visible, rows, cut)


def _rows(values: Iterable[Iterable[Any]]) -> tuple[tuple[tuple[str, ...], ...], bool]:
    """Rows that hold something, as text, and whether there were more than are read."""
    kept: list[tuple[str, ...]] = []
    empty = 0
    for row in values:
        cells = [_text(value) for value in row][:_MAX_COLUMNS]
        while cells and not cells[-1]:
            cells.pop()
        if not cells:
            empty += 1
            if empty > _MAX_EMPTY_RUN:
                break
            continue
        empty = 0
        if len(kept) == _MAX_ROWS:
            return _narrowed(kept), True
        kept.append(tuple(cells))
    return _narrowed(kept), False


def _narrowed(rows: list[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """Without the columns on the left that are empty in every row."""
    left = min((next(i for i, cell in enumerate(row) if cell) for row in rows), default=0)
    return tuple(row[left:] for row in rows)


def _text(value: Any) -> str:
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
