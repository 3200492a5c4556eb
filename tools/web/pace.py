"""Pace: how often, and by how many at once, one host is asked from all processes of this machine.

A row in SQLite says when a name may next be used; a lock file lets one at a time through. Both
outlive a killed process without harm: a slot is a moment, and a lock ends with its holder.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path

from deskwork.tools.errors import StorageError, WebError

LONGEST = 60.0
"""Seconds that a caller waits for its slot; a longer wait is an error that says so."""
_POLL = 0.05
_BUSY_SECONDS = 30.0


SEC = "sec"
"""The one name under which the hosts of the SEC are paced: its limit is for all of them."""
SEC_REST = 600.0
"""Seconds for which the SEC blocks whoever asked too often; asking on makes them more."""


def pace_name(host: str) -> str:
    """The name under which a host is paced: its own, or that of the service it belongs to."""
    return SEC if host == "sec.gov" or host.endswith(".sec.gov") else host


class Pace:
    """The pace of everything asked from this machine, in ``pace.db`` of a folder.

    ``clock`` gives Unix seconds; it and ``sleep`` are for tests.
    """

    def __init__(
        self,
        folder: Path,
        *,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.folder = folder
        self._clock = clock
        self._sleep = sleep

    async def wait(self, name: str, per_second: float, longest: float = LONGEST) -> None:
        """Wait for the next free slot of a name; slots lie 1/``per_second`` seconds apart.

        Raises `WebError` ("throttled") when the slot is further away than ``longest`` seconds: the
        name is to be left in peace (`rest`), or too many wait already.
        """
        wait = await asyncio.to_thread(self._slot, name, 1 / per_second, longest)
        if wait > longest:
            raise WebError(
                "throttled",
                f"{name} is not asked again for {wait:.0f} seconds.",
                "Go on with other sources meanwhile.",
                retry_after=wait,
            )
        if wait > 0:
            await self._sleep(wait)

    async def rest(self, name: str, seconds: float) -> None:
        """Let nobody ask the name for so long, as it wished."""
        await asyncio.to_thread(self._push, name, seconds)

    @asynccontextmanager
    async def turn(self, name: str, longest: float = 2 * LONGEST) -> AsyncIterator[None]:
        """Hold a name alone. Raises `WebError` when others hold it for so long."""
        key = hashlib.sha256(name.encode()).hexdigest()[:16]
        self._make_folder()
        with (self.folder / f"{key}.lock").open("a") as file:
            left = longest
            while True:
                try:
                    # Not a blocking lock in a thread: waiters would fill the pool that the holder
                    # needs for its own work.
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if left <= 0:
                        raise WebError(
                            "throttled",
                            f"{name} was in use by others for {longest:.0f} seconds.",
                            "Go on with other sources meanwhile.",
                        ) from None
                left -= _POLL
                await self._sleep(_POLL)
            yield

    def _slot(self, name: str, apart: float, longest: float) -> float:
        with closing(self._open()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            now = self._clock()
            row = connection.execute("SELECT next FROM slots WHERE name = ?", (name,)).fetchone()
            at = max(now, row[0]) if row else now
            if at - now <= longest:
                connection.execute("INSERT OR REPLACE INTO slots VALUES (?, ?)", (name, at + apart))
            connection.execute("COMMIT")
        return at - now

    def _push(self, name: str, seconds: float) -> None:
        with closing(self._open()) as connection:
            connection.execute(
                "INSERT INTO slots VALUES (?1, ?2)"
                " ON CONFLICT (name) DO UPDATE SET next = max(next, ?2)",
                (name, self._clock() + seconds),
            )

    def _open(self) -> sqlite3.Connection:
        self._make_folder()
        path = self.folder / "pace.db"
        try:
            connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
            connection.execute(
                "CREATE TABLE IF NOT EXISTS slots"
                " (name TEXT PRIMARY KEY, next REAL NOT NULL) WITHOUT ROWID"
            )
            return connection
        except sqlite3.DatabaseError as error:
            raise StorageError(
                f"{path} can't be used: {error}.", "It can be deleted; it is made anew."
            ) from None

    def _make_folder(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(
                f"The folder {self.folder} can't be made: {error.strerror}.", "Mend its rights."
            ) from None
