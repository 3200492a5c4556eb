"""Snapshots: what was fetched, kept on this machine by content hash, and found again by address.

The cache spares a second fetch and shows later what a page said at the time. It is not the record
of a job: that keeps its own sources, and the folder may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from deskwork.tools.errors import StorageError
from deskwork.tools.sources import FIELDS, Source

_BUSY_SECONDS = 30.0
_TABLE = """
CREATE TABLE IF NOT EXISTS snapshots (
    id INTEGER PRIMARY KEY, url TEXT NOT NULL, name TEXT NOT NULL, final_url TEXT NOT NULL,
    sha256 TEXT NOT NULL, media_type TEXT NOT NULL, retrieved TEXT NOT NULL, size INTEGER NOT NULL,
    at REAL NOT NULL
)"""
_INDEX = "CREATE INDEX IF NOT EXISTS by_url ON snapshots (url, at)"


class SnapshotStore:
    """A folder of snapshots: ``ab/cdef…`` for the bytes, ``index.db`` for addresses.

    Safe in threads and processes: bytes are written beside their place and moved there before the
    index names them. ``clock`` gives Unix seconds.
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self.folder = folder
        self._clock = clock

    def get(self, url: str, max_age_seconds: float) -> Source | None:
        """The newest snapshot of an address with its bytes, unless it is older, or damaged."""
        with self._connect() as connection:
            row = connection.execute(
                f"SELECT {', '.join(FIELDS)} FROM snapshots"
                " WHERE url = ? AND at >= ? ORDER BY at DESC LIMIT 1",
                (url, self._clock() - max_age_seconds),
            ).fetchone()
        if row is None:
            return None
        source = Source.from_json(dict(zip(FIELDS, row, strict=True)))
        try:
            data = self._path(source.sha256).read_bytes()
        except OSError:
            return None
        if hashlib.sha256(data).hexdigest() != source.sha256:
            return None
        return replace(source, data=data)

    def put(self, data: bytes, *, name: str, url: str, final_url: str, media_type: str) -> Source:
        """Keep bytes as the newest snapshot of ``url``. Raises `StorageError`."""
        now = self._clock()
        moment = datetime.datetime.fromtimestamp(now, datetime.UTC)
        source = Source.of(
            data,
            name=name,
            url=url,
            final_url=final_url,
            media_type=media_type,
            retrieved=moment.isoformat(timespec="seconds").replace("+00:00", "Z"),
        )
        self._write(source)
        row = source.as_json()
        with self._connect() as connection:
            connection.execute(
                f"INSERT INTO snapshots ({', '.join(row)}, at)"
                f" VALUES ({', '.join('?' for _ in row)}, ?)",
                (*row.values(), now),
            )
        return source

    def _write(self, source: Source) -> None:
        path = self._path(source.sha256)
        # A file of the right length that a power cut left without content is written again.
        if path.exists() and path.read_bytes() == source.data:
            return
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("wb") as file:
                file.write(source.data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise StorageError(
                f"A snapshot can't be written under {self.folder}: {error.strerror or error}.",
                "Free some space or mend the folder's rights, then run the same command again.",
            ) from None

    def _path(self, sha256: str) -> Path:
        return self.folder / sha256[:2] / sha256[2:]

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        path = self.folder / "index.db"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with closing(
                sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
            ) as connection:
                connection.execute(_TABLE)
                connection.execute(_INDEX)
                yield connection
        except (sqlite3.DatabaseError, OSError) as error:
            raise StorageError(
                f"The snapshots' index {path} can't be used: {error}.",
                "Free some space or mend its rights; the folder can be deleted.",
            ) from None
