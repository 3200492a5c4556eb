"""An entry of a job's journal, and the digest that chains it to its parent.

A message's bytes are frozen as segments: bytes, or a reference to a blob together with the way
its content stands in the message. The digest covers the parent's digest and everything the entry
holds, so that a changed entry, or a missing one, breaks the chain.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from deskwork.tasks.blobs import Blobs
from deskwork.tasks.encoding import dumps, loads

FIRST_PARENT = bytes(32)
"""The parent digest of a job's first entry."""


@dataclass(frozen=True)
class BlobSegment:
    """A blob's content inside a message, base64 as in every image field of the wire."""

    sha256: str


Body = tuple[bytes | BlobSegment, ...]
"""The segments of a message, in order."""


@dataclass(frozen=True)
class Draft:
    """What is to be appended: an entry that has no place in the chain yet.

    ``kind`` is one of start, conversation, system, user, assistant, discarded, tool, limit, note,
    decision, resumed, moved, fork, outcome, review, delivery, seen. ``meta`` is plain JSON;
    ``body`` the bytes that stand in requests.
    """

    kind: str
    meta: dict[str, Any]
    body: Body = ()
    conversation: int = 0


@dataclass(frozen=True)
class Entry:
    """One entry as recorded. ``created`` is Unix time in seconds."""

    seq: int
    conversation: int
    kind: str
    meta: dict[str, Any]
    body: Body
    digest: bytes
    created: float


@dataclass(frozen=True)
class Packed:
    """An entry's columns: ``meta`` and ``layout`` as stored text, ``body`` its inline bytes.

    ``layout`` is None for a body without blobs, else a JSON list of inline lengths and hashes.
    """

    kind: str
    conversation: int
    meta: str
    layout: str | None
    body: bytes

    def digest(self, parent: bytes) -> bytes:
        """SHA-256 over the parent's digest and every column, each with its length."""
        hashed = hashlib.sha256(parent)
        for part in (
            self.kind.encode(),
            str(self.conversation).encode(),
            self.meta.encode(),
            (self.layout or "").encode(),
            self.body,
        ):
            hashed.update(len(part).to_bytes(8, "big"))
            hashed.update(part)
        return hashed.digest()


def pack(draft: Draft) -> Packed:
    """The columns of a draft. Raises `NotStorable` when its meta isn't plain JSON."""
    meta = dumps(draft.meta).decode()
    inline = b"".join(part for part in draft.body if isinstance(part, bytes))
    layout = None
    if any(isinstance(part, BlobSegment) for part in draft.body):
        layout = dumps(
            [len(part) if isinstance(part, bytes) else part.sha256 for part in draft.body]
        ).decode()
    return Packed(draft.kind, draft.conversation, meta, layout, inline)


def unpack_body(body: bytes, layout: str | None) -> Body:
    """The segments of stored columns."""
    if layout is None:
        return (body,) if body else ()
    segments: list[bytes | BlobSegment] = []
    offset = 0
    for item in loads(layout):
        if isinstance(item, int):
            segments.append(body[offset : offset + item])
            offset += item
        else:
            segments.append(BlobSegment(item))
    return tuple(segments)


def joined(parts: Sequence[bytes | BlobSegment]) -> Body:
    """A body in which neighbouring bytes are one segment."""
    body: list[bytes | BlobSegment] = []
    for part in parts:
        last = body[-1] if body else None
        if isinstance(part, bytes) and isinstance(last, bytes):
            body[-1] = last + part
        else:
            body.append(part)
    return tuple(body)


def readable(body: Body) -> bytes:
    """The message as JSON with each blob's hash in the place of its content."""
    return b"".join(
        part if isinstance(part, bytes) else f"blob:{part.sha256}".encode() for part in body
    )


def body_bytes(body: Body, blobs: Blobs) -> bytes:
    """The message as it stands in a request, blobs expanded."""
    return b"".join(
        part if isinstance(part, bytes) else base64.b64encode(blobs.get(part.sha256))
        for part in body
    )
