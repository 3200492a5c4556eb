"""Rows of the journal's tables, to and from entries."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from deskwork.tasks.database import calls
from deskwork.tasks.encoding import loads
from deskwork.tasks.entries import Entry, Packed, unpack_body


def call_is(job: str, turn: int, place: int) -> sa.ColumnElement[bool]:
    """True for the row of this call."""
    return sa.and_(calls.c.job == job, calls.c.turn == turn, calls.c.place == place)


def row_of(job: str, seq: int, now: float, packed: Packed, digest: bytes) -> dict[str, Any]:
    """The columns of an entry at its place in the chain."""
    return {
        "job": job,
        "seq": seq,
        "conversation": packed.conversation,
        "kind": packed.kind,
        "created": now,
        "digest": digest,
        "meta": packed.meta,
        "layout": packed.layout,
        "body": packed.body,
    }


def packed_of(row: Any) -> Packed:
    """The columns that the digest covers."""
    return Packed(row.kind, row.conversation, row.meta, row.layout, row.body)


def entry_of(row: Any) -> Entry:
    """The entry in a row."""
    return Entry(
        row.seq,
        row.conversation,
        row.kind,
        loads(row.meta),
        unpack_body(row.body, row.layout),
        row.digest,
        row.created,
    )
