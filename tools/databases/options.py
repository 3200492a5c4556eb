"""A database of the settings, and opening it so that nothing can be written."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deskwork.tools.errors import ToolError

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection

SECONDS = 30.0


@dataclass(frozen=True)
class Database:
    """A database under its name. ``url`` holds no password: that is read when it is opened, from
    the environment variable ``password_env`` or the file ``password_file``.
    """

    name: str
    url: str
    password_env: str = ""
    password_file: str = ""
    seconds: float = field(default=SECONDS)

    def password(self) -> str | None:
        """The password, or None where it needs none. Raises `ToolError` where it can't be read."""
        if self.password_env:
            found = os.environ.get(self.password_env)
            if found is None:
                raise ToolError(
                    f"The database {self.name} has its password in {self.password_env}, which "
                    "isn't set.",
                    "A person must set that variable.",
                )
            return found
        if not self.password_file:
            return None
        try:
            return Path(self.password_file).expanduser().read_text().strip()
        except OSError as error:
            raise ToolError(
                f"The password file of the database {self.name} can't be read: {error.strerror}.",
                "A person must mend `password_file`.",
            ) from None


@contextmanager
def opened(database: Database) -> Iterator[Connection]:
    """A connection in a transaction that can only read, ended by rolling back.

    Raises `ToolError` for whatever the database refuses, and what takes too long; no error holds
    the address or the password.
    """
    import sqlalchemy as sa

    url = sa.make_url(database.url)
    engine = _engine(database, url)
    try:
        with engine.connect() as connection:
            if url.get_backend_name() == "postgresql":
                connection.execute(sa.text("SET TRANSACTION READ ONLY"))
                milliseconds = int(database.seconds * 1000)
                connection.execute(sa.text(f"SET LOCAL statement_timeout = {milliseconds}"))
            yield connection
            connection.rollback()
    except sa.exc.DBAPIError as error:
        said = " ".join(str(error.orig).split())[:500]
        if "interrupted" in said or "statement timeout" in said:
            said = f"it was stopped after {database.seconds:g} seconds"
        raise ToolError(f"The database {database.name} refused: {said}.") from None
    except sa.exc.SQLAlchemyError as error:
        raise ToolError(f"The database {database.name} failed: {type(error).__name__}.") from None
    finally:
        engine.dispose()


def _engine(database: Database, url: URL) -> Any:
    import sqlalchemy as sa

    if url.get_backend_name() == "sqlite":
        return sa.create_engine(
            "sqlite://", creator=lambda: _sqlite(database, url), poolclass=sa.pool.NullPool
        )
    if url.drivername == "postgresql":
        url = url.set(drivername="postgresql+psycopg")
    return sa.create_engine(
        url.set(password=database.password() or url.password),
        poolclass=sa.pool.NullPool,
        connect_args={"connect_timeout": 10},
    )


def _sqlite(database: Database, url: URL) -> sqlite3.Connection:
    """Read only by the file's mode, by a pragma, and by what statements may do."""
    import time

    path = Path(url.database or "").expanduser().absolute()
    if not path.is_file():
        raise ToolError(f"The database {database.name} has no file {path.name}.", "Mend its `url`.")
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=5)
    connection.execute("PRAGMA query_only = ON")
    until = time.monotonic() + database.seconds
    connection.set_progress_handler(lambda: time.monotonic() > until, 10_000)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 50_000_000)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    return connection
