"""A conversation as its entries tell it: the frozen bytes of its messages, and what is still open.

Nothing here decides or stores anything. `Conversation.apply` folds one entry after another; what
is to be done next can be read off the result, whether it was folded live or after a kill.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from deskwork.tasks.cache_marks import Marks, spliced, without_marks
from deskwork.tasks.encoding import dumps, loads
from deskwork.tasks.entries import BlobSegment, Entry
from deskwork.tasks.protocol import Codec, ImageRef, Opening
from deskwork.tasks.replies import Reply, ToolCall, is_kimi_id, suffixed

REPEATS_TOLD = 3
"""So many equal calls, and the model is told that it repeats itself."""
REPEATS_STOP = 6
"""So many equal calls, and the job stops for a person to look."""
OVERFLOW = "context_overflow"
"""The status of a reply that was cut because it filled the context window."""
HAND_OVER = "hand-over"
"""Why the user message was said that asks for a hand-over."""
MIN_OUTPUT = 1024
MIN_RESERVE = 4096
"""Tokens kept free at a window's end, at least: an eighth of a larger one, half of a tiny one."""
BYTES_A_TOKEN = 3.5
TOKENS_AN_IMAGE = 1600
"""Rough sizes until the server's own count comes with its next reply."""
PIECE = 256 * 1024
"""Messages are kept in pieces of this many bytes or more: a long history is never copied whole."""


