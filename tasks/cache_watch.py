"""Watching the prompt cache: an entry in the journal when its hits collapse in mid-conversation."""

from __future__ import annotations

from deskwork.tasks.conversation import Conversation
from deskwork.tasks.history import History
from deskwork.tasks.progress import tell
from deskwork.tasks.session import Session

WORTH_SAYING = 1024
"""Tokens: the smallest prefix that any server caches."""


def collapsed(before: dict[str, int] | None, now: dict[str, int] | None) -> bool:
    """True when a cache that worked gives less than half of what it gave for the last request.

    The two are usages of neighbouring requests; a server that doesn't say is never blamed.
    """
    if not before or not now or "cache_read" not in now:
        return False
    read = before.get("cache_read", 0)
    return read >= WORTH_SAYING and now["cache_read"] < read / 2


async def watch(
    session: Session, conversation: Conversation, before: dict[str, int] | None
) -> None:
    """Record a collapse, with the first byte at which the two requests' prefixes differ."""
    now = conversation.usage
    if not collapsed(before, now) or before is None or now is None:
        return
    at = first_difference(*_requests(session, conversation))
    why = (
        "the bytes sent before are unchanged, so the server let go of them"
        if at is None
        else f"the requests differ from byte {at} on"
    )
    await session.note(
        "cache lost",
        conversation=conversation.number,
        expected=before.get("cache_read", 0),
        read=now["cache_read"],
        differs_at=at,
    )
    tell(
        "trouble",
        session.job,
        f"Cache lost: {now['cache_read']:,} cached tokens after {before.get('cache_read', 0):,}; "
        f"{why}.",
    )


def first_difference(earlier: bytes, later: bytes) -> int | None:
    """The first byte at which a request departs from an earlier one that it should begin with."""
    if later.startswith(earlier):
        return None
    pairs = enumerate(zip(earlier, later, strict=False))
    return next((at for at, (one, other) in pairs if one != other), len(later))


def _requests(session: Session, conversation: Conversation) -> tuple[bytes, bytes]:
    """The last two requests, put together anew from the journal, without their ends."""
    entries = session.writer.journal.entries(session.job)
    turns = [
        place
        for place, entry in enumerate(entries)
        if entry.conversation == conversation.number and entry.kind in ("assistant", "discarded")
    ]
    requests = []
    for place in turns[-2:]:
        history = History(session.blobs)
        for entry in entries[:place]:
            history.apply(entry)
        requests.append(history.conversations[conversation.label].prefix())
    return requests[0], requests[-1]
