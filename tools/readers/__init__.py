"""Readers: one module for each kind of file, each turning bytes into a `Document`.

The kind is told from the bytes first and from the name only where bytes can't tell. Whatever goes
wrong inside a library comes out as one `BadFile` sentence that names the file.

Every file is read in another process with bounds of time, memory and output (`Limits`), since a
damaged or hostile file can hang or crash the library that reads it. `inside` is that process's
side; nothing else should read a stranger's file directly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deskwork.tools.documents import Document
from deskwork.tools.errors import BadFile
from deskwork.tools.readers.apart import DEFAULT, Limits, ask
from deskwork.tools.readers.source import Source

__all__ = [
    "DEFAULT",
    "USUAL",
    "VERSION",
    "Limits",
    "Reading",
    "Source",
    "picture",
    "read",
    "read_bytes",
]

# Raised when a change of the readers gives other text for the same bytes: stored pages of an
# older version are read again.
VERSION = 5


def read(
    path: Path,
    *,
    password: str | None = None,
    passwords: Sequence[str] = (),
    name: str | None = None,
    ocr: bool = False,
    limits: Limits = DEFAULT,
) -> Document:
    """Read a file of any known kind.

    Raises `BadFile` when it is locked, empty, broken or of no known kind, passes a limit, or
    can't be opened. With ``ocr``, pages without text are read by their picture.
    """
    label = name or path.name
    try:
        if path.stat().st_size > limits.file_bytes:
            raise BadFile(f"{label} is larger than {limits.file_bytes:,} bytes.")
        data = path.read_bytes()
    except OSError as error:
        raise BadFile(f"{label} can't be opened: {error.strerror or error}.") from None
    return read_bytes(data, label, password=password, passwords=passwords, ocr=ocr, limits=limits)


def read_bytes(
    data: bytes,
    name: str,
    *,
    password: str | None = None,
    passwords: Sequence[str] = (),
    ocr: bool = False,
    limits: Limits = DEFAULT,
) -> Document:
    """The same for a file that is already in memory; ``name`` gives the suffix and the label."""
    if not data:
        raise BadFile(f"{name} is empty (0 bytes).")
    source = Source(name, "", data, _tried(password, passwords), ocr)
    return Document.from_json(ask("read", source, limits))


def picture(
    data: bytes,
    name: str,
    page: int,
    *,
    marks: Sequence[str] = (),
    passwords: Sequence[str] = (),
    limits: Limits = DEFAULT,
) -> bytes:
    """A page as PNG bytes, its longest side at most 1568 pixels, with quotes marked that it holds.

    PDF pages and images have pictures; in a mail, a ZIP or a PDF with attachments also the pages
    of what lies in it. Raises `BadFile` for a page that has none.
    """
    import base64

    source = Source(name, "", data, tuple(passwords))
    answer = ask("picture", source, limits, page=page, marks=list(marks))
    return base64.b64decode(answer["png"])


def _tried(password: str | None, passwords: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*([password] if password else []), *passwords]))


@dataclass(frozen=True)
class Reading:
    """How the files of a collection are read: passwords to try, limits, and whether by OCR."""

    passwords: tuple[str, ...] = field(default=(), repr=False)
    limits: Limits = DEFAULT
    ocr: bool = False

    def read(self, data: bytes, name: str) -> Document:
        """The document of a file's bytes. Raises `BadFile`."""
        return read_bytes(data, name, passwords=self.passwords, ocr=self.ocr, limits=self.limits)

    def picture(self, data: bytes, name: str, page: int, marks: Sequence[str] = ()) -> bytes:
        """A page's picture as PNG, quotes marked. Raises `BadFile`."""
        return picture(data, name, page, marks=marks, passwords=self.passwords, limits=self.limits)


USUAL = Reading()
