"""Archives as what they hold: every file of a ZIP as a document of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from deskwork.tools.collection import Collection, SourceFile
from deskwork.tools.documents import Document, Page
from deskwork.tools.library import Library
from deskwork.tools.library_store import PAGES_PER_DOCUMENT

ARCHIVES = ("zip",)
"""Kinds that are folders rather than documents. A message and its attachments stay one."""


def expanded(library: Library, collection: Collection) -> Collection:
    """The collection with each archive followed by the files in it, also those of inner archives.

    A file inside is stored under its own SHA-256, so that the same content beside the archive, or
    in another, is the same document. Its name is the archive's and its path there.
    """
    files: list[SourceFile] = []
    for entry in collection.files:
        files.append(entry)
        if entry.state == "ready" and entry.kind in ARCHIVES:
            files += _members(library, entry)
    return Collection(library.store, files, library.reading)


def _members(library: Library, archive: SourceFile) -> list[SourceFile]:
    with library.store.connect() as connection:
        metadata = library.store.metadata(connection, archive.document)
    members = []
    kinds: dict[str, str] = {}
    for row in metadata.get("parts", []):
        kinds[row["file"]] = row["kind"]
        holder = row.get("within")
        if row["kind"] in ARCHIVES or (holder and kinds.get(holder) not in ARCHIVES):
            continue
        members.append(_member(library, archive, row))
    return members


def _member(library: Library, archive: SourceFile, row: dict[str, Any]) -> SourceFile:
    name = f"{archive.name}/{row['file']}"
    if row["state"] != "ready":
        failed = SourceFile.failed(name, archive.path, row["sha256"], row["reason"])
        return replace(failed, container=archive.sha256)
    first, last = row["pages"]
    with library.store.connect() as connection:
        stored = library.store.document(connection, row["sha256"])
        ocr = library.reading.ocr
        if stored and ocr and library.store.wants_ocr(connection, stored[0]):
            stored = None
    if stored is None:
        pages = _pages(library, archive, row["file"], first, last)
        library.store.add(row["sha256"], Document(name, row["kind"], tuple(pages)), ocr=ocr)
        with library.store.connect() as connection:
            stored = library.store.document(connection, row["sha256"])
        assert stored is not None  # it was committed above, and nothing removes documents
    entry = SourceFile.ready(name, archive.path, row["sha256"], stored)
    return replace(entry, container=archive.sha256, before=first - 1)


def _pages(library: Library, archive: SourceFile, part: str, first: int, last: int) -> list[Page]:
    """The part's pages as they are stored with the archive, with numbers of their own."""
    start = archive.document * PAGES_PER_DOCUMENT
    with library.store.connect() as connection:
        pages = library.store.pages(connection, start + first, start + last)
    prefix = part.rpartition(".zip/")[2]
    return [
        replace(page, number=number, title=_own_title(page.title, prefix))
        for number, page in enumerate(pages, 1)
    ]


def _own_title(title: str, part: str) -> str:
    """A page's title without the names of the files it lies in."""
    before, found, own = title.rpartition(f"{part} · ")
    if found:
        return own
    return "" if title.endswith(part) else before or title
