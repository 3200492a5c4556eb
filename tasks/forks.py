"""A fork is a job whose first k entries are another's; verifying walks a job's chain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from deskwork.tasks.blobs import Blobs
from deskwork.tasks.encoding import loads
from deskwork.tasks.entries import FIRST_PARENT, BlobSegment, Draft, Packed, unpack_body
from deskwork.tasks.history import History
from deskwork.tasks.journal import Journal
from deskwork.tools.errors import StorageError, WrongUse


def fork(
    journal: Journal,
    blobs: Blobs,
    job: str,
    at: int,
    new_id: str | None = None,
    settings: dict[str, Any] | None = None,
) -> str:
    """Make a job of the first ``at`` entries of another, and return its id.

    Raises `WrongUse` where a call would be left unanswered, or when the id is taken.
    """
    parent = journal.job(job)
    if parent.parent:
        raise WrongUse(
            f"Job {job} is part of {parent.parent} and can't stand alone.",
            f"Fork {parent.parent} instead.",
        )
    entries = journal.entries(job)
    if not 1 <= at <= len(entries):
        raise WrongUse(
            f"Job {job} has {len(entries)} entries; it can't be forked at {at}.",
            f"`deskwork show {job}` numbers them; --at N keeps the first N.",
        )
    history = History(blobs)
    for entry in entries[:at]:
        history.apply(entry)
    for conversation in history.conversations.values():
        if conversation.open_calls:
            raise WrongUse(
                f"After {at} entries of {job} the model's calls are not answered yet.",
                f"Fork where every call has its result: {_whole(entries, blobs, at)}.",
            )
    name = new_id or _free_name(journal, job)
    meta = {"of": job, "at": at, "settings": settings or {}, "limits": history.limits.model_dump()}
    made = journal.create(
        name,
        flow=parent.flow,
        key=parent.key,
        title=parent.title,
        start=Draft("fork", meta),
        copied=list(journal.packed(job, at)),
    )
    if not made:
        raise WrongUse(f"There is a job {name} already.", "Choose another id with --job.")
    return name


def _free_name(journal: Journal, job: str) -> str:
    taken = {known.id for known in journal.jobs()}
    number = 1
    while f"{job}-fork-{number}" in taken:
        number += 1
    return f"{job}-fork-{number}"


def _whole(entries: list[Any], blobs: Blobs, at: int) -> str:
    """The nearest places around ``at`` where no call is unanswered, in words."""
    history, places = History(blobs), []
    for count, entry in enumerate(entries, 1):
        history.apply(entry)
        if not any(c.open_calls for c in history.conversations.values()):
            places.append(count)
    before = [place for place in places if place < at][-1:]
    after = [place for place in places if place > at][:1]
    return " or ".join(f"--at {place}" for place in before + after)


@dataclass(frozen=True)
class Verified:
    """What a walk over a job's chain found. ``problem`` is empty when it is whole."""

    job: str
    entries: int
    blobs: int
    problem: str


def verify(journal: Journal, blobs: Blobs, job: str) -> Verified:
    """Recompute every digest of a job from its stored bytes, and check every blob it names."""
    journal.job(job)
    parent, count = FIRST_PARENT, 0
    checked: set[str] = set()
    for seq, (packed, recorded) in journal.numbered(job):
        if seq != count:
            return Verified(job, count, len(checked), f"entry {count} is missing")
        if packed.digest(parent) != recorded:
            return Verified(job, count, len(checked), f"entry {seq} was altered")
        for sha256 in _named_blobs(packed):
            if sha256 not in checked:
                try:
                    blobs.get(sha256)
                except StorageError as error:
                    return Verified(job, count, len(checked), f"entry {seq}: {error.message}")
                checked.add(sha256)
        parent, count = recorded, count + 1
    return Verified(job, count, len(checked), "")


def _named_blobs(packed: Packed) -> list[str]:
    """The blobs of an entry's message, of what was fetched, drawn, and left in the workspace."""
    segments = unpack_body(packed.body, packed.layout)
    named = [segment.sha256 for segment in segments if isinstance(segment, BlobSegment)]
    if packed.kind == "tool":
        meta = loads(packed.meta)
        named += [row["sha256"] for key in ("sources", "charts") for row in meta.get(key, ())]
        named += [sha256 for sha256 in meta.get("workspace", {}).values() if sha256]
    return named
