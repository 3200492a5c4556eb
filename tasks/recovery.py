"""Whether a flow run that looks unfinished is dead, and what to do with it: decided once.

Every worker looks; the row of the run in the table of holdings is the fence. Whoever claims it has
a minute to set the run going again, which is as long as others leave it alone. A run is dead when
nobody holds its job and no living worker has taken it up. It is gone on with until it has died
three times without a new journal entry, or ten times before its job was held at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from deskwork.tasks import lease
from deskwork.tasks.database import Database, entries, holdings, jobs

ATTEMPTS = 3
"""Deaths in a row without a new journal entry, after which a job has failed."""
STARTS = 10
"""Deaths in a row before the job was held, after which it has failed."""
CLAIM = 60.0
"""Seconds for which a run is left alone: after a claim, and when nothing is known of it yet."""

OPEN = ("RUNNING", "PENDING", "CANCELLING")
"""States of a flow run that looks as if it ran."""

ENDED = ("FAILED", "CANCELLED")
"""States of a run that ended, in which its job is left behind only if the journal was away."""

Todo = Literal["again", "anew", "failed", "close"]
"""Set the run going again; make a new run for its job; it has failed too often; it is over, and
only looks as if it ran."""


@dataclass(frozen=True)
class Run:
    """A flow run as Prefect tells of it. ``state`` is a type as ``RUNNING``, or ``MISSING``.

    ``age`` is the seconds since it came into that state; ``plain`` means that a plain call made
    it, so that no worker has it unless it was retried.
    """

    id: str
    state: str
    age: float
    plain: bool


@dataclass(frozen=True)
class Decision:
    """What is to be done with a run, and for which job, if it has one by now.

    ``state`` is the job's, or that another run has taken it over; ``times`` tells how often it
    died like this.
    """

    todo: Todo
    job: str | None
    state: str = ""
    times: int = 0


class Recovery:
    """Decisions over one journal. ``plain`` runs are recovered too if wanted."""

    def __init__(self, database: Database, *, plain: bool = False) -> None:
        self.database = database
        self.plain = plain

    def suspects(self) -> list[str]:
        """The flow runs whose job looks as if it ran and is held by nobody, or never was held."""
        query = sa.select(jobs).where(
            jobs.c.state == "running", jobs.c.parent.is_(None), jobs.c.flow_run.is_not(None)
        )
        left = sa.select(holdings.c.flow_run).where(holdings.c.place.is_(None))
        with self.database.read() as connection:
            now = self.database.now(connection)
            dead = [r.flow_run for r in connection.execute(query) if not _job_lives(r, now)]
            return list(dict.fromkeys([*dead, *connection.execute(left).scalars()]))

    def claim(self, run: Run) -> Decision | None:
        """What to do with a run, claimed for this caller; None to leave it alone."""
        try:
            with self.database.write() as connection:
                return self._decide(connection, run)
        except sa.exc.IntegrityError:
            return None  # another worker was as quick

    def moved(self, job: str, old: str, new: str) -> None:
        """Note that a new flow run has been made for a job."""
        with self.database.write() as connection:
            mine = sa.and_(jobs.c.id == job, jobs.c.flow_run == old)
            connection.execute(jobs.update().where(mine).values(flow_run=new))

    def _decide(self, connection: sa.Connection, run: Run) -> Decision | None:
        query = sa.select(holdings).where(holdings.c.flow_run == run.id).with_for_update()
        row = connection.execute(query).one_or_none()
        now = self.database.now(connection)
        job = self._job(connection, run.id, row)
        if (job is not None and _job_lives(job, now)) or (row is not None and _is_held(row, now)):
            return None
        if row is None and run.plain and not (self.plain and job is not None):
            return None
        young = run.state == "PENDING" and run.age < CLAIM
        if young and (row is None or (job is not None and not _is_unfinished(job))):
            # A person has answered it or pressed Retry, and a worker is about to take it up: what
            # is on record, and a row that a power cut has left, are of the time before.
            return None
        if run.state in ENDED and (job is None or job.state != "running"):
            return None
        if job is not None and job.flow_run != run.id:
            return _closing(run, job.id, "taken over")
        if row is None and job is None and (run.state == "CRASHED" or run.age < CLAIM):
            # Perhaps a worker is about to take it up; or nothing is known that could go on.
            return None
        if job is not None and not _is_unfinished(job):
            return _closing(run, job.id, job.state)
        return self._count(connection, run, row, job, now)

    def _count(
        self, connection: sa.Connection, run: Run, row: Any, job: Any, now: float
    ) -> Decision:
        """Claim the run, and count how often it died without having come further."""
        holder = job.holder if job is not None else None
        progress = _progress(connection, job.id) if job is not None else 0
        was = row if row is not None and row.recovered is not None else None
        attempts = starts = 0
        if was is None or progress > was.progress:
            attempts = 1
        elif holder == was.holder:
            attempts, starts = was.attempts, was.starts + 1
        else:
            attempts = was.attempts + 1
        too_often = attempts > ATTEMPTS or starts > STARTS
        values = {
            "job": job.id if job is not None else None,
            "worker": None,
            "place": None,
            "child": None,
            "recovered": now,
            "holder": holder,
            "progress": progress,
            "attempts": 0 if too_often else attempts,
            "starts": 0 if too_often else starts,
        }
        if row is None:
            connection.execute(holdings.insert().values(flow_run=run.id, **values))
        else:
            known = holdings.update().where(holdings.c.flow_run == run.id)
            connection.execute(known.values(values))
        name = job.id if job is not None else None
        if too_often:
            return Decision("failed", name, times=max(attempts - 1, starts - 1))
        return Decision("anew" if run.state == "MISSING" else "again", name)

    @staticmethod
    def _job(connection: sa.Connection, run: str, row: Any) -> Any:
        """The job that a run holds or held."""
        if row is not None and row.job is not None:
            return connection.execute(sa.select(jobs).where(jobs.c.id == row.job)).one_or_none()
        mine = sa.and_(jobs.c.flow_run == run, jobs.c.parent.is_(None))
        query = sa.select(jobs).where(mine).order_by(jobs.c.created.desc()).limit(1)
        return connection.execute(query).one_or_none()


def _job_lives(job: Any, now: float) -> bool:
    lapsed = job.lease_until is None or job.lease_until < now
    return bool(job.holder) and not lapsed and not lease.is_dead(job.holder_place)


def _is_held(row: Any, now: float) -> bool:
    """Whether a worker has the run, its process is there, or another worker has just claimed it."""
    word = row.until is not None and row.until >= now
    if row.place is not None and word and not lease.is_dead(row.place):
        return True
    if lease.is_alive(row.child):
        return True
    claimed = row.recovered is not None and row.recovered > (row.taken or 0.0)
    return bool(claimed and now - row.recovered < CLAIM)


def _is_unfinished(job: Any) -> bool:
    return job.state == "running" or (job.state, job.reason) == ("stopped", "not started")


def _closing(run: Run, job: str, state: str) -> Decision | None:
    """A run that is over is closed where it looks as if it ran."""
    return Decision("close", job, state) if run.state in OPEN else None


def _progress(connection: sa.Connection, job: str) -> int:
    """How many entries the job and its children have, but for those that each start adds."""
    below = entries.c.job.in_(sa.select(jobs.c.id).where(jobs.c.parent == job))
    query = sa.select(sa.func.count()).where(
        sa.or_(entries.c.job == job, below), entries.c.kind != "resumed"
    )
    return int(connection.execute(query.select_from(entries)).scalar_one())
