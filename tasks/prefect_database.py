"""A Prefect database made ready beforehand: migrating a new one costs 10 to 60 seconds.

``make install`` leaves a migrated template beside the interpreter; a new home gets a copy. The
database itself carries the mark of the Prefect version that it is ready for, in SQLite's
``user_version``, so the mark can't be separated from what it speaks of. A server whose database
has the right mark skips the migration and the registration of Prefect's block types.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sqlite3
import sys
import tempfile
import zlib
from pathlib import Path

from deskwork.tasks.prefect_settings import Folder, prefect_version, server_settings


def template() -> Path:
    """Where the installed Prefect's template lies, whether it exists or not."""
    return Path(sys.prefix) / "share" / "deskwork" / f"prefect-{prefect_version()}.db"


def mark() -> int:
    """The installed Prefect version as a positive 31-bit number."""
    return zlib.crc32(prefect_version().encode()) & 0x7FFFFFFF


def is_ready(database: Path) -> bool:
    """Whether the file is a database that the installed Prefect can use as it is."""
    if not database.exists():
        return False
    try:
        with contextlib.closing(sqlite3.connect(database, timeout=30)) as connection:
            return bool(connection.execute("PRAGMA user_version").fetchone()[0] == mark())
    except sqlite3.DatabaseError:
        return False


def set_mark(database: Path) -> None:
    """Record that the installed Prefect has migrated this database."""
    with contextlib.closing(sqlite3.connect(database, timeout=30)) as connection:
        connection.execute(f"PRAGMA user_version = {mark()}")


def provide(database: Path, source: Path | None = None) -> bool:
    """Give a new home a copy of the template; False if there is no usable template.

    A database that exists is left alone, unless it is none: then it is moved aside. Call it only
    under the lock of the one server.
    """
    source = source or template()
    if _is_broken(database):
        # Prefect's database is a view of what ran; the jobs' own record lies elsewhere.
        database.replace(database.with_name(database.name + ".broken"))
    if database.exists() or not is_ready(source):
        return database.exists()
    # Left over from a database that was deleted: SQLite would play it into the new one.
    for suffix in ("-wal", "-shm"):
        database.with_name(database.name + suffix).unlink(missing_ok=True)
    partial = database.with_name(database.name + ".partial")
    shutil.copyfile(source, partial)
    with partial.open("rb") as file:
        os.fsync(file.fileno())
    partial.replace(database)
    return True


def _is_broken(database: Path) -> bool:
    """Whether the file can't be read as a database at all."""
    if not database.exists():
        return False
    try:
        with contextlib.closing(sqlite3.connect(database, timeout=30)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.OperationalError:
        return False  # locked, or the disk: not the file's fault
    except sqlite3.DatabaseError:
        return True
    return False


def prepare(target: Path | None = None) -> Path | None:
    """Make the template (and unpack the UI's files) once per Prefect version.

    Returns its path, or None where that place can't be written: each new home then migrates its
    own database. Sets Prefect's environment, so this process can't be used for anything else.
    """
    target = target or template()
    if is_ready(target):
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = tempfile.TemporaryDirectory(prefix=".prefect-", dir=target.parent)
    except OSError:
        return None
    with scratch as name:
        folder = Folder(Path(name))
        folder.make()
        os.environ.update(server_settings(folder, port=4200))
        os.chdir(folder.root)
        asyncio.run(_migrate())
        # A single file without a journal beside it, the only thing that copies safely.
        single = folder.root / "single.db"
        with contextlib.closing(sqlite3.connect(folder.database)) as connection:
            connection.execute("VACUUM INTO ?", (str(single),))
        set_mark(single)
        os.chdir(target.parent)
        single.replace(target)
    return target


async def _migrate() -> None:
    from prefect.server.api.server import create_ui_app
    from prefect.server.database import provide_database_interface
    from prefect.server.models.block_registration import run_block_auto_registration

    # Not by starting the app and stopping it: services that are stopped at once fail.
    create_ui_app(ephemeral=False)
    database = provide_database_interface()
    await database.create_db()
    async with await database.session() as session:
        await run_block_auto_registration(session=session)
    await (await database.engine()).dispose()
