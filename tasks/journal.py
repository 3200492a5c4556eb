"""The journal: one append-only chain of entries per job, and the jobs themselves.

What a job does next follows from its entries alone. Appending writes what the step added and
reads nothing before it. Whoever appends must hold the job's lease; the primary key (job, seq)
is the last fence, so that two runners never interleave.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from deskwork.tasks import lease
from deskwork.tasks.database import Database, entries, holdings, jobs
from deskwork.tasks.encoding import clean, loads
from deskwork.tasks.entries import FIRST_PARENT, Draft, Entry, Packed, pack
from deskwork.tasks.patience import waiting
from deskwork.tasks.rows import entry_of, packed_of, row_of
from deskwork.tasks.writer import Writer
from deskwork.tools.errors import JobHeld, NotFound

FINISHED = ("done", "needs review")
"""States after which the same call starts a new run; every other one goes on."""


@dataclass(frozen=True)
class Job:
    """A job as a person sees it. ``state`` is a named state of the design, or ``running``."""

    id: str
    flow: str
    key: str
    parent: str | None
    title: str
    state: str
    reason: str
    flow_run: str | None
    created: float
    updated: float


class Journal:
    """All jobs of one database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.patience = database.patience
        self._keeper = lease.LeaseKeeper(self)

    @classmethod
    def open(cls, url: str | None, home: Path) -> Journal:
        """The journal at a database address, or ``journal.db`` under the home."""
        return cls(Database(url, home))

    # Jobs

    @waiting
    def create(
        self,
        job: str,
        *,
        flow: str,
        key: str,
        title: str,
        start: Draft,
        parent: str | None = None,
        copied: Sequence[tuple[Packed, bytes]] = (),
    ) -> bool:
        """Record a new job with its first entry; False when the id is taken already.

        A fork passes the other job's first entries as ``copied``.
        """
        with self.database.write() as connection:
            if connection.execute(sa.select(jobs.c.id).where(jobs.c.id == job)).scalar():
                return False
            now = self.database.now(connection)
            connection.execute(
                jobs.insert().values(
                    id=job,
                    flow=flow,
                    key=key,
                    parent=parent,
                    title=clean(title[:200]),
                    state="stopped",
                    reason="not started",
                    created=now,
                    updated=now,
                )
            )
            seq, digest = 0, FIRST_PARENT
            rows = []
            for packed, recorded in copied:
                rows.append(row_of(job, seq, now, packed, recorded))
                seq, digest = seq + 1, recorded
            packed = pack(start)
            rows.append(row_of(job, seq, now, packed, packed.digest(digest)))
            connection.execute(entries.insert(), rows)
        return True

    @waiting
    def job(self, job: str) -> Job:
        """A job by its id. Raises `NotFound`."""
        with self.database.read() as connection:
            row = connection.execute(sa.select(jobs).where(jobs.c.id == job)).one_or_none()
        if row is None:
            raise NotFound(f"There is no job {job!r}.", "`deskwork jobs` lists them.")
        return _job(row)

    @waiting
    def jobs(
        self, *, prefix: str = "", flow_run: str | None = None, roots: bool = False
    ) -> list[Job]:
        """Jobs, the oldest first: those whose id begins so, those of one flow run, or no child."""
        query = sa.select(jobs).order_by(jobs.c.created, jobs.c.id)
        if prefix:
            query = query.where(jobs.c.id >= prefix, jobs.c.id < prefix + "\U0010ffff")
        if flow_run is not None:
            query = query.where(jobs.c.flow_run == flow_run)
        if roots:
            query = query.where(jobs.c.parent.is_(None))
        with self.database.read() as connection:
            return [_job(row) for row in connection.execute(query)]

    def children(self, job: str) -> list[Job]:
        """The child jobs of a job; their ids begin with its own."""
        return [child for child in self.jobs(prefix=f"{job}.") if child.parent == job]

    @waiting
    def finished(self, flow: str) -> dict[str, str]:
        """Key → id of the finished jobs of a flow; of several with one key the last."""
        query = sa.select(jobs.c.key, jobs.c.id).where(
            jobs.c.flow == flow, jobs.c.state.in_(FINISHED)
        )
        with self.database.read() as connection:
            rows = connection.execute(query.order_by(jobs.c.updated))
            return {row.key: row.id for row in rows}

    # Leases

    @waiting
    def check_free(self, job: str) -> None:
        """Raise `JobHeld` when another runner has the job, before anything is prepared for it."""
        with self.database.read() as connection:
            row = connection.execute(sa.select(jobs).where(jobs.c.id == job)).one_or_none()
            if row is not None:
                self._check_lease(job, row, self.database.now(connection))

    def acquire(self, job: str, flow_run: str | None = None) -> Writer:
        """Take the job's lease; raises `JobHeld` at once when another runner has it."""
        holder = lease.new_holder()
        seq, digest = self._take(job, holder, flow_run)
        self._keeper.keep(job, holder)
        return Writer(self, job, holder, seq + 1, digest)

    @waiting
    def _take(self, job: str, holder: str, flow_run: str | None) -> tuple[int, bytes]:
        """Take the lease; seq and digest of the job's last entry."""
        with self.database.write() as connection:
            row = connection.execute(
                sa.select(jobs).where(jobs.c.id == job).with_for_update()
            ).one_or_none()
            if row is None:
                raise NotFound(f"There is no job {job!r}.", "`deskwork jobs` lists them.")
            now = self.database.now(connection)
            if row.holder != holder:  # else it was taken as the connection broke off
                self._check_lease(job, row, now)
            values: dict[str, Any] = {
                "holder": holder,
                "holder_place": lease.this_place(),
                "lease_until": now + lease.LEASE_SECONDS,
                "state": "running",
                "reason": "",
                "updated": now,
            }
            if flow_run:
                values["flow_run"] = flow_run
                held = holdings.update().where(holdings.c.flow_run == flow_run)
                connection.execute(held.values(job=job))
            connection.execute(jobs.update().where(jobs.c.id == job).values(values))
            head = connection.execute(
                sa.select(entries.c.seq, entries.c.digest)
                .where(entries.c.job == job)
                .order_by(entries.c.seq.desc())
                .limit(1)
            ).one()
            return head.seq, bytes(head.digest)

    @staticmethod
    def _check_lease(job: str, row: Any, now: float) -> None:
        lapsed = row.lease_until is None or row.lease_until < now
        if row.holder and not lapsed and not lease.is_dead(row.holder_place):
            raise JobHeld(
                f"Job {job} is being run by another process ({_where(row.holder_place)}), which "
                f"was alive {max(0.0, now + lease.LEASE_SECONDS - row.lease_until):.0f} s ago.",
                "Wait for it, or stop that process and run this again.",
            )

    @waiting
    def renew(self, job: str, holder: str) -> None:
        """Put the end of a held lease off."""
        with self.database.write() as connection:
            connection.execute(
                jobs.update()
                .where(jobs.c.id == job, jobs.c.holder == holder)
                .values(lease_until=self.database.now(connection) + lease.LEASE_SECONDS)
            )

    @waiting
    def release(self, job: str, holder: str, state: str, reason: str) -> None:
        """Give the lease back and leave the job in a named state."""
        self._keeper.drop(holder)
        with self.database.write() as connection:
            connection.execute(
                jobs.update()
                .where(jobs.c.id == job, jobs.c.holder == holder)
                .values(
                    holder=None,
                    holder_place=None,
                    lease_until=None,
                    state=state,
                    reason=clean(reason),
                    updated=self.database.now(connection),
                )
            )

    # Entries

    @waiting
    def entries(self, job: str, *, after: int = -1) -> list[Entry]:
        """The entries of a job in order, those after a seq."""
        query = (
            sa.select(entries)
            .where(entries.c.job == job, entries.c.seq > after)
            .order_by(entries.c.seq)
        )
        with self.database.read() as connection:
            return [entry_of(row) for row in connection.execute(query)]

    @waiting
    def head(self, job: str) -> bytes:
        """The digest of a job's last entry."""
        query = sa.select(entries.c.digest).where(entries.c.job == job)
        with self.database.read() as connection:
            return bytes(
                connection.execute(query.order_by(entries.c.seq.desc()).limit(1)).scalar_one()
            )

    def packed(self, job: str, count: int | None = None) -> Iterator[tuple[Packed, bytes]]:
        """The stored columns and the recorded digest of a job's first ``count`` entries."""
        for _, pair in self.numbered(job, count):
            yield pair

    def numbered(
        self, job: str, count: int | None = None
    ) -> Iterator[tuple[int, tuple[Packed, bytes]]]:
        """(seq, (columns, digest)) of a job's entries in order."""
        query = sa.select(entries).where(entries.c.job == job).order_by(entries.c.seq)
        with self.database.read() as connection:
            for row in connection.execute(query.limit(count) if count is not None else query):
                yield row.seq, (packed_of(row), row.digest)

    def replies(self, job: str) -> list[tuple[int, dict[str, Any]]]:
        """(conversation, meta) of every reply that was paid for, kept or not."""
        return self._placed(job, "assistant", "discarded")

    def results(self, job: str) -> list[tuple[int, dict[str, Any]]]:
        """(conversation, meta) of every tool result."""
        return self._placed(job, "tool")

    @waiting
    def _placed(self, job: str, *kinds: str) -> list[tuple[int, dict[str, Any]]]:
        query = sa.select(entries.c.conversation, entries.c.meta).where(
            entries.c.job == job, entries.c.kind.in_(kinds)
        )
        with self.database.read() as connection:
            rows = connection.execute(query.order_by(entries.c.seq))
            replies = [(number, loads(meta)) for number, meta in rows]
            return [(number, meta) for number, meta in replies if "copied" not in meta]

    @waiting
    def heads(self) -> dict[str, tuple[int, float]]:
        """Each job's last seq, and when that entry was made (Unix seconds)."""
        last = sa.select(entries.c.job, sa.func.max(entries.c.seq).label("seq"))
        heads = last.group_by(entries.c.job).subquery()
        query = sa.select(entries.c.job, entries.c.seq, entries.c.created).join(
            heads, sa.and_(entries.c.job == heads.c.job, entries.c.seq == heads.c.seq)
        )
        with self.database.read() as connection:
            return {row.job: (row.seq, row.created) for row in connection.execute(query)}

    @waiting
    def spent(self, job: str, *, after: int, until: int) -> list[tuple[str, int, dict[str, Any]]]:
        """(kind, conversation, meta) of what opened conversations and what cost.

        Of the entries behind ``after``, up to ``until``.
        """
        kinds = ("conversation", "assistant", "discarded", "tool")
        query = (
            sa.select(entries.c.kind, entries.c.conversation, entries.c.meta)
            .where(entries.c.job == job, entries.c.kind.in_(kinds))
            .where(entries.c.seq > after, entries.c.seq <= until)
            .order_by(entries.c.seq)
        )
        with self.database.read() as connection:
            return [(kind, number, loads(meta)) for kind, number, meta in connection.execute(query)]

    @waiting
    def conversations(self, job: str) -> dict[int, dict[str, Any]]:
        """Number → meta of a job's conversations: label, model, tier, protocol, profile."""
        query = sa.select(entries.c.conversation, entries.c.meta).where(
            entries.c.job == job, entries.c.kind == "conversation"
        )
        with self.database.read() as connection:
            return {number: loads(meta) for number, meta in connection.execute(query)}

    @waiting
    def metas(self, job: str, *kinds: str) -> list[tuple[int, str, dict[str, Any]]]:
        """(seq, kind, meta) of a job's entries of these kinds: small columns, no bodies."""
        query = (
            sa.select(entries.c.seq, entries.c.kind, entries.c.meta)
            .where(entries.c.job == job, entries.c.kind.in_(kinds))
            .order_by(entries.c.seq)
        )
        with self.database.read() as connection:
            return [(seq, kind, loads(meta)) for seq, kind, meta in connection.execute(query)]


def _job(row: Any) -> Job:
    state, reason = row.state, row.reason
    if state == "running" and lease.is_dead(row.holder_place):
        state, reason = "stopped", "its process ended before the job did"
    return Job(
        row.id,
        row.flow,
        row.key,
        row.parent,
        row.title,
        state,
        reason,
        row.flow_run,
        row.created,
        row.updated,
    )


def _where(place: str | None) -> str:
    holder = loads(place or "{}")
    machine = str(holder.get("machine", "?")).split()
    return f"process {holder.get('pid', '?')} on {machine[0] if machine else '?'}"
