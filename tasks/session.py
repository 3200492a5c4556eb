"""One runner's hold on one job: it appends to the journal and keeps the folded history.

Everything that costs something is recorded before anything else happens. What is next is decided
by the flow from `Session.history`; the steps themselves are in `model_step` and `tool_step`.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from deskwork.tasks import logs
from deskwork.tasks.blobs import Blobs
from deskwork.tasks.conversation import Conversation
from deskwork.tasks.encoding import clean
from deskwork.tasks.endpoint import Endpoint
from deskwork.tasks.entries import Draft
from deskwork.tasks.history import History
from deskwork.tasks.profiles import Tier
from deskwork.tasks.progress import tell
from deskwork.tasks.protocol import ImageRef
from deskwork.tasks.replies import Reply
from deskwork.tasks.settings import Settings
from deskwork.tasks.writer import Writer
from deskwork.tools.errors import WrongUse
from deskwork.tools.pictures import fit_pages
from deskwork.tools.tool import Desk, Tool

_CLOCK = re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\b\d?\d:\d\d:\d\d\b")


@dataclass(frozen=True)
class Brief:
    """What a new conversation begins with; ``images`` are pictures as files hold them."""

    system: str
    text: str
    tools: tuple[Tool, ...] = ()
    tier: Tier = "high"
    images: tuple[bytes, ...] = ()


class Session:
    """A job in this process. Not for two event loops at once.

    It is a plain object on purpose: the flow engine walks what it can look into.
    """

    def __init__(
        self,
        writer: Writer,
        blobs: Blobs,
        settings: Settings,
        endpoint: Endpoint,
    ) -> None:
        self.job = writer.job
        self.writer = writer
        self.blobs = blobs
        self.settings = settings
        self.endpoint = endpoint
        self.desk: Desk | None = None
        self.tools: dict[str, Tool] = {}
        self.history = History(blobs)
        self.appending = asyncio.Lock()
        for entry in writer.journal.entries(self.job):
            self.history.apply(entry)

    async def converse(self, label: str, brief: Callable[[], Brief]) -> Conversation:
        """The conversation with this label; it is opened when the history has none yet."""
        if label in self.history.conversations:
            return self.history.conversations[label]
        start = await asyncio.to_thread(brief)
        codec = self.endpoint.codec
        tools = sorted(start.tools, key=lambda tool: tool.name)
        parts: list[str | ImageRef] = [clean(start.text)]
        for place, image in enumerate(start.images, 1):
            parts += await asyncio.to_thread(self.pictures, image, f"Picture {place}")
        encoded = codec.tools(tools)
        check_stable(start.system)
        meta = opening_meta(label, self.settings, start.tier)
        meta["prompt"] = version_of(start.system)
        if encoded:
            meta["tools"] = version_of(encoded.decode())
        if "effective" in meta:
            tell(
                "trouble",
                self.job,
                f"{self.settings.model} lacks the thinking budget {start.tier!r}: "
                f"{meta['effective'] or 'none'!r} stands in for it.",
            )
        number = self.history.next_number()
        await self.append(
            [
                Draft("conversation", meta, (encoded,) if encoded else (), number),
                Draft("system", {}, (codec.system(clean(start.system)),), number),
                Draft("user", {"why": "opening"}, codec.user(parts), number),
            ]
        )
        return self.history.conversations[label]

    async def say(self, conversation: Conversation, text: str, why: str) -> None:
        """Append a user message; it joins the tool results that it follows directly."""
        joined = conversation.reply is not None and bool(conversation.reply.calls)
        await self.append([user_draft(conversation, text, why, joined=joined)])

    async def append(
        self,
        drafts: Sequence[Draft],
        *,
        reply: Reply | None = None,
        finished: Sequence[tuple[int, int]] = (),
    ) -> None:
        """Record entries durably, then fold them."""
        async with self.appending:
            await self.append_held(drafts, reply=reply, finished=finished)

    async def append_held(
        self,
        drafts: Sequence[Draft],
        *,
        reply: Reply | None = None,
        finished: Sequence[tuple[int, int]] = (),
    ) -> None:
        """The same for a caller that holds the lock ``appending``."""
        # What arrived is recorded even if the job is being stopped: it is paid for.
        recording = asyncio.ensure_future(
            asyncio.to_thread(self.writer.append, drafts, finished=finished)
        )
        try:
            entries = await asyncio.shield(recording)
        except asyncio.CancelledError:
            await asyncio.wait([recording])
            if not recording.cancelled() and (error := recording.exception()):
                raise error from None
            raise
        for entry in entries:
            self.history.apply(entry, reply if entry.kind == "assistant" else None)
            logs.recorded(self.job, entry, self.history.spend.steps)

    async def note(self, name: str, **data: Any) -> None:
        """Record a note: a result of the flow's own work, kept for the resume."""
        await self.append([Draft("note", {"note": name, **data})])

    def pictures(self, data: bytes, name: str) -> list[ImageRef | str]:
        """A file's pictures fitted to what servers take, encoded once and stored.

        Several for a TIFF of several pages; a text at the end says what was left out. Raises
        `BadFile`.
        """
        pages = fit_pages(data, name)
        found: list[ImageRef | str] = [
            ImageRef(self.blobs.put(picture.data), picture.media_type) for picture in pages.pictures
        ]
        return [*found, f"[{pages.note}]"] if pages.note else found


def opening_meta(label: str, settings: Settings, tier: Tier) -> dict[str, Any]:
    """What a conversation's first entry says of who is spoken to, and how long it may think.

    Raises `WrongUse` when the endpoint lacks the tier and none may stand in for it.
    """
    profile = settings.profile
    meta: dict[str, Any] = {
        "label": label,
        "protocol": profile.protocol,
        "profile": profile.name,
        "model": settings.model,
        "tier": tier,
    }
    effective = profile.effective(tier, nearest=settings.schedule.missing == "nearest")
    if effective != tier:
        meta["effective"] = effective
    if profile.own is not None:
        meta["own_profile"] = dict(profile.own)
    if known := settings.models.get(settings.model):
        meta["model_limits"] = known.given()
    return meta


def check_stable(system: str) -> None:
    """Raise `WrongUse` for a system text that holds a clock: no request would hit the cache."""
    if found := _CLOCK.search(system):
        raise WrongUse(
            f"The system text holds the time {found.group()!r}, so no two jobs share a cached "
            "prefix.",
            "Put the time into the question, or into a tool's result.",
        )


def version_of(text: str) -> str:
    """The version of a prompt or of a set of tools: 12 hex digits of its SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def user_draft(conversation: Conversation, text: str, why: str, *, joined: bool = False) -> Draft:
    """A user message as an entry; ``why`` says who wants it said."""
    meta: dict[str, Any] = {"why": why}
    if joined:
        meta["joined"] = True
    return Draft("user", meta, conversation.codec.user([text]), conversation.number)
