"""The SQL behind the journal: tables, migrations, transactions, and errors a person can act on.

SQLite (WAL, ``synchronous=FULL``, ``BEGIN IMMEDIATE``) or PostgreSQL. A transaction that has
committed is on disk: that is what "finished" means everywhere else.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from deskwork.tasks.patience import LONGEST, StoreAway, wait_out
from deskwork.tools.errors import StorageError, WrongUse

SCHEMA_VERSION = 2

metadata = sa.MetaData()

schema_version = sa.Table(
    "deskwork_schema", metadata, sa.Column("version", sa.Integer, nullable=False)
)

jobs = sa.Table(
    "jobs",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("flow", sa.Text, nullable=False),
    # What the id was made from: a rerun with the same inputs finds its job by it.
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("parent", sa.Text),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False, default=""),
    sa.Column("flow_run", sa.Text),
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("updated", sa.Float, nullable=False),
    sa.Column("holder", sa.Text),
    sa.Column("holder_place", sa.Text),
    sa.Column("lease_until", sa.Float),
    # Lookups go by ranges of the id: it begins with the key, or with the parent's id.
    sqlite_with_rowid=False,
)

entries = sa.Table(
    "entries",
    metadata,
    sa.Column("job", sa.Text, primary_key=True),
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("conversation", sa.Integer, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("digest", sa.LargeBinary, nullable=False),
    sa.Column("meta", sa.Text, nullable=False),
    sa.Column("layout", sa.Text),
    sa.Column("body", sa.LargeBinary, nullable=False),
)

# Calls that began, or ended before an earlier call of the same reply did. A call's row goes
# when its result becomes an entry, so the table holds only what is in flight.
calls = sa.Table(
    "calls",
    metadata,
    sa.Column("job", sa.Text, primary_key=True),
    sa.Column("turn", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("started", sa.Float, nullable=False),
    sa.Column("meta", sa.Text),
    sa.Column("layout", sa.Text),
    sa.Column("body", sa.LargeBinary),
    sqlite_with_rowid=False,
)

# Which worker has taken up a flow run, and how often it was gone on with after a kill. It tells
# a run that is about to start from one whose worker died before its job was held.
holdings = sa.Table(
    "holdings",
    metadata,
    sa.Column("flow_run", sa.Text, primary_key=True),
    # The job that the run held; another run may have it since.
    sa.Column("job", sa.Text),
    sa.Column("worker", sa.Text),
    # Where the worker and the run's own process are, as `lease.this_place` writes it.
    sa.Column("place", sa.Text),
    sa.Column("child", sa.Text),
    sa.Column("taken", sa.Float),
    sa.Column("until", sa.Float),
    # When it was last set going again, who held the job then, and how far it had come.
    sa.Column("recovered", sa.Float),
    sa.Column("holder", sa.Text),
    sa.Column("progress", sa.Integer, nullable=False, default=0),
    sa.Column("attempts", sa.Integer, nullable=False, default=0),
    sa.Column("starts", sa.Integer, nullable=False, default=0),
    sqlite_with_rowid=False,
)


class Database:
    """Connections to one journal. Safe to share between threads.

    A server that is away is waited for so many seconds of ``patience`` before `StoreAway`; one
    that goes in the middle of a transaction ends that with `StoreAway`, and nobody knows whether
    it was committed: see `Writer.append`.
    """

    def __init__(
        self,
        url: str | None,
        home: Path,
        *,
        busy_seconds: float = 60.0,
        patience: float = LONGEST,
    ) -> None:
        self.patience = patience
        self.path = None if url else home / "journal.db"
        self._writing = threading.Lock()
        if self.path:
            self.name = self.path.as_posix()
            with self._errors("opened"):
                home.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.engine = _sqlite_engine(self.path, busy_seconds)
        else:
            self.engine = _server_engine(str(url))
            self.name = self.engine.url.render_as_string()
        self.is_sqlite = self.engine.dialect.name == "sqlite"
        self._migrate()

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()

    def now(self, connection: sa.Connection) -> float:
        """Unix time by the clock that every runner shares: the server's, or this machine's."""
        if self.is_sqlite:
            return time.time()
        clock = sa.func.extract("epoch", sa.func.clock_timestamp())
        return float(connection.execute(sa.select(clock)).scalar_one())

    @contextlib.contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """A transaction that is on disk when the block ends, or has changed nothing."""
        # One writer a process: waiting on a lock costs nothing, SQLite's busy loop does.
        guard = self._writing if self.is_sqlite else contextlib.nullcontext()
        with (
            guard,
            self._connected("written") as connection,
            self._errors("written"),
            connection.begin(),
        ):
            yield connection

    @contextlib.contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """A connection for reading; it never blocks a writer."""
        with self._connected("read") as connection, self._errors("read"):
            yield connection.execution_options(isolation_level="AUTOCOMMIT")

    def _connected(self, doing: str) -> sa.Connection:
        def connect() -> sa.Connection:
            with self._errors(doing):
                return self.engine.connect()

        return wait_out(connect, self.patience)

    def _migrate(self) -> None:
        with self.read() as connection:
            known = sa.inspect(connection).has_table("deskwork_schema")
            version = (
                connection.execute(sa.select(schema_version.c.version)).scalar() if known else None
            )
        if version == SCHEMA_VERSION:
            return
        if version is not None and version > SCHEMA_VERSION:
            raise StorageError(
                f"The journal {self.name} has schema version {version}; "
                f"this Deskwork knows up to {SCHEMA_VERSION}.",
                "Install the newer Deskwork that wrote it, or set another DESKWORK_HOME. "
                "Nothing was changed.",
            )
        with self.write() as connection:
            if not self.is_sqlite:
                # Two first commands at once: one makes the tables, the other waits for it.
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(615243987)"))
            metadata.create_all(connection)
            current = connection.execute(sa.select(schema_version.c.version)).scalar()
            if current is None:
                connection.execute(schema_version.insert().values(version=SCHEMA_VERSION))
            elif current < SCHEMA_VERSION:
                # Version 2 added the table of holdings, which is made above.
                connection.execute(schema_version.update().values(version=SCHEMA_VERSION))

    @contextlib.contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        try:
            yield
        except (sa.exc.DBAPIError, OSError) as error:
            if isinstance(error, sa.exc.IntegrityError):
                raise
            raise _storage_error(self.name, doing, error) from error


def _sqlite_engine(path: Path, busy_seconds: float) -> sa.Engine:
    engine = sa.create_engine(
        f"sqlite:///{path}",
        connect_args={"timeout": busy_seconds, "check_same_thread": False},
        pool_size=4,
        max_overflow=32,
    )

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: Any) -> None:
        # SQLAlchemy, not the driver, says when a transaction begins (see _begin).
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        if connection.get_execution_options().get("isolation_level") != "AUTOCOMMIT":
            connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def _server_engine(url: str) -> sa.Engine:
    try:
        parsed = sa.make_url(url)
    except sa.exc.ArgumentError:
        raise WrongUse(
            "DESKWORK_DATABASE_URL is no database address.",
            "It looks like postgresql://USER@HOST/NAME.",
        ) from None
    if parsed.drivername in ("postgresql", "postgres"):
        parsed = parsed.set(drivername="postgresql+psycopg")
    if not parsed.drivername.startswith("postgresql"):
        raise WrongUse(
            f"DESKWORK_DATABASE_URL names {parsed.drivername}, which holds no journal.",
            "Use postgresql://USER@HOST/NAME, or leave it unset for SQLite under the home.",
        )
    try:
        return sa.create_engine(parsed, pool_pre_ping=True, pool_size=4, max_overflow=32)
    except ImportError as error:
        raise WrongUse(
            "The PostgreSQL driver is not installed.", "Install deskwork[postgresql]."
        ) from error


def _is_away(error: Exception) -> bool:
    """Whether the connection is lost or can't be had, and may be later."""
    if not isinstance(error, sa.exc.DBAPIError):
        return False
    if error.connection_invalidated:
        return True
    state = getattr(error.orig, "sqlstate", None) or ""
    if state:
        # Class 08: connection errors; 57P01 to 57P03: shutting down, crashed, starting up.
        return state.startswith(("08", "57P0"))
    # A connection that can't be made bears no code; FATAL is the server's own refusal.
    text = str(error.orig)
    passing = ("starting up", "shutting down", "recovery mode", "too many clients")
    refused = "FATAL" in text and not any(words in text for words in passing)
    return type(error.orig).__module__.startswith("psycopg") and not refused and "connect" in text


def _storage_error(name: str, doing: str, error: Exception) -> StorageError:
    cause = str(error.orig) if isinstance(error, sa.exc.DBAPIError) else str(error)
    cause = cause.strip().splitlines()[0] if cause.strip() else type(error).__name__
    hints = {
        "full": "Free some space on that disk",
        "readonly": "Mend the rights of the folder, or set another DESKWORK_HOME",
        "read-only": "Mend the rights of the folder, or set another DESKWORK_HOME",
        "Permission": "Mend the rights of the folder, or set another DESKWORK_HOME",
        "unable to open": "Mend the rights of the folder, or set another DESKWORK_HOME",
        "locked": "Another process has been writing for a long time; wait for it",
        "malformed": "Restore the file from a backup",
        "not a database": "Restore the file from a backup, or set another DESKWORK_HOME",
        "disk I/O": "Check the disk and its free space",
        "connection": "Check that the database server runs and DESKWORK_DATABASE_URL is right",
    }
    hint = next((text for mark, text in hints.items() if mark in cause), "Mend the cause")
    kind = StoreAway if _is_away(error) else StorageError
    return kind(
        f"The journal {name} can't be {doing}: {cause}.",
        f"{hint}, then run the same command again; what was recorded is kept.",
    )
