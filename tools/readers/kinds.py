"""Telling a file's kind from its bytes; the suffix decides only between kinds of plain text."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import PurePath

from deskwork.tools.errors import BadFile

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_MAX_UNPACKED = 500_000_000  # bytes of an archive's parts together; more is a bomb
_TEXT_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
}
_HTML = re.compile(rb"^\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*(<!doctype\s+html|<html)", re.I | re.S)


def sniff(data: bytes, name: str) -> str | None:
    """One of the readers' kinds, or None. Raises `BadFile` for Office files that are locked.

    A PDF header may stand anywhere in the first 1024 bytes (as PDF viewers accept).
    """
    head = data[:1024]
    # A text that speaks of PDFs has the mark, too, but not the end.
    if head.lstrip().startswith(b"%PDF-") or (b"%PDF-" in head and b"%%EOF" in data[-2048:]):
        return "pdf"
    if head.startswith(b"PK\x03\x04"):
        return _office(data, name)
    if head.startswith(_OLE):
        # Encrypted OOXML is an OLE container with this stream name in UTF-16.
        if "EncryptedPackage".encode("utf-16-le") in data:
            raise BadFile(
                f"{name} is locked: it needs a password.",
                "Save it without a password; locked Office files can't be opened yet.",
            )
        return "xls" if any(book in data for book in _workbook_streams()) else None
    if not _is_text(data):
        return None
    if _HTML.match(data[:4096]):
        return "html"
    return _TEXT_SUFFIXES.get(PurePath(name).suffix.lower(), "text")


def _office(data: bytes, name: str) -> str | None:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        raise BadFile(f"{name} is broken: its archive can't be opened.") from None
    if sum(entry.file_size for entry in entries) > _MAX_UNPACKED:
        raise BadFile(f"{name} unpacks to more than {_MAX_UNPACKED:,} bytes.")
    names = {entry.filename for entry in entries}
    if any(part.startswith("word/document") for part in names):
        return "docx"
    if "xl/workbook.xml" in names:
        return "xlsx"
    return None


def _workbook_streams() -> tuple[bytes, ...]:
    return tuple(stream.encode("utf-16-le") for stream in ("Workbook", "Book"))


def _is_text(data: bytes) -> bool:
    """Text has no NUL bytes (unless marked as UTF-16) and hardly any control characters."""
    head = data[:65536]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    if b"\x00" in head:
        return False
    control = sum(byte < 32 and byte not in (9, 10, 12, 13, 27) for byte in head)
    return control <= len(head) * 0.01


def decode(data: bytes) -> tuple[str, str]:
    """The text and the encoding it was in: by mark, then UTF-8, then Windows' Western page."""
    for mark, encoding in (
        (b"\xef\xbb\xbf", "utf-8-sig"),
        (b"\xff\xfe", "utf-16"),
        (b"\xfe\xff", "utf-16"),
    ):
        if data.startswith(mark):
            return data.decode(encoding, errors="replace"), encoding
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace"), "cp1252"
