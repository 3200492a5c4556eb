"""Which worker has a flow run: written down when it is taken up, for whoever must go on with it.

A job's lease begins when the job does, seconds after its run was taken up; a worker that is killed
in between would leave a run that nobody holds and nobody would dare to start again. So a worker
writes down each run that it takes, with its own place, renews that while it lives, and adds the
place of the run's process.
"""

from __future__ import annotations

import secrets

import sqlalchemy as sa

from deskwork.tasks import lease
from deskwork.tasks.database import Database, holdings


class Holdings:
    """The runs of this worker. Its methods block; their errors are `StorageError`."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._worker = secrets.token_hex(8)
        self._place = lease.this_place()

    def take(self, flow_run: str) -> None:
        """Write down that this worker takes a run up."""
        with self.database.write() as connection:
            now = self.database.now(connection)
            values = {
                "worker": self._worker,
                "place": self._place,
                "child": None,
                "taken": now,
                "until": now + lease.LEASE_SECONDS,
            }
            known = holdings.update().where(holdings.c.flow_run == flow_run)
            if not connection.execute(known.values(values)).rowcount:
                connection.execute(holdings.insert().values(flow_run=flow_run, **values))

    def began(self, flow_run: str, pid: int) -> None:
        """Add the process that the run is."""
        with self.database.write() as connection:
            connection.execute(self._mine(flow_run).values(child=lease.place_of(pid)))

    def renew(self) -> None:
        """Put the end of this worker's word off."""
        with self.database.write() as connection:
            until = self.database.now(connection) + lease.LEASE_SECONDS
            mine = holdings.update().where(holdings.c.worker == self._worker)
            connection.execute(mine.values(until=until))

    def has(self, flow_run: str) -> bool:
        """Whether the run is still this worker's: another may have gone on with it."""
        query = sa.select(holdings.c.worker).where(holdings.c.flow_run == flow_run)
        with self.database.read() as connection:
            return bool(connection.execute(query).scalar() == self._worker)

    def leave(self, flow_run: str, *, over: bool) -> None:
        """Let a run go whose process has ended; nothing is kept of one that is ``over``."""
        mine = sa.and_(holdings.c.flow_run == flow_run, holdings.c.worker == self._worker)
        with self.database.write() as connection:
            if over:
                connection.execute(holdings.delete().where(mine))
            else:
                free = {"worker": None, "place": None, "child": None, "until": None}
                connection.execute(self._mine(flow_run).values(free))

    def _mine(self, flow_run: str) -> sa.Update:
        return holdings.update().where(
            holdings.c.flow_run == flow_run, holdings.c.worker == self._worker
        )
