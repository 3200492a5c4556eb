"""Error cells of XLS and XLSB workbooks, which calamine gives as empty ones.

Only the records that bear errors are looked at. Sources: [MS-XLS] 2.4.24 (BoolErr) and 2.4.127
(Formula), [MS-XLSB] 2.4.311 (BrtCellError) and 2.4.670 (BrtFmlaError).
"""

from __future__ import annotations

import io
import posixpath
import struct
import zipfile
from collections.abc import Iterator

from deskwork.tools.readers.packages import xml
from deskwork.tools.readers.source import Source

_NAMES = {
    0x00: "#NULL!",
    0x07: "#DIV/0!",
    0x0F: "#VALUE!",
    0x17: "#REF!",
    0x1D: "#NAME?",
    0x24: "#NUM!",
    0x2A: "#N/A",
    0x2B: "#GETTING_DATA",
}
_MOST_ROWS = 100_000
"""Rows of one sheet with errors."""

Errors = dict[int, dict[int, str]]
"""The error of a cell, by its row and then its column, from 0."""


def errors_of(source: Source) -> dict[str, Errors]:
    """Error cells by sheet; nothing for other kinds, or where the file's records can't be read."""
    try:
        if source.kind == "xls":
            return _in_xls(source.data)
        if source.kind == "xlsb":
            return _in_xlsb(source.data)
    except Exception:  # noqa: BLE001 - damaged bytes fail in many ways; the values are read apart
        return {}
    return {}


def _in_xls(data: bytes) -> dict[str, Errors]:
    import olefile

    with olefile.OleFileIO(io.BytesIO(data)) as package:
        name = next(name for name in ("Workbook", "Book") if package.exists(name))
        stream = package.openstream(name).read()
    found: dict[str, Errors] = {}
    for kind, at, size in _records(stream, 0):
        if kind == 0x85 and size >= 8:  # BoundSheet8: where the sheet begins, and its name
            (start,) = struct.unpack_from("<I", stream, at)
            count, wide = stream[at + 6], stream[at + 7] & 1
            name_bytes = stream[at + 8 : at + 8 + count * (1 + wide)]
            title = name_bytes.decode("utf-16-le" if wide else "latin-1")
            found[title] = _errors_of_sheet(stream, start)
    return found


def _errors_of_sheet(stream: bytes, start: int) -> Errors:
    errors: Errors = {}
    for kind, at, size in _records(stream, start):
        if kind == 0x0A or len(errors) >= _MOST_ROWS:
            break
        if kind == 0x205 and size >= 8 and stream[at + 7] == 1:
            row, column = struct.unpack_from("<HH", stream, at)
            errors.setdefault(row, {})[column] = _NAMES.get(stream[at + 6], "#ERROR")
        # A formula's value that is no number says so in its last two bytes; 2 is an error.
        elif kind == 0x06 and stream[at + 12 : at + 14] == b"\xff\xff" and stream[at + 6] == 2:
            row, column = struct.unpack_from("<HH", stream, at)
            errors.setdefault(row, {})[column] = _NAMES.get(stream[at + 8], "#ERROR")
    return errors


def _records(stream: bytes, at: int) -> Iterator[tuple[int, int, int]]:
    """(kind, start of its data, size) of each record."""
    while at + 4 <= len(stream):
        kind, size = struct.unpack_from("<HH", stream, at)
        yield kind, at + 4, size
        at += 4 + size


def _in_xlsb(data: bytes) -> dict[str, Errors]:
    found: dict[str, Errors] = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        relations = xml(archive.read("xl/_rels/workbook.bin.rels"))
        targets = {entry.get("Id", ""): entry.get("Target", "") for entry in relations}
        book = archive.read("xl/workbook.bin")
        for kind, at, _ in _binary_records(book):
            if kind == 156:  # BrtBundleSh: state, number, relation, name
                relation, at = _wide(book, at + 8)
                title, _ = _wide(book, at)
                path = posixpath.normpath(posixpath.join("xl", targets[relation]))
                found[title] = _errors_of_part(archive.read(path.lstrip("/")))
    return found


def _errors_of_part(part: bytes) -> Errors:
    errors: Errors = {}
    row = 0
    for kind, at, _ in _binary_records(part):
        if kind == 0:  # BrtRowHdr
            (row,) = struct.unpack_from("<I", part, at)
        elif kind in (3, 11) and len(errors) < _MOST_ROWS:  # BrtCellError, BrtFmlaError
            (column,) = struct.unpack_from("<I", part, at)
            errors.setdefault(row, {})[column] = _NAMES.get(part[at + 8], "#ERROR")
    return errors


def _binary_records(part: bytes) -> Iterator[tuple[int, int, int]]:
    """(kind, start of its data, size); both numbers are of seven bits a byte."""
    at = 0
    while at < len(part):
        kind = part[at]
        at += 1
        if kind & 0x80:
            kind = (kind & 0x7F) | (part[at] & 0x7F) << 7
            at += 1
        size = shift = 0
        for shift in range(0, 28, 7):
            byte = part[at]
            at += 1
            size |= (byte & 0x7F) << shift
            if not byte & 0x80:
                break
        yield kind, at, size
        at += size


def _wide(part: bytes, at: int) -> tuple[str, int]:
    """A text with its length in front, and where it ends."""
    (length,) = struct.unpack_from("<I", part, at)
    end = at + 4 + 2 * length
    if end > len(part):
        raise ValueError("a text runs over the end")
    return part[at + 4 : end].decode("utf-16-le"), end
