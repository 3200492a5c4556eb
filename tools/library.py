"""The library: every document of this machine, read and indexed once for its content.

A job sees a `Collection`, the files it was given. Files are told apart by their content's SHA-256,
so that a copied, moved or touched file costs no second reading, and a changed one is never taken
for the old.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from deskwork.tools.collection import Collection, SourceFile
from deskwork.tools.errors import BadFile, WrongUse
from deskwork.tools.indexing import fitting, stored_document
from deskwork.tools.library_store import LibraryStore
from deskwork.tools.readers import USUAL, Reading

__all__ = ["Collection", "Library", "Progress", "SourceFile", "fingerprint"]


@dataclass(frozen=True)
class Progress:
    """How far `Library.collect` is: ``done`` of ``total`` files, and the last one's entry.

    ``new`` tells whether that file had to be read; files that are known pass in no time.
    """

    done: int
    total: int
    file: SourceFile
    new: bool


class Library:
    """The documents under a home folder, in its ``library.db``. Safe in threads and processes."""

    def __init__(self, home: Path, reading: Reading = USUAL) -> None:
        self.home = home
        self.reading = reading
        self.store = LibraryStore(home)

    def collect(
        self,
        paths: Sequence[Path],
        progress: Callable[[Progress], None] | None = None,
        *,
        without: Sequence[Path] = (),
    ) -> Collection:
        """Read what is new among the files and folders, and return them as one collection.

        Every file has an entry, those that can't be read too. Folders are walked in sorted order;
        hidden files are left out, and those of ``without``. Raises `WrongUse` for a path that
        doesn't exist and `StorageError` when the library can't be written.
        """
        named = _named(_files(paths, without))
        files: list[SourceFile] = []
        for done, (name, path) in enumerate(named, 1):
            entry, new = self._enter(name, path)
            files.append(entry)
            if progress:
                progress(Progress(done, len(named), entry, new))
        return Collection(self.store, files, self.reading)

    def _enter(self, name: str, path: Path) -> tuple[SourceFile, bool]:
        """The file's entry, and whether it had to be read for it."""
        try:
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):
                return SourceFile.failed(name, path, "", "It is not a regular file."), False
            if status.st_size > self.reading.limits.file_bytes:
                reason = f"It is larger than {self.reading.limits.file_bytes:,} bytes."
                return SourceFile.failed(name, path, "", reason), False
            key = (printable(str(path.absolute())), status.st_size, status.st_mtime_ns)
            with self.store.connect() as connection:
                known = self.store.known_hash(connection, *key)
                stored = fitting(self.store, self.reading, connection, known) if known else None
            if known and stored:
                return SourceFile.ready(name, path, known, stored), False
            # Hash and text come from the same bytes, even if the file is being written to.
            data = path.read_bytes()
        except OSError as error:
            reason = f"It can't be opened: {error.strerror or error}."
            return SourceFile.failed(name, path, "", reason), False
        sha256 = hashlib.sha256(data).hexdigest()
        if sha256 != known:
            self.store.remember_hash(*key, sha256)
        try:
            stored, new = stored_document(self.store, self.reading, sha256, name, lambda: data)
        except BadFile as error:
            return SourceFile.failed(name, path, sha256, str(error)), True
        return SourceFile.ready(name, path, sha256, stored), new


def printable(name: str) -> str:
    """A file's name as text: what isn't UTF-8 in it becomes U+FFFD."""
    return os.fsencode(name).decode("utf-8", "replace")


def hidden(paths: Sequence[Path]) -> int:
    """How many files under the folders are left out since they, or a folder above, are hidden."""
    found: set[Path] = set()
    for given in paths:
        for folder, _, names in os.walk(given) if given.is_dir() else ():
            inside = any(part.startswith(".") for part in Path(folder).relative_to(given).parts)
            chosen = [name for name in names if inside or name.startswith(".")]
            found.update(Path(folder).absolute() / name for name in chosen)
    return len(found)


def fingerprint(paths: Sequence[Path], *, without: Sequence[Path] = ()) -> list[tuple[str, str]]:
    """Name and SHA-256 of every file, in the collection's order, without reading or indexing any.

    A file that can't be opened has the hash ""; files of ``without`` are left out. Raises
    `WrongUse` for a missing path.
    """
    result = []
    for name, path in _named(_files(paths, without)):
        try:
            if not path.is_file():
                raise OSError
            with path.open("rb") as stream:
                result.append((name, hashlib.file_digest(stream, "sha256").hexdigest()))
        except OSError:
            result.append((name, ""))
    return result


def _files(paths: Sequence[Path], without: Sequence[Path] = ()) -> list[tuple[str, Path]]:
    """Every file once, with its name relative to the folder that was given."""
    found: dict[Path, str] = {}
    skipped = {path.resolve() for path in without}
    for given in paths:
        if given.is_dir():
            for folder, folders, names in os.walk(given):
                folders[:] = sorted(name for name in folders if not name.startswith("."))
                for name in sorted(names):
                    if not name.startswith("."):
                        path = Path(folder) / name
                        found.setdefault(
                            path.absolute(), printable(path.relative_to(given).as_posix())
                        )
        elif given.exists() or given.is_symlink():
            found.setdefault(given.absolute(), printable(given.name))
        else:
            raise WrongUse(f"There is no file or folder {given}.", "Check the path.")
    if skipped:
        found = {path: name for path, name in found.items() if path.resolve() not in skipped}
    return [(name, path) for path, name in found.items()]


def _named(files: list[tuple[str, Path]]) -> list[tuple[str, Path]]:
    """Names made distinct: clashing ones get folders of their path in front, as many as needed."""
    taken: dict[str, int] = {}
    for name, _ in files:
        taken[name] = taken.get(name, 0) + 1
    result: list[tuple[str, Path]] = []
    used = {name for name, count in taken.items() if count == 1}
    for name, path in files:
        distinct = name
        if taken[name] > 1:
            parts = path.absolute().parts[1:]
            depth = name.count("/") + 1
            while distinct in used or distinct == name:
                depth += 1
                if depth > len(parts):
                    distinct = path.absolute().as_posix()
                    break
                distinct = "/".join(parts[-depth:])
            used.add(distinct)
        result.append((distinct, path))
    return result
