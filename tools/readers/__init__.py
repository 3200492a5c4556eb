"""Readers: one module for each kind of file, each turning bytes into a `Document`.

The kind is told from the bytes first and from the name only where bytes can't tell. A reader's
library is imported when its first file comes, so that importing the tools stays cheap. Whatever
goes wrong inside a library comes out as one `BadFile` sentence that names the file.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from pathlib import Path

from deskwork.tools.documents import Document, Page
from deskwork.tools.errors import BadFile
from deskwork.tools.readers.kinds import sniff

# Raised when a change of the readers gives other text for the same bytes: stored pages of an
# older version are read again.
VERSION = 1

READERS = {
    "pdf": "pdf",
    "docx": "word",
    "xlsx": "workbook",
    "xls": "workbook",
    "csv": "separated",
    "text": "plain",
    "markdown": "plain",
    "html": "web",
}

# Kinds whose library can hang on a damaged file, out of Python's reach: read in another process.
APART = frozenset({"xls"})


@dataclass(frozen=True)
class Source:
    """What a reader gets: ``name`` is for messages, ``data`` the whole file."""

    name: str
    kind: str
    data: bytes
    password: str | None = None


def read(path: Path, *, password: str | None = None, name: str | None = None) -> Document:
    """Read a file of any known kind.

    Raises `BadFile` when it is locked, empty, broken or of no known kind, or can't be opened.
    """
    label = name or path.name
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadFile(f"{label} can't be opened: {error.strerror or error}.") from None
    return read_bytes(data, label, password=password)


def read_bytes(data: bytes, name: str, *, password: str | None = None) -> Document:
    """The same for a file that is already in memory; ``name`` gives the suffix and the label."""
    if not data:
        raise BadFile(f"{name} is empty (0 bytes).")
    kind = sniff(data, name)
    if kind is None:
        raise BadFile(
            f"{name} is of no kind that can be read.",
            "Readable kinds: PDF, DOCX, XLSX, XLS, CSV, text, Markdown, HTML.",
        )
    try:
        document = _read(Source(name, kind, data, password))
    except BadFile:
        raise
    except Exception as error:
        detail = " ".join(str(error).split())[:120] or type(error).__name__
        raise BadFile(f"{name} is broken: its {kind} content can't be read ({detail}).") from error
    if not document.pages:
        raise BadFile(f"{name} is empty: it holds no pages.")
    return replace(document, pages=tuple(_storable(page) for page in document.pages))


def _read(source: Source) -> Document:
    if source.kind in APART:
        from deskwork.tools.readers.apart import read_apart

        return read_apart(source)
    reader = importlib.import_module(f"{__name__}.{READERS[source.kind]}")
    document: Document = reader.read(source)
    return document


def _storable(page: Page) -> Page:
    """The page without lone surrogates: broken files hold them, and no database takes them."""
    if page.text.isascii():
        return page
    return replace(page, text=page.text.encode("utf-8", "replace").decode("utf-8"))
