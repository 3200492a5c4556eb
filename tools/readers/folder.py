"""ZIP folders: each member is read as the file it is, and accounted for under its path."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator

from deskwork.tools.documents import Document, Page
from deskwork.tools.errors import BadFile
from deskwork.tools.readers.archives import inner_name, opened
from deskwork.tools.readers.parts import read_parts
from deskwork.tools.readers.source import Source, locked

# What the systems that make archives add of their own.
_CLUTTER = ("__MACOSX/", ".DS_Store", "Thumbs.db", "desktop.ini")
_LINK = 0o120000


def read(source: Source) -> Document:
    """All members in the archive's order; one that can't be read is a row with its reason."""
    with opened(source.data, source.name) as archive:
        tricky = [entry.filename for entry in _members(archive) if inner_name(entry.filename)[1]]
    parts = read_parts(source, inner_files(source), first=1)
    if not parts.rows:
        raise BadFile(f"{source.name} is empty: it holds no files.")
    warnings = [*parts.warnings]
    if tricky:
        warnings.append(f"{len(tricky)} paths lead out of the folder; they are shown without that.")
    pages = parts.pages or [Page(1, "None of the files in this ZIP could be read.")]
    return Document(source.name, "zip", tuple(pages), {"parts": parts.rows}, tuple(warnings))


def inner_files(source: Source) -> Iterator[tuple[str, bytes]]:
    """Path and bytes of every member. A broken one has no bytes, so that it fails as empty."""
    taken: set[str] = set()
    with opened(source.data, source.name) as archive:
        for entry in _members(archive):
            name = inner_name(entry.filename)[0]
            number = 2
            while name in taken:
                name = f"{inner_name(entry.filename)[0]} ({number})"
                number += 1
            taken.add(name)
            if entry.flag_bits & 0x1:
                yield name, _unlocked(archive, entry, source)
            else:
                yield name, _member(archive, entry)


def _members(archive: zipfile.ZipFile) -> Iterator[zipfile.ZipInfo]:
    for entry in archive.infolist():
        if entry.is_dir() or any(
            entry.filename.startswith(name) or entry.filename.endswith("/" + name)
            for name in _CLUTTER
        ):
            continue
        # A symbolic link holds a path of the machine it was made on, nothing to read.
        if (entry.external_attr >> 16) & 0o170000 == _LINK:
            continue
        yield entry


def _member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    try:
        return archive.read(entry)
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, NotImplementedError):
        return b""


def _unlocked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, source: Source) -> bytes:
    for password in source.passwords:
        try:
            return archive.read(entry, pwd=password.encode())
        except (RuntimeError, zipfile.BadZipFile, zlib.error, NotImplementedError):
            continue
    raise locked(source)
