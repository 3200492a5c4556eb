"""Entering one content into the library: read it once, keep its pages, whoever has it again."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path, PurePath

from deskwork.tools.errors import BadFile
from deskwork.tools.library_store import LibraryStore
from deskwork.tools.readers import Reading
from deskwork.tools.sources import Source, SourceFile

_SUFFIXES = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "text/csv": ".csv",
    "text/markdown": ".md",
    "application/json": ".json",
    "message/rfc822": ".eml",
}
"""What a server's word tells of a text, whose kind its bytes may not show."""


def stored_document(
    store: LibraryStore, reading: Reading, sha256: str, name: str, load: Callable[[], bytes]
) -> tuple[tuple[int, str, int], bool]:
    """Id, kind and pages of a content, and whether it had to be read. Raises `BadFile`.

    ``load`` gives the bytes with this hash; it is called where they aren't known yet.
    """
    with store.connect() as connection:
        stored = fitting(store, reading, connection, sha256)
    if stored is not None:
        return stored, False
    store.add(sha256, reading.read(load(), name), ocr=reading.ocr)
    with store.connect() as connection:
        stored = store.document(connection, sha256)
    assert stored is not None  # it was committed above, and nothing removes documents
    return stored, True


def fitting(
    store: LibraryStore, reading: Reading, connection: sqlite3.Connection, sha256: str
) -> tuple[int, str, int] | None:
    """A stored document; with OCR not one that was read without it and lacks text."""
    found = store.document(connection, sha256)
    if found and reading.ocr and store.wants_ocr(connection, found[0]):
        return None
    return found


def entered(
    store: LibraryStore, reading: Reading, source: Source, load: Callable[[], bytes]
) -> SourceFile:
    """A fetched source as an entry of a collection."""
    label = source.name
    suffix = _SUFFIXES.get(source.media_type, "")
    if suffix and PurePath(label).suffix.lower() != suffix:
        label += suffix
    try:
        stored, _ = stored_document(store, reading, source.sha256, label, load)
        entry = SourceFile.ready(source.name, Path(), source.sha256, stored)
    except BadFile as error:
        entry = SourceFile.failed(source.name, Path(), source.sha256, str(error))
    return replace(entry, url=source.final_url, retrieved=source.retrieved, load=load)
