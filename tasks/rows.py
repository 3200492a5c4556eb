"""Rows of the journal's tables, to and from entries."""

from __future__ import annotations

import zlib
from typing import Any

import sqlalchemy as sa

from deskwork.tasks.database import calls
from deskwork.tasks.encoding import loads
from deskwork.tasks.entries import Entry, Packed, unpack_body

_WORTH_COMPRESSING = 256


def at_rest(body: bytes) -> bytes:
    """A body as it lies in the database: compressed where that saves something.

    The digest covers the bytes themselves. JSON never begins with an x, a zlib stream always does.
    """
    if len(body) < _WORTH_COMPRESSING:
        return body
    packed = zlib.compress(body, 1)
    return packed if len(packed) < len(body) else body


def from_rest(body: bytes) -> bytes:
    """The inverse of `at_rest`. Bytes that were tampered with come back as they are."""
    if body[:1] != b"x":
        return body
    try:
        return zlib.decompress(body)
    except zlib.error:
        return body  # the digest tells


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
        "body": at_rest(packed.body),
    }


def packed_of(row: Any) -> Packed:
    """The columns that the digest covers."""
    return Packed(row.kind, row.conversation, row.meta, row.layout, from_rest(row.body))


def entry_of(row: Any) -> Entry:
    """The entry in a row."""
    return Entry(
        row.seq,
        row.conversation,
        row.kind,
        loads(row.meta),
        unpack_body(from_rest(row.body), row.layout),
        row.digest,
        row.created,
    )
