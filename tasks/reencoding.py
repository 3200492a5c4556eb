"""A conversation told again to another model: its messages encoded anew, once, for a new profile.

The old conversation stays untouched in the journal. What the new server can't be given (thinking
that is bound to another model, blocks that it refuses) is counted, so that the loss is on record.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from deskwork.tasks.conversation import Conversation
from deskwork.tasks.entries import Body, Draft, Entry, readable
from deskwork.tasks.protocol import Codec, ImageRef
from deskwork.tasks.replies import inner_object, suffixed

_NOT_COPIED = (
    "usage",
    "cost",
    "received",
    "raw_finish",
    "max_output",
    "evidence",
    "charts",
    "workspace",
    "spilled",
    "status",
)


class Reencoder:
    """Tells the entries of one conversation again in another codec.

    ``lost`` counts what could not be told: ``thinking``, ``signatures``; ``changed`` what is told
    in other words: ``ids``. ``foreign`` counts the replies whose thinking is sent on as it came,
    signed or encrypted for the model before.
    """

    def __init__(self, old: Conversation, codec: Codec, number: int) -> None:
        self.lost: Counter[str] = Counter()
        self.changed: Counter[str] = Counter()
        self.foreign = 0
        self._old = old
        self._codec = codec
        self._number = number
        self._ids: Counter[str] = Counter()
        self._calls: tuple[str, ...] = ()
        self._pictures: list[ImageRef] = []
        same = old.codec.profile.protocol == codec.profile.protocol
        self._raw = same and old.codec.profile.name == codec.profile.name

    def drafts(self, entries: Sequence[Entry]) -> list[Draft]:
        """The drafts of the old conversation's messages, in order."""
        told: list[Draft] = []
        mine = [entry for entry in entries if entry.conversation == self._old.number]
        for entry in mine:
            if entry.kind != "tool":
                told += self._after_results()
            if entry.kind == "user" and entry.meta.get("why") != "pictures":
                body = self._codec.user(self._old.codec.read_user(readable(entry.body)))
                told.append(self._draft(entry, "user", body))
            elif entry.kind == "assistant":
                told.append(self._assistant(entry))
            elif entry.kind == "tool":
                told.append(self._tool(entry))
        return told + self._after_results()

    def _draft(self, entry: Entry, kind: str, body: Body, **more: Any) -> Draft:
        meta = {name: value for name, value in entry.meta.items() if name not in _NOT_COPIED}
        return Draft(kind, {**meta, **more, "copied": entry.seq}, body, self._number)

    def _assistant(self, entry: Entry) -> Draft:
        wire = b"".join(part for part in entry.body if isinstance(part, bytes))
        reply = self._old.codec.reread(wire, entry.meta)
        message, lost = self._codec.foreign(reply, raw=self._raw)
        self.lost.update(lost)
        bound = self._codec.profile.protocol != "chat"
        self.foreign += self._raw and bound and reply.thinks and not lost
        repaired = {
            place: inner_object(reply.calls[place].arguments) or "{}"
            for place in entry.meta.get("repaired", ())
        }
        told = replace(reply, message=message)
        encoded = self._codec.assistant(told, self._fresh_id, repaired)
        self._calls = encoded.call_ids
        self.changed["ids"] += sum(
            new != call.id for new, call in zip(encoded.call_ids, reply.calls, strict=False)
        )
        for call_id in encoded.call_ids:
            self._ids[call_id] += 1
        more = {"received": encoded.received} if encoded.received else {}
        return self._draft(entry, "assistant", (encoded.body,), **more)

    def _fresh_id(self, place: int, call_id: str, before: Sequence[str]) -> str:
        """An id in the form that the server takes, the same whenever the history is told again."""
        profile = self._codec.profile
        unique = profile.ids == "unique"

        def is_taken(candidate: str) -> bool:
            return unique and (candidate in before or bool(self._ids[candidate]))

        new = suffixed(call_id, is_taken) if is_taken(call_id) else call_id
        if new and re.fullmatch(profile.id_form or ".+", new):
            return new
        told = sum(self._ids.values())
        return hashlib.sha256(f"{told}/{place}/{call_id}".encode()).hexdigest()[:9]

    def _tool(self, entry: Entry) -> Draft:
        images = [ImageRef(*image) for image in entry.meta.get("images", ())]
        self._pictures += images
        text = self._old.codec.read_result(readable(entry.body))
        failed = entry.meta.get("outcome", "ok") not in ("ok", "decided")
        call_id = self._calls[entry.meta["place"]]
        body = self._codec.result(call_id, text, images, is_error=failed)
        return self._draft(entry, "tool", body)

    def _after_results(self) -> list[Draft]:
        pictures, self._pictures = self._pictures, []
        body = self._codec.images_after_results(pictures)
        if body is None:
            return []
        return [Draft("user", {"why": "pictures", "joined": True}, body, self._number)]
