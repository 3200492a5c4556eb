"""What a document job leaves: a workbook, the same as data, and a page for review.

The workbook has a sheet of records (lists in the records on sheets of their own), the evidence of
every field, the exceptions, and one row for every input file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import xlsxwriter

from deskwork.tasks import faults
from deskwork.tasks.extracted import Found
from deskwork.tools.errors import StorageError

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
_SHEET_NAME = 31
"""Characters of a sheet's name, at most (Excel)."""

Row = dict[str, Any]
Named = tuple[str, Found]
"""The name of the file, and a document in it."""


def records_json(job: str, state: str, files: Sequence[Row], found: Sequence[Named]) -> Row:
    """The job as data: ``records`` and ``files``, and what was flagged."""
    return {
        "job": job,
        "state": state,
        "records": [
            {
                "file": name,
                "document": item.kind,
                "pages": item.pages,
                "record": item.record,
                "evidence": {
                    pointer: {"id": e.id, "page": e.page, "quote": e.quote, "sha256": e.sha256}
                    for pointer, e in item.evidence.items()
                },
                "problems": item.problems,
            }
            for name, item in found
        ],
        "exceptions": exceptions_of(files, found),
        "files": list(files),
    }


def exceptions_of(files: Sequence[Row], found: Sequence[Named]) -> list[Row]:
    """What a person should look at: one row for each problem, of a field or of a whole file."""
    rows = [
        {"file": name, "field": problem.partition(": ")[0], "problem": problem.partition(": ")[2]}
        for name, item in found
        for problem in item.problems
    ]
    flagged = {row["file"] for row in rows}
    rows += [
        {"file": row["file"], "field": "", "problem": row["reason"] or row["state"]}
        for row in files
        if row["state"] not in ("done", "unpacked") and row["file"] not in flagged
    ]
    return rows


def write_outputs(path: Path, data: Row, review: str) -> list[Path]:
    """Write the workbook at ``path``, the data and the review page beside it; the paths.

    Each is written beside its place and moved there. Raises `StorageError`.
    """
    paths = [path, path.with_suffix(".json"), path.with_suffix(".html")]
    text = json.dumps(data, ensure_ascii=False, indent=1) + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _replaced(paths[0], lambda place: _workbook(place, data))
        _replaced(paths[1], lambda place: place.write_text(text, encoding="utf-8"))
        _replaced(paths[2], lambda place: place.write_text(review, encoding="utf-8"))
    except OSError as error:
        raise StorageError(
            f"The records can't be written to {path.parent}: {error.strerror or error}.",
            "Mend the folder or its free space, then run the same command again; "
            "no file is extracted twice.",
        ) from error
    return paths


def _replaced(path: Path, write: Callable[[Path], object]) -> None:
    temporary = path.with_name(f".{path.name}.part")  # the same after a kill: none is left over
    write(temporary)
    with temporary.open("rb+") as file:
        os.fsync(file.fileno())
    faults.point("publishing")
    temporary.replace(path)


def _workbook(path: Path, data: Row) -> None:
    # Texts are texts: a cell of a document that begins with = is no formula here.
    options = {"strings_to_formulas": False, "strings_to_urls": False, "constant_memory": True}
    with xlsxwriter.Workbook(str(path), options) as book:
        flat, lists = _flattened(data["records"])
        _sheet(book, "Records", flat)
        for name, rows in lists.items():
            _sheet(book, name, rows)
        _sheet(book, "Evidence", _evidence_rows(data["records"]), ("record", "file", "field"))
        _sheet(book, "Exceptions", data["exceptions"], ("file", "field", "problem"))
        _sheet(book, "Files", data["files"], FILE_COLUMNS)


def _flattened(records: Sequence[Row]) -> tuple[list[Row], dict[str, list[Row]]]:
    """(a row for each record, rows of each list of objects by its name)."""
    flat: list[Row] = []
    lists: dict[str, list[Row]] = {}
    for number, row in enumerate(records, 1):
        head = {"record": number, "file": row["file"]}
        fields: Row = {}
        for name, value in _fields(row["record"]):
            if isinstance(value, list) and value and all(isinstance(v, dict) for v in value):
                lists.setdefault(name, []).extend({**head, **dict(_fields(item))} for item in value)
            else:
                fields[name] = value
        flat.append({**head, "document": row["document"], **fields, "problems": row["problems"]})
    return flat, lists


def _fields(record: Row, prefix: str = "") -> Iterable[tuple[str, Any]]:
    for name, value in record.items():
        if isinstance(value, dict):
            yield from _fields(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _evidence_rows(records: Sequence[Row]) -> list[Row]:
    return [
        {
            "record": number,
            "file": row["file"],
            "field": pointer,
            "value": _at(row["record"], pointer),
            "page": item["page"],
            "quote": item["quote"],
            "id": item["id"],
        }
        for number, row in enumerate(records, 1)
        for pointer, item in row["evidence"].items()
    ]


def _at(value: Any, pointer: str) -> Any:
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        value = value[int(name)] if isinstance(value, list) else value[name]
    return value


def _sheet(
    book: xlsxwriter.Workbook, name: str, rows: Sequence[Row], first: Sequence[str] = ()
) -> None:
    used = {sheet.get_name().casefold() for sheet in book.worksheets()}
    clean = "".join("_" if letter in "[]:*?/\\'" else letter for letter in name)[:_SHEET_NAME]
    while clean.casefold() in used:
        clean = clean[: _SHEET_NAME - 2] + "_2"
    sheet = book.add_worksheet(clean or "Sheet")
    names = list(dict.fromkeys([*first, *(column for row in rows for column in row)]))
    bold = book.add_format({"bold": True, "bottom": 1})
    sheet.freeze_panes(1, 0)
    for column, title in enumerate(names):
        sheet.set_column(column, column, 18)
        sheet.write_string(0, column, title, bold)
    for line, row in enumerate(rows, 1):
        for column, title in enumerate(names):
            _cell(sheet, line, column, row.get(title))
    if rows:
        sheet.autofilter(0, 0, len(rows), len(names) - 1)


def _cell(sheet: Any, line: int, column: int, value: Any) -> None:
    if value is None or value == []:
        return
    if isinstance(value, bool):
        sheet.write_boolean(line, column, value)
    elif isinstance(value, int | float):
        sheet.write_number(line, column, value)
    elif isinstance(value, list):
        parts = (v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for v in value)
        sheet.write_string(line, column, "; ".join(parts)[:32_000])
    else:
        sheet.write_string(line, column, str(value)[:32_000])
