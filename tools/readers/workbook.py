"""XLSX by openpyxl in read-only mode: values, and beside them the formulas they come from.

A sheet's claimed range may run to a million empty rows, so rows and columns are cut to those that
hold something. Read-only mode leaves out merges, comments and pivots; they are read from the XML.
"""

from __future__ import annotations

import io
import posixpath
import re
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from deskwork.tools.documents import Document
from deskwork.tools.readers.archives import opened
from deskwork.tools.readers.grid import MAX_COLUMNS, Merge, Sheet, document, filled
from deskwork.tools.readers.packages import told_macros, usual, xml
from deskwork.tools.readers.source import Source

_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\s[^>]*?ref="([A-Z]+)(\d+):([A-Z]+)(\d+)"')
_FORMULA = re.compile(rb"<(?:\w+:)?f[\s>/]")
_HIDDEN_ROW = re.compile(rb'<(?:\w+:)?row\s[^>]*?\bhidden="(?:1|true)"')
_HIDDEN_COLUMN = re.compile(rb'<(?:\w+:)?col\s[^>]*?\bhidden="(?:1|true)"')
_MAX_FORMULAS = 20_000  # told for each sheet
_MAX_MERGES = 10_000
_ERRORS = frozenset({"#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"})


def read(source: Source) -> Document:
    """Every sheet, hidden ones too (with a warning). Raises `BadFile` when all are empty."""
    data, _ = usual(source)
    return document(source, _sheets(replace(source, data=data)), told_macros(source))


def _sheets(source: Source) -> Iterator[Sheet]:
    import openpyxl

    # It prints a warning for each extension it leaves out (validations, charts): none holds values.
    warnings.filterwarnings("ignore", category=UserWarning, module="openpyxl")
    with opened(source.data, source.name) as archive:
        options = {"read_only": True, "keep_links": False}
        book = openpyxl.load_workbook(io.BytesIO(source.data), data_only=True, **options)
        formulas = openpyxl.load_workbook(io.BytesIO(source.data), data_only=False, **options)
        try:
            for sheet in book.worksheets:
                yield _sheet(sheet, formulas[sheet.title], archive)
        finally:
            book.close()
            formulas.close()


def _sheet(sheet: Any, with_formulas: Any, archive: zipfile.ZipFile) -> Sheet:
    path = sheet._worksheet_path
    part = archive.read(path)
    # Without this, a sheet whose stored range is wrong yields one cell or a million.
    sheet.reset_dimensions()
    formulas: dict[str, str] = {}
    unknown: dict[str, str] = {}
    if _FORMULA.search(part):
        formulas = _formulas(with_formulas)
    rows, numbers, cut = filled(_values(sheet, formulas, unknown), _merges(part))
    notes = []
    if sheet.sheet_state != "visible":
        notes.append(f"The sheet {sheet.title!r} is hidden in the workbook.")
    if cut:
        notes.append(f"Only the first {len(rows):,} rows with content were read.")
    if unknown:
        notes.append(
            f"{len(unknown)} formulas have no stored value; the formula stands in the cell."
        )
    errors = sum(cell in _ERRORS for row in rows for cell in row)
    if errors:
        notes.append(f"{errors} cells hold an error instead of a value.")
    for count, what in (
        (len(_HIDDEN_ROW.findall(part)), "rows"),
        (len(_HIDDEN_COLUMN.findall(part)), "groups of columns"),
    ):
        if count:
            notes.append(f"{count} {what} of this sheet are hidden; they are read as well.")
    below: list[str] = []
    for kind, target in _related(archive, path):
        if kind == "pivotTable":
            notes.append("This sheet holds a pivot table, which repeats figures of its source.")
        elif kind == "comments":
            below += _comments(archive, target)
    if below:
        below.insert(0, "Comments:")
    return Sheet(sheet.title, rows, numbers, list(dict.fromkeys(notes)), formulas, below)


def _values(
    sheet: Any, formulas: dict[str, str], unknown: dict[str, str]
) -> Iterator[tuple[Any, ...]]:
    """The rows' values; a formula that was never computed stands for its value."""
    if not formulas:
        yield from sheet.iter_rows(values_only=True, max_col=MAX_COLUMNS)
        return
    blank: Any = None
    nothing: tuple[Any, ...] = ()
    for row in sheet.iter_rows(max_col=MAX_COLUMNS):
        if row is blank:
            yield nothing
            continue
        values = []
        for cell in row:
            value = cell.value
            # Read-only mode gives cells without a place where nothing is stored.
            if value is None and hasattr(cell, "column_letter"):
                value = formulas.get(cell.coordinate)
                if value is not None:
                    unknown[cell.coordinate] = value
            values.append(value)
        if not any(hasattr(cell, "column_letter") for cell in row):
            blank = row
            yield nothing
            continue
        yield tuple(values)


def _formulas(sheet: Any) -> dict[str, str]:
    sheet.reset_dimensions()
    found: dict[str, str] = {}
    before: Any = None
    for row in sheet.iter_rows(max_col=MAX_COLUMNS):
        if row is before:
            continue
        before = row
        for cell in row:
            if cell.data_type != "f":
                continue
            value = cell.value
            found[cell.coordinate] = str(getattr(value, "text", value))  # array formulas
            if len(found) == _MAX_FORMULAS:
                return found
    return found


def _merges(part: bytes) -> list[Merge]:
    merges = []
    for match in _MERGED.finditer(part):
        left, top, right, bottom = match.groups()
        merges.append((int(top) - 1, _column(left), int(bottom) - 1, _column(right)))
        if len(merges) == _MAX_MERGES:
            break
    return merges


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters[:3]:
        number = number * 26 + letter - 64
    return number - 1


def _related(archive: zipfile.ZipFile, path: str) -> Iterator[tuple[str, str]]:
    """Kind and path of the parts that belong to a sheet."""
    folder, name = posixpath.split(path)
    try:
        root = xml(archive.read(f"{folder}/_rels/{name}.rels"))
    except KeyError:
        return
    for relation in root:
        target = posixpath.normpath(posixpath.join("/" + folder, relation.get("Target") or ""))
        yield (relation.get("Type") or "").rpartition("/")[2], target.lstrip("/")


def _comments(archive: zipfile.ZipFile, path: str) -> list[str]:
    """Each comment as a line with its cell and its author."""
    try:
        root = xml(archive.read(path))
    except KeyError:
        return []
    authors = [author.text or "" for author in root.iter("{*}author")]
    lines = []
    for comment in root.iter("{*}comment"):
        text = " ".join("".join(part.text or "" for part in comment.iter("{*}t")).split())
        number = int(comment.get("authorId") or 0)
        author = authors[number] if number < len(authors) else ""
        # Excel begins a comment's text with its author's name.
        who = "" if text.startswith(author) else f"{author}: "
        lines.append(f"- [{comment.get('ref')}] {who if author else ''}{text}")
    return lines
