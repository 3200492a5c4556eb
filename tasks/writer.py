"""The right to append to one job: durable, in order, and only while its lease is held."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import sqlalchemy as sa

from deskwork.tasks.database import calls, entries, jobs
from deskwork.tasks.encoding import loads
from deskwork.tasks.entries import Draft, Entry, Packed, pack, unpack_body
from deskwork.tasks.patience import wait_out, waiting
from deskwork.tasks.rows import call_is, row_of
from deskwork.tools.errors import JobHeld

if TYPE_CHECKING:
    from deskwork.tasks.journal import Journal


_HOLDER = (
    sa.select(jobs.c.holder).where(jobs.c.id == sa.bindparam("job")).with_for_update(read=True)
)
_INSERT = entries.insert()


class Writer:
    """The right to append to one job, held until `release`.

    One thing is appended at a time, whatever the thread: a job that is stopped while a reply is
    being recorded records its end behind it.
    """

    def __init__(self, journal: Journal, job: str, holder: str, next_seq: int, head: bytes) -> None:
        self.journal = journal
        self.patience = journal.patience
        self.job = job
        self.next_seq = next_seq
        self.head = head
        self._holder = holder
        self._appending = threading.Lock()
        # Only the holder writes these rows, so what is not in here needs no look at the table.
        self._open = self._open_places()

    def append(
        self, drafts: Sequence[Draft], *, finished: Sequence[tuple[int, int]] = ()
    ) -> list[Entry]:
        """Append entries in one transaction; the calls in ``finished`` leave the open calls.

        When this returns, they are on disk. Raises `JobHeld` when the lease was lost. Where the
        connection broke off nobody knows whether it was committed, so that is looked up first.
        """
        packed = [pack(draft) for draft in drafts]
        unsure = False

        def once() -> list[Entry]:
            nonlocal unsure
            known = self._committed(drafts, packed, finished) if unsure else None
            unsure = True
            return known or self._append(drafts, packed, finished)

        with self._appending:
            return wait_out(once, self.patience)

    def _committed(
        self,
        drafts: Sequence[Draft],
        packed: Sequence[Packed],
        finished: Sequence[tuple[int, int]],
    ) -> list[Entry] | None:
        """The entries, if they are on disk already."""
        digests: list[bytes] = []
        for item in packed:
            digests.append(item.digest(digests[-1] if digests else self.head))
        query = sa.select(entries.c.digest, entries.c.created).where(
            entries.c.job == self.job, entries.c.seq == self.next_seq + len(digests) - 1
        )
        with self.journal.database.read() as connection:
            last = connection.execute(query).one_or_none()
        if not digests or last is None or bytes(last.digest) != digests[-1]:
            return None
        appended = [
            Entry(seq, draft.conversation, draft.kind, draft.meta, draft.body, digest, last.created)
            for seq, (draft, digest) in enumerate(
                zip(drafts, digests, strict=True), start=self.next_seq
            )
        ]
        self._open.difference_update(finished)
        self.next_seq, self.head = self.next_seq + len(digests), digests[-1]
        return appended

    def _append(
        self,
        drafts: Sequence[Draft],
        packed: Sequence[Packed],
        finished: Sequence[tuple[int, int]],
    ) -> list[Entry]:
        rows = []
        appended = []
        seq, digest = self.next_seq, self.head
        with self._transaction() as (connection, now):
            for draft, item in zip(drafts, packed, strict=True):
                digest = item.digest(digest)
                rows.append(row_of(self.job, seq, now, item, digest))
                appended.append(
                    Entry(seq, draft.conversation, draft.kind, draft.meta, draft.body, digest, now)
                )
                seq += 1
            if rows:
                connection.execute(_INSERT, rows)
            for turn, place in self._open.intersection(finished):
                connection.execute(calls.delete().where(call_is(self.job, turn, place)))
        self._open.difference_update(finished)
        self.next_seq, self.head = seq, digest
        return appended

    @waiting
    def start_call(self, turn: int, place: int) -> None:
        """Record that a call begins which must not run twice unasked."""
        with self._transaction() as (connection, now):
            connection.execute(calls.delete().where(call_is(self.job, turn, place)))
            connection.execute(
                calls.insert().values(job=self.job, turn=turn, place=place, started=now)
            )
        self._open.add((turn, place))

    @waiting
    def stage_call(self, turn: int, place: int, draft: Draft) -> None:
        """Record the result of a call that ended before an earlier one of the same reply did."""
        packed = pack(draft)
        with self._transaction() as (connection, now):
            connection.execute(calls.delete().where(call_is(self.job, turn, place)))
            connection.execute(
                calls.insert().values(
                    job=self.job,
                    turn=turn,
                    place=place,
                    started=now,
                    meta=packed.meta,
                    layout=packed.layout,
                    body=packed.body,
                )
            )
        self._open.add((turn, place))

    @waiting
    def open_calls(self, turn: int) -> dict[int, Draft | None]:
        """place → staged result, or None for a call that began and never ended."""
        if not self._open:
            return {}
        query = sa.select(calls).where(calls.c.job == self.job, calls.c.turn == turn)
        with self.journal.database.read() as connection:
            return {
                row.place: None
                if row.meta is None
                else Draft("tool", loads(row.meta), unpack_body(row.body, row.layout))
                for row in connection.execute(query)
            }

    @waiting
    def begun(self, turn: int) -> dict[int, float]:
        """place → when it began (Unix time), of the calls whose end was never recorded."""
        query = sa.select(calls.c.place, calls.c.started).where(
            calls.c.job == self.job, calls.c.turn == turn, calls.c.meta.is_(None)
        )
        with self.journal.database.read() as connection:
            return {row.place: row.started for row in connection.execute(query)}

    @waiting
    def _open_places(self) -> set[tuple[int, int]]:
        query = sa.select(calls.c.turn, calls.c.place).where(calls.c.job == self.job)
        with self.journal.database.read() as connection:
            return {(row.turn, row.place) for row in connection.execute(query)}

    def release(self, state: str, reason: str = "") -> None:
        """Give the lease back and leave the job in a named state."""
        self.journal.release(self.job, self._holder, state, reason)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[tuple[sa.Connection, float]]:
        try:
            with self.journal.database.write() as connection:
                holder = connection.execute(_HOLDER, {"job": self.job}).scalar()
                if holder != self._holder:
                    raise self._lost()
                yield connection, self.journal.database.now(connection)
        except sa.exc.IntegrityError:
            raise self._lost() from None

    def _lost(self) -> JobHeld:
        return JobHeld(
            f"Job {self.job} was taken over by another process; this one stops.",
            f"`deskwork show {self.job}` tells how it goes on.",
        )