class Conversation:
    """One conversation of a job.

    ``turn`` is the seq of the last reply that stands in the history; ``answered`` the places of
    its calls that have a result. ``discards`` are the replies since then that were recorded and
    not kept; ``partial`` is the text of replies that were cut by the output limit. ``nudges``
    counts empty and cut replies in a row, ``unheeded`` those that made calls where a hand-over was
    asked for, ``told`` is what the model was told, ``repeats`` how often it made each call, and
    ``failures`` the error of each call that failed when it was last made. ``usage`` is
    that of the last reply whose server told it; ``tokens`` estimates the size of the next request;
    ``most_output`` is what the server said its window has left for the output. ``overflowed`` is
    True once a reply filled the window: nothing more is said here. ``futile``
    counts the fresh starts in a row before this one that were full again after a single reply.
    """

    def __init__(self, number: int, meta: dict[str, Any], codec: Codec, tools: bytes) -> None:
        self.number = number
        self.label: str = meta["label"]
        self.codec = codec
        self.opening = Opening(
            meta["model"], meta["tier"], tools, b"", meta.get("effective", meta["tier"])
        )
        self.turn = -1
        self.reply: Reply | None = None
        self.answered: set[int] = set()
        self.pictures: list[ImageRef] = []
        self.discards: list[dict[str, Any]] = []
        self.refusal: str | None = None
        self.overflowed = False
        self.why: str = meta.get("why", "")
        self.futile: int = meta.get("futile", 0)
        self.replies = 0
        self.partial = ""
        self.nudges = 0
        self.unheeded = 0
        self.told: set[str] = set()
        self.repeats: Counter[tuple[str, str]] = Counter()
        self.failures: dict[tuple[str, str], str] = {}
        self.ids: Counter[str] = Counter()
        self.usage: dict[str, int] | None = None
        self.tokens = 0.0
        self.most_output: int | None = None
        self._pieces: list[bytes] = []
        self._size = 0
        self._marks = Marks() if codec.profile.cache_marks else None
        self._items = 0
        self._last: str | None = None

    # Folding entries

    def apply(self, entry: Entry, wire: bytes, reply: Reply | None = None) -> None:
        """Take one entry. ``wire`` is its body with blobs expanded; ``reply`` saves reading it."""
        self.overflowed |= entry.meta.get("status") == OVERFLOW
        if entry.kind == "system":
            self.opening = replace(self.opening, system=wire)
            self.tokens += (len(wire) + len(self.opening.tools)) / BYTES_A_TOKEN
        elif entry.kind == "assistant":
            self._assistant(entry, wire, reply)
        elif entry.kind == "tool":
            self._add("tool", wire, entry)
            self.answered.add(entry.meta["place"])
            self._note_failure(entry.meta)
            self.nudges = 0
            self.pictures += [ImageRef(*image) for image in entry.meta.get("images", ())]
        elif entry.kind == "user":
            self._add("joined" if entry.meta.get("joined") else "user", wire, entry)
            why = entry.meta.get("why", "")
            self.told.add(why)
            self.nudges += why in ("empty", "cut")
        elif entry.kind == "limit":
            self.most_output = entry.meta["max_output"]
        elif entry.kind == "discarded":
            self.discards.append(entry.meta)
            self.nudges += entry.meta["finish"] == "length"
            if entry.meta["finish"] == "refused":
                self.refusal = entry.meta.get("refusal") or "no reason given"

    def _note_failure(self, meta: dict[str, Any]) -> None:
        if self.reply is None or meta["place"] >= len(self.reply.calls):
            return
        key = signature(self.reply.calls[meta["place"]])
        if error := meta.get("error"):
            self.failures[key] = error
        else:
            self.failures.pop(key, None)

    def _assistant(self, entry: Entry, wire: bytes, reply: Reply | None) -> None:
        self.reply = reply or self.codec.reread(wire, entry.meta)
        content = self.reply.message.get("content")
        self._add("assistant", wire, entry, len(content) if isinstance(content, list) else 1)
        if usage := entry.meta.get("usage"):
            self.usage = usage
            self.tokens = usage.get("input", 0) + usage.get("output", 0) or self.tokens
        self.turn = entry.seq
        self.replies += 1
        self.unheeded += self.handing_over and bool(self.reply.calls)
        self.answered = set()
        self.pictures = []
        self.discards = []
        for call in self.reply.calls:
            self.ids[call.id] += 1
            self.repeats[signature(call)] += 1
        if entry.meta["finish"] == "length":
            self.partial += self.reply.text
        elif self.reply.calls:
            self.partial = ""

    def _add(self, kind: str, wire: bytes, entry: Entry, blocks: int = 1) -> None:
        added = self.codec.glue(self._last, kind) + wire
        if self._pieces and len(self._pieces[-1]) < PIECE:
            self._pieces[-1] += added
        else:
            self._pieces.append(added)
        self._items += 1
        self._size += len(added)
        self._last = kind
        images = sum(isinstance(part, BlobSegment) for part in entry.body)
        text = sum(len(part) for part in entry.body if isinstance(part, bytes))
        self.tokens += text / BYTES_A_TOKEN + images * TOKENS_AN_IMAGE
        if self._marks:
            # A model's own blocks bear no mark: its thinking must go back as it came.
            blocks += images if kind != "tool" else 0
            self._marks.add(self._size, blocks, markable=kind != "assistant")

    # Reading what is next

    @property
    def open_calls(self) -> list[tuple[int, ToolCall]]:
        """(place, call) of the last reply's calls that have no result yet."""
        if self.reply is None or self._last not in ("assistant", "tool"):
            return []
        return [
            (place, call)
            for place, call in enumerate(self.reply.calls)
            if place not in self.answered
        ]

    @property
    def answer(self) -> str | None:
        """The final text, once the model gave one."""
        if self._last != "assistant" or self.reply is None or self.reply.calls:
            return None
        if self.reply.finish in ("length", "paused") or not self.reply.text.strip():
            return None
        return self.partial + self.reply.text

    @property
    def handing_over(self) -> bool:
        """True once the model was asked for a hand-over: what it says next is that."""
        return HAND_OVER in self.told

    @property
    def left(self) -> int | None:
        """Tokens of the window that the next request leaves; None where the window is unknown."""
        window = self.codec.profile.context_window
        return None if window is None else max(0, int(window - self.tokens))

    @property
    def is_full(self) -> bool:
        """True when the next request leaves no more of the window than a hand-over needs."""
        window = self.codec.profile.context_window
        if window is None:
            return False
        return self.tokens > window - max(window // 8, min(MIN_RESERVE, window // 2))

    @property
    def most_repeated(self) -> tuple[str, int]:
        """The name of the call made most often with the same arguments, and how often."""
        if not self.repeats:
            return "", 0
        (name, _), count = self.repeats.most_common(1)[0]
        return name, count

    @property
    def max_output(self) -> int | None:
        """The output limit of the next request, None for the server's own.

        Doubled after each reply that it cut, and never more than the window has left.
        """
        profile = self.codec.profile
        limit = profile.max_output
        if cut := [row for row in self.discards if row["finish"] == "length"]:
            used = (cut[-1].get("usage") or {}).get("output") or 0
            base = cut[-1].get("max_output") or limit or 0
            limit = int(max(8192, 2 * max(used, base)))
        if self.most_output is not None:
            limit = min(limit or self.most_output, self.most_output)
        if limit is None or profile.context_window is None:
            return limit
        return max(MIN_OUTPUT, min(limit, int(profile.context_window - self.tokens)))

    def request(self) -> tuple[bytes, ...]:
        """The next request's body: stored bytes, in pieces that only the network puts together."""
        head = self.codec.head(self.opening)
        tail = self.codec.tail(self.opening, self._last, self.max_output)
        pieces = spliced(self._pieces, self._marks.offsets()) if self._marks else self._pieces
        return (head, *pieces, tail)

    def prefix(self) -> bytes:
        """What the next request begins with, cache marks left out: it stands in all later ones."""
        return b"".join((without_marks(self.codec.head(self.opening)), *self._pieces))

    def fresh_id(self, place: int, call_id: str, before: Sequence[str]) -> str:
        """The id a call bears on the wire; the same for the same history.

        A missing id is made. One that stands ``before`` in the same reply gets a suffix, and one
        that was used in an earlier reply where the server wants ids unique.
        """

        def is_taken(candidate: str) -> bool:
            return candidate in before or bool(self.ids[candidate])

        profile = self.codec.profile
        made = not call_id
        call_id = call_id or f"call_{self.number}_{self._items}_{place}"
        if made or profile.ids == "unique":
            repeats = is_taken(call_id)
        else:
            # Kimi's results are paired by their order, and its ids must stay as they are.
            repeats = call_id in before and not (profile.protocol == "chat" and is_kimi_id(call_id))
        return suffixed(call_id, is_taken) if repeats else call_id


def signature(call: ToolCall) -> tuple[str, str]:
    """A call's name and its arguments with their spacing and order folded."""
    try:
        value = loads(call.arguments or "{}")
    except ValueError:
        return call.name, call.arguments
    if isinstance(value, dict):
        value = dict(sorted(value.items()))
    return call.name, dumps(value).decode()
