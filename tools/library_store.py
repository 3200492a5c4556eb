"""The database behind the library: documents by content hash, their pages, and a full-text index.

A document enters in one transaction, so that a crash leaves all of it or nothing. What is stored
follows from the files alone; a database of an older schema is therefore emptied and filled anew.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple
from pathlib import Path
from typing import Any

from deskwork.tools.documents import Document, Page
from deskwork.tools.errors import StorageError
from deskwork.tools.layout import boxes_of, packed, tables_of
from deskwork.tools.readers import VERSION
from deskwork.tools.statements import traits

# Raised when the tables change, or what `statements` judges of a page.
SCHEMA_VERSION = 2
# A page's row id is its document's id times this, plus its number.
PAGES_PER_DOCUMENT = 1 << 20
_BUSY_SECONDS = 60.0
_BY_OCR = "read_by_ocr"
"""In a stored document's metadata: its pictures were looked at, whatever they held."""

_TABLES = """
CREATE TABLE documents (
    id INTEGER PRIMARY KEY, sha256 TEXT NOT NULL UNIQUE, reader INTEGER NOT NULL,
    kind TEXT NOT NULL, pages INTEGER NOT NULL, metadata TEXT NOT NULL, warnings TEXT NOT NULL
);
CREATE TABLE pages (
    id INTEGER PRIMARY KEY, title TEXT NOT NULL, text TEXT NOT NULL, warnings TEXT NOT NULL,
    income REAL NOT NULL, balance REAL NOT NULL, cash REAL NOT NULL, figures REAL NOT NULL
);
CREATE INDEX statements ON pages (id, income, balance, cash) WHERE income + balance + cash > 0.2;
CREATE VIRTUAL TABLE page_words USING fts5(
    text, content='pages', content_rowid='id', tokenize='porter unicode61 remove_diacritics 2'
);
CREATE TABLE layouts (id INTEGER PRIMARY KEY, tables BLOB, boxes BLOB);
CREATE TABLE files (
    path TEXT PRIMARY KEY, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, sha256 TEXT NOT NULL
) WITHOUT ROWID;
"""


