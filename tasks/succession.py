"""A conversation's successor in the same job: another model, or the end of the window.

The new conversation bears the old one's label and continues it; the old one stays in the journal
untouched. What the change cost (thinking that can't be given to the new model) is an entry too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deskwork.tasks.conversation import Conversation
from deskwork.tasks.entries import Draft, Entry, readable
from deskwork.tasks.progress import tell
from deskwork.tasks.protocol import Codec, ImageRef
from deskwork.tasks.reencoding import Reencoder
from deskwork.tasks.session import Session, opening_meta

HAND_OVER_ASKED = """\
The context window is nearly full. Write a hand-over for yourself now and call no tool: the work
goes on from your hand-over alone, with the same tools and instructions. State the question, what
was found (each fact with its figures and its evidence ids as they stand), what was tried in vain,
and what is still to do."""

_HANDED_OVER = """\
The work so far filled the context window. This is the hand-over you wrote; go on from it.

{text}"""

_CUT_OFF = """\
The work so far no longer fits into the context window. This is what is known of it; go on.

{text}"""


def is_stale(session: Session, conversation: Conversation) -> bool:
    """True when the job was moved to another model, profile or protocol since it was opened."""
    profile, own = session.settings.profile, conversation.codec.profile
    return (conversation.opening.model, own.name, own.protocol) != (
        session.settings.model,
        profile.name,
        profile.protocol,
    )


async def move(session: Session, old: Conversation) -> Conversation:
    """Tell a conversation again to the model that the job was moved to, and go on there."""
    codec, entries = session.endpoint.codec, _entries(session)
    number = session.history.next_number()
    reencoder = Reencoder(old, codec, number)
    drafts = reencoder.drafts(entries)
    lost = {name: count for name, count in reencoder.lost.items() if count}
    changed = {name: count for name, count in reencoder.changed.items() if count}
    foreign = reencoder.foreign
    meta: dict[str, Any] = {"continues": old.number, "why": "model"}
    meta |= {name: value for name, value in (("lost", lost), ("changed", changed)) if value}
    if foreign:
        # Another model of the vendor: what it can't read is left out there without a word, so
        # that the history of thinking may no longer be complete.
        meta["thinking_of_other_model_not_used"] = foreign
    opened = await _open(session, old, entries, meta, drafts)
    text = f"goes on with {session.settings.model} ({codec.profile.protocol})"
    if lost:
        text += f"; the thinking of {lost.get('thinking', 0)} replies can't be given to it"
    elif foreign:
        text += "; it may not use the thinking of the model before"
    tell("trouble" if lost or foreign else "plan", session.job, f"{old.label}: {text}")
    return opened


async def hand_over(session: Session, old: Conversation, text: str) -> Conversation:
    """Go on in a new conversation that begins with the model's own hand-over."""
    return await _begin_anew(session, old, _HANDED_OVER.format(text=text), "window")


async def cut_off(session: Session, old: Conversation, tokens: int) -> Conversation:
    """The same where the window is full already: what is known fits into so many tokens."""
    text = _digest(old, _entries(session), 3 * tokens)
    return await _begin_anew(session, old, _CUT_OFF.format(text=text), "overflow")


async def _begin_anew(session: Session, old: Conversation, text: str, why: str) -> Conversation:
    entries, codec = _entries(session), session.endpoint.codec
    origin = _origin(entries, old.number)
    opening = next(e for e in entries if e.conversation == origin and e.kind == "user")
    parts = old.codec.read_user(readable(opening.body))
    said = "\n\n".join([*(part for part in parts if isinstance(part, str)), text])
    images = [part for part in parts if isinstance(part, ImageRef)]
    number = session.history.next_number()
    meta: dict[str, Any] = {"continues": old.number, "why": why}
    if old.why in ("window", "overflow") and old.replies <= (2 if why == "window" else 1):
        meta["futile"] = old.futile + 1
    draft = Draft("user", {"why": "opening"}, codec.user([*images, said]), number)
    opened = await _open(session, old, entries, meta, [draft])
    tell("plan", session.job, f"{old.label}: goes on in a new conversation, its window was full")
    return opened


def _origin(entries: Sequence[Entry], number: int) -> int:
    """The conversation whose opening holds the brief alone, before any hand-over."""
    metas = {e.conversation: e.meta for e in entries if e.kind == "conversation"}
    while metas[number].get("why") in ("window", "overflow"):
        number = metas[number]["continues"]
    return number


async def _open(
    session: Session,
    old: Conversation,
    entries: Sequence[Entry],
    meta: dict[str, Any],
    drafts: Sequence[Draft],
) -> Conversation:
    codec, number = session.endpoint.codec, session.history.next_number()
    opening = opening_meta(old.label, session.settings, old.opening.tier)
    before = next(e for e in entries if e.conversation == old.number and e.kind == "conversation")
    system = next(e for e in entries if e.conversation == old.number and e.kind == "system")
    kept: dict[str, Any] = {
        name: before.meta[name] for name in ("prompt", "tools") if name in before.meta
    }
    text = old.codec.read_system(readable(system.body))
    tools = _tools(old, codec, session)
    await session.append(
        [
            Draft("conversation", {**opening, **kept, **meta}, (tools,) if tools else (), number),
            Draft("system", {}, (codec.system(text),), number),
            *drafts,
        ]
    )
    return session.history.conversations[old.label]


def _tools(old: Conversation, codec: Codec, session: Session) -> bytes:
    """The tools as they were frozen, where the codec is of the same kind; else encoded anew."""
    if not old.opening.tools:
        return b""
    if old.codec.profile.protocol == codec.profile.protocol:
        return old.opening.tools
    return codec.tools(sorted(session.tools.values(), key=lambda tool: tool.name))


def _entries(session: Session) -> list[Entry]:
    return session.writer.journal.entries(session.job)


def _digest(old: Conversation, entries: Sequence[Entry], characters: int) -> str:
    """What a conversation said and found, the newest kept, within so many characters."""
    lines: list[str] = []
    names: dict[int, str] = {}
    for entry in entries:
        if entry.conversation != old.number:
            continue
        if entry.kind == "assistant":
            wire = b"".join(part for part in entry.body if isinstance(part, bytes))
            reply = old.codec.reread(wire, entry.meta)
            names = {n: f"{c.name}({c.arguments[:200]})" for n, c in enumerate(reply.calls)}
            if reply.text.strip():
                lines.append(f"You said: {reply.text.strip()}")
        elif entry.kind == "tool":
            found = old.codec.read_result(readable(entry.body))
            lines.append(
                f"{names.get(entry.meta['place'], entry.meta['name'])} gave: {found[:600]}"
            )
    kept: list[str] = []
    for line in reversed(lines):
        if characters < len(line):
            if not kept and characters > 0:
                # The newest is too long by itself: its end is where the work stopped.
                kept.append(f"[...] {line[-characters:]}")
            break
        kept.append(line)
        characters -= len(line)
    left_out = len(lines) - len(kept)
    head = [f"({left_out} earlier calls and replies are left out.)"] if left_out else []
    return "\n".join([*head, *reversed(kept)])
