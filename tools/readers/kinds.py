"""Telling a file's kind from its bytes; the suffix decides only between kinds of plain text."""

from __future__ import annotations

import re
import zipfile
from pathlib import PurePath

from deskwork.tools.errors import BadFile
from deskwork.tools.readers.archives import opened
from deskwork.tools.readers.encodings import decode, wide_without_mark
from deskwork.tools.readers.locks import OLE

KINDS_IN_WORDS = (
    "PDF, DOCX, XLSX, XLS, XLSB, PPTX, ODT, ODS, ODP, RTF, CSV, Parquet, JSON, text, Markdown, "
    "HTML, EML, MSG, ZIP, and images (PNG, JPEG, TIFF, WebP, GIF, BMP)"
)
_TEXT_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".eml": "eml",
}
_HTML = re.compile(
    r"^\s*(<\?xml[^>]*>\s*)?(<!--.{0,4000}?-->\s*)*(<!doctype\s+html|<html|<xhtml)", re.I | re.S
)
# A message begins with header lines; two of these among them tell it from a text about mail.
_HEADERS = re.compile(
    r"^(from|to|subject|date|received|message-id|mime-version|return-path|content-type"
    r"|delivered-to|cc|reply-to):",
    re.I | re.M,
)
_HEADER_LINE = re.compile(r"^([A-Za-z][A-Za-z0-9-]*:|[ \t]|From )")
_IMAGES = (
    b"\x89PNG\r\n\x1a\n",
    b"\xff\xd8\xff",
    b"II*\x00",
    b"MM\x00*",
    b"II+\x00",
    b"MM\x00+",
    b"GIF87a",
    b"GIF89a",
)
_OPEN_DOCUMENT = {"text": "odt", "spreadsheet": "ods", "presentation": "odp"}


def sniff(data: bytes, name: str) -> str | None:
    """One of the readers' kinds, or None. Raises `BadFile` for a broken archive, and for kinds of
    old Office that are known but not read.

    What a file begins with decides; a PDF header may stand anywhere in the first 1024 bytes (as PDF
    viewers accept) of a file that begins like nothing else.
    """
    head = data[:1024]
    if head.lstrip().startswith(b"%PDF-"):
        return "pdf"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _packed(data, name)
    if head.startswith(OLE):
        return _compound(data, name)
    if head.startswith(_IMAGES) or (head.startswith(b"RIFF") and head[8:12] == b"WEBP"):
        return "image"
    if head.startswith(b"BM") and data[2:6] == len(data).to_bytes(4, "little"):
        return "image"
    if head.startswith(b"PAR1") and data.endswith(b"PAR1"):
        return "parquet"
    if head.lstrip().startswith(b"{\\rtf"):
        return "rtf"
    # Last of all: a ZIP holds the marks of PDFs that are stored in it. A text that speaks of PDFs
    # has the first mark, too, but not the end.
    if b"%PDF-" in head and b"%%EOF" in data[-2048:]:
        return "pdf"
    return _textual(data, name)


def _packed(data: bytes, name: str) -> str | None:
    archive = opened(data, name)
    names = set(archive.namelist())
    if any(part.startswith("word/document") for part in names):
        return "docx"
    if "xl/workbook.bin" in names:
        return "xlsb"
    if "xl/workbook.xml" in names:
        return "xlsx"
    if "ppt/presentation.xml" in names:
        return "pptx"
    if "content.xml" in names and "mimetype" in names:
        return _open_document(archive, name)
    return "zip"


def _open_document(archive: zipfile.ZipFile, name: str) -> str:
    try:
        said = archive.read("mimetype")[:200].decode("ascii", "replace")
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError, EOFError):
        raise BadFile(f"{name} is broken: its archive can't be opened.") from None
    for word, kind in _OPEN_DOCUMENT.items():
        if f"opendocument.{word}" in said:
            return kind
    return "zip"


def _compound(data: bytes, name: str) -> str | None:
    """OLE containers hold old Office files and Outlook's messages, told by their streams."""
    if "__properties_version1.0".encode("utf-16-le") in data:
        return "msg"
    if "WordDocument".encode("utf-16-le") in data:
        raise BadFile(
            f"{name} is a Word file of before 2007 (DOC), which isn't read.", "Save it as DOCX."
        )
    if "PowerPoint Document".encode("utf-16-le") in data:
        raise BadFile(
            f"{name} is a PowerPoint file of before 2007 (PPT), which isn't read.",
            "Save it as PPTX.",
        )
    books = (stream.encode("utf-16-le") for stream in ("Workbook", "Book"))
    return "xls" if any(book in data for book in books) else None


def _textual(data: bytes, name: str) -> str | None:
    if not _is_text(data):
        return None
    start = decode(data[:8192])[0]
    suffix = PurePath(name).suffix.lower()
    if _HTML.match(start):
        return "html"
    if _is_message(start):
        return "eml"
    if suffix in (".json", ".geojson") or (
        suffix not in _TEXT_SUFFIXES and suffix != ".txt" and _begins_json(start)
    ):
        return "json"
    return _TEXT_SUFFIXES.get(suffix, "text")


def _begins_json(start: str) -> bool:
    return re.match(r'\s*(\{\s*"|\[\s*[\[{"\d])', start) is not None


def _is_message(start: str) -> bool:
    first, *rest = start.lstrip("\ufeff\r\n").splitlines() or [""]
    if not _HEADER_LINE.match(first) or first[0].isspace():
        return False
    headers = [first]
    for line in rest:
        if not line.strip():
            break
        if not _HEADER_LINE.match(line):
            return False
        headers.append(line)
    found = {match.lower() for match in _HEADERS.findall("\n".join(headers))}
    # A memo has From, To, Subject and Date lines as well; what only machines write decides.
    return len(found) >= 2 and bool(
        found & {"received", "message-id", "mime-version", "return-path", "delivered-to"}
    )


def _is_text(data: bytes) -> bool:
    """Text has no NUL bytes (unless it is UTF-16) and hardly any control characters."""
    head = data[:65536]
    if head.startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")) or wide_without_mark(data):
        return True
    if b"\x00" in head:
        return False
    control = sum(byte < 32 and byte not in (9, 10, 12, 13, 27) for byte in head)
    return control <= len(head) * 0.01
