"""The readers' side that works on the bytes: called in the process that is kept apart for it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from deskwork.tools.documents import Document, Page
from deskwork.tools.errors import BadFile
from deskwork.tools.plugins import READERS as PLUGGED
from deskwork.tools.plugins import added
from deskwork.tools.readers.kinds import KINDS_IN_WORDS, sniff
from deskwork.tools.readers.locks import unlocked
from deskwork.tools.readers.source import MAX_DEPTH, Budget, Source

# A reader's library is imported when its first file comes.
READERS = {
    "pdf": "pdf",
    "docx": "word",
    "odt": "opendocument",
    "odp": "opendocument",
    "rtf": "rich",
    "xlsx": "workbook",
    "xls": "sheets",
    "xlsb": "sheets",
    "ods": "sheets",
    "pptx": "slides",
    "csv": "separated",
    "parquet": "columnar",
    "json": "structured",
    "text": "plain",
    "markdown": "plain",
    "html": "web",
    "eml": "mail",
    "msg": "outlook",
    "image": "images",
    "zip": "folder",
}


def read(source: Source) -> Document:
    """The document. Raises `BadFile` for whatever goes wrong, in one sentence."""
    if source.depth > MAX_DEPTH:
        raise BadFile(f"{source.name} lies more than {MAX_DEPTH} files deep; it is not opened.")
    source = told(source)
    try:
        document: Document = _reading(source)(source)
    except BadFile:
        raise
    except MemoryError:
        raise BadFile(f"{source.name} needs more memory than a file may take.") from None
    except Exception as error:
        detail = " ".join(str(error).split())[:120] or type(error).__name__
        raise BadFile(
            f"{source.name} is broken: its {source.kind} content can't be read ({detail})."
        ) from error
    if not document.pages:
        raise BadFile(f"{source.name} is empty: it holds no pages.")
    return replace(document, pages=tuple(_storable(page) for page in document.pages))


def told(source: Source) -> Source:
    """The source with its kind, and unlocked if it was a locked Office file."""
    if not source.data:
        raise BadFile(f"{source.name} is empty (0 bytes).")
    source = unlocked(source)
    kind = sniff(source.data, source.name)
    if kind is None and _added(source.name) is not None:
        kind = _suffix(source.name)
    if kind is None:
        raise BadFile(
            f"{source.name} is of no kind that can be read.", f"Readable kinds: {KINDS_IN_WORDS}."
        )
    return replace(source, kind=kind)


def picture(source: Source, page: int) -> bytes:
    """The page's picture as PNG. Raises `BadFile` for kinds and pages that have none."""
    source = told(source)
    reader: Any = _reader(source.kind) if source.kind in READERS else None
    try:
        if hasattr(reader, "picture") and page <= reader.count(source):
            png: bytes = reader.picture(source, page)
            return png
        if hasattr(reader, "inner_files"):
            return _part_picture(source, reader, page)
    except BadFile:
        raise
    except Exception as error:
        raise BadFile(f"The picture of page {page} of {source.name} can't be made.") from error
    raise BadFile(f"{source.name} is a {source.kind} file, whose pages have no picture.")


def _part_picture(source: Source, reader: Any, page: int) -> bytes:
    """The picture of a page that belongs to a file inside this one."""
    document = read(replace(source, budget=Budget()))
    if page > len(document.pages):
        raise BadFile(f"{source.name} has no page {page}; it has {len(document.pages)}.")
    direct = [part for part in document.metadata.get("parts", []) if "within" not in part]
    for part, (name, data) in zip(direct, reader.inner_files(source), strict=False):
        if part["pages"] and part["pages"][0] <= page <= part["pages"][1]:
            return picture(source.inner(name, data), page - part["pages"][0] + 1)
    raise BadFile(f"Page {page} of {source.name} has no picture.")


def _reading(source: Source) -> Callable[[Source], Document]:
    """Deskwork's own reader, or the one that a package adds for the suffix of a file whose bytes
    tell no kind.
    """
    own = None if source.kind in READERS and source.kind != "text" else _added(source.name)
    reading: Callable[[Source], Document] = own or _reader(source.kind).read
    return reading


def _added(name: str) -> Any:
    return added(PLUGGED).get(_suffix(name))


def _suffix(name: str) -> str:
    return PurePath(name).suffix.lower().removeprefix(".")


def _reader(kind: str) -> Any:
    return importlib.import_module(f"deskwork.tools.readers.{READERS[kind]}")


def _storable(page: Page) -> Page:
    """The page without lone surrogates: broken files hold them, and no database takes them."""
    if page.text.isascii():
        return page
    return replace(page, text=page.text.encode("utf-8", "replace").decode("utf-8"))