class LibraryStore:
    """``library.db`` in a folder. Every use opens its own connection: threads share none."""

    def __init__(self, home: Path) -> None:
        self.path = home / "library.db"
        try:
            home.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise StorageError(f"The folder {home} can't be made: {error.strerror}.") from None
        with self.connect() as connection:
            self._prepare(connection)

    @contextmanager
    def connect(self) -> Iterator[sqlite3.Connection]:
        """A connection in autocommit mode. Raises `StorageError` for the database's failures."""
        try:
            connection = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)
            try:
                # The index can be built again from the files; losing the last commit is harmless.
                connection.execute("PRAGMA synchronous = NORMAL")
                yield connection
            finally:
                connection.close()
        except sqlite3.DatabaseError as error:
            raise StorageError(
                f"The library {self.path} can't be used: {error}.",
                "Free some space or mend its rights; it can be deleted, it is built again.",
            ) from error

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One write transaction: committed at the end, rolled back on any error."""
        with self.connect() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def _prepare(self, connection: sqlite3.Connection) -> None:
        version = _version(connection)
        if version == SCHEMA_VERSION:
            return
        if version > SCHEMA_VERSION:
            raise StorageError(
                f"The library {self.path} was made by a newer Deskwork (schema {version}).",
                "Update Deskwork, or set another DESKWORK_HOME.",
            )
        _use_wal(connection)
        connection.execute("BEGIN IMMEDIATE")
        if _version(connection) != SCHEMA_VERSION:  # another process may have been first
            for table in ("page_words", "documents", "pages", "layouts", "files"):
                connection.execute(f"DROP TABLE IF EXISTS {table}")
            for statement in _TABLES.strip().split(";\n"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.execute("COMMIT")

    def known_hash(
        self, connection: sqlite3.Connection, path: str, size: int, mtime_ns: int
    ) -> str | None:
        """The hash of a file that hasn't changed since it was last hashed, as far as stat tells."""
        row = connection.execute(
            "SELECT sha256 FROM files WHERE path = ? AND size = ? AND mtime_ns = ?",
            (path, size, mtime_ns),
        ).fetchone()
        return row[0] if row else None

    def remember_hash(self, path: str, size: int, mtime_ns: int, sha256: str) -> None:
        """Keep a file's hash under its absolute path, size and time of change."""
        with self.writing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)", (path, size, mtime_ns, sha256)
            )

    def document(self, connection: sqlite3.Connection, sha256: str) -> tuple[int, str, int] | None:
        """Id, kind and number of pages of a stored document that the present readers read."""
        row = connection.execute(
            "SELECT id, kind, pages FROM documents WHERE sha256 = ? AND reader = ?",
            (sha256, VERSION),
        ).fetchone()
        return (row[0], row[1], row[2]) if row else None

    def pages(self, connection: sqlite3.Connection, first: int, last: int) -> list[Page]:
        """Stored pages by their row ids, both ends included, with their tables and boxes."""
        rows = connection.execute(
            "SELECT pages.id, title, text, warnings, tables, boxes FROM pages"
            " LEFT JOIN layouts USING (id) WHERE pages.id BETWEEN ? AND ? ORDER BY pages.id",
            (first, last),
        )
        return [
            Page(
                number=row[0] % PAGES_PER_DOCUMENT,
                text=row[2],
                tables=tuple(tables_of(row[4])),
                warnings=tuple(json.loads(row[3])),
                title=row[1],
                boxes=tuple(boxes_of(row[5])),
            )
            for row in rows
        ]

    def wants_ocr(self, connection: sqlite3.Connection, document: int) -> bool:
        """Whether a stored document has pages without text, and was read without OCR."""
        first = document * PAGES_PER_DOCUMENT
        blank = connection.execute(
            "SELECT 1 FROM pages WHERE id > ? AND id < ? AND trim(text, ?) = '' LIMIT 1",
            (first, first + PAGES_PER_DOCUMENT, " \t\r\n"),
        ).fetchone()
        return blank is not None and not self.was_read_by_ocr(connection, document)

    def was_read_by_ocr(self, connection: sqlite3.Connection, document: int) -> bool:
        """Whether OCR was on when a stored document was read."""
        return bool(self.metadata(connection, document).get(_BY_OCR))

    def metadata(self, connection: sqlite3.Connection, document: int) -> dict[str, Any]:
        """What is stored of a document beside its pages."""
        row = connection.execute("SELECT metadata FROM documents WHERE id = ?", (document,))
        found: dict[str, Any] = json.loads(row.fetchone()[0])
        return found

    def add(self, sha256: str, document: Document, *, ocr: bool = False) -> None:
        """Store a document with all its pages, or leave the one that is there already.

        With ``ocr`` it was read by OCR, and replaces one that wants that.
        """
        # Judged before the transaction: other writers wait for nothing but the inserts.
        judged = [astuple(traits(page.text)) for page in document.pages]
        layouts = [(page.number, *packed(page)) for page in document.pages]
        metadata = {**document.metadata, _BY_OCR: True} if ocr else document.metadata
        with self.writing() as connection:
            known = self.document(connection, sha256)
            if known and not (ocr and self.wants_ocr(connection, known[0])):
                return
            _remove(connection, sha256)
            cursor = connection.execute(
                "INSERT INTO documents (sha256, reader, kind, pages, metadata, warnings)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (
                    sha256,
                    VERSION,
                    document.kind,
                    len(document.pages),
                    json.dumps(metadata, ensure_ascii=False, default=str),
                    json.dumps(document.warnings, ensure_ascii=False),
                ),
            )
            first = int(cursor.lastrowid or 0) * PAGES_PER_DOCUMENT
            rows: list[tuple[Any, ...]] = [
                (first + page.number, page.title, page.text, json.dumps(page.warnings), *judge)
                for page, judge in zip(document.pages, judged, strict=True)
            ]
            connection.executemany("INSERT INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
            connection.executemany(
                "INSERT INTO page_words (rowid, text) VALUES (?, ?)",
                [(row[0], row[2]) for row in rows],
            )
            connection.executemany(
                "INSERT INTO layouts VALUES (?, ?, ?)",
                [(first + number, *blobs) for number, *blobs in layouts if any(blobs)],
            )


def _remove(connection: sqlite3.Connection, sha256: str) -> None:
    row = connection.execute("SELECT id FROM documents WHERE sha256 = ?", (sha256,)).fetchone()
    if row is None:
        return
    span = (row[0] * PAGES_PER_DOCUMENT, (row[0] + 1) * PAGES_PER_DOCUMENT)
    connection.execute(
        "INSERT INTO page_words (page_words, rowid, text)"
        " SELECT 'delete', id, text FROM pages WHERE id > ? AND id < ?",
        span,
    )
    connection.execute("DELETE FROM pages WHERE id > ? AND id < ?", span)
    connection.execute("DELETE FROM layouts WHERE id > ? AND id < ?", span)
    connection.execute("DELETE FROM documents WHERE id = ?", (row[0],))


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch to WAL. SQLite doesn't wait for a lock here, so two processes must take turns."""
    for attempt in range(100):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError:
            if attempt == 99:
                raise
            time.sleep(0.05)
