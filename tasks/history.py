"""A job's state as its entries tell it: inputs, limits, conversations, spend, evidence.

The history is the state. `History.apply` folds entries one by one, the same way live and on
resume; nothing else remembers anything about a job.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from deskwork.tasks.blobs import Blobs
from deskwork.tasks.conversation import Conversation
from deskwork.tasks.entries import Entry, body_bytes
from deskwork.tasks.limits import Limits, Spend
from deskwork.tasks.profiles import builtin, find_profile
from deskwork.tasks.protocol import open_codec
from deskwork.tasks.replies import Reply
from deskwork.tools.charts.chart import Chart
from deskwork.tools.figures import Figure
from deskwork.tools.sources import Source
from deskwork.tools.tool import Evidence

_BETWEEN_RUNS = ("start", "resumed", "fork", "moved", "decision", "review")
"""Entries that are made while nothing runs: the time before them isn't spent."""


class History:
    """The folded entries of one job.

    ``evidence``, ``figures`` and ``charts`` map ids to what was cited, bound and drawn;
    ``sources`` is what was fetched, in order. ``workspace`` maps each path in the job's workspace
    to its SHA-256, as it was when the last reply came: all calls of a reply begin with the same.
    ``plan`` is what a person said of the plan: True, or another one; None if nothing.
    ``decisions`` maps (turn, place) of a call to what a
    person decided about it. ``not_before`` is Unix time before which no request is sent;
    ``failed_attempts`` counts the attempts since the last reply that ended in an outage.
    """

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self.start: dict[str, Any] = {}
        self.limits = Limits()
        self.conversations: dict[str, Conversation] = {}
        self.spend = Spend()
        self.evidence: dict[str, Evidence] = {}
        self.figures: dict[str, Figure] = {}
        self.charts: dict[str, Chart] = {}
        self.sources: list[Source] = []
        self.workspace: dict[str, str] = {}
        self._written: list[tuple[int, dict[str, str | None]]] = []
        self.decisions: dict[tuple[int, int], dict[str, Any]] = {}
        self.plan: dict[str, Any] | bool | None = None
        self.notes: dict[str, dict[str, Any]] = {}
        self.outcome: dict[str, Any] | None = None
        self.not_before = 0.0
        self.failed_attempts = 0
        self._numbers: dict[int, Conversation] = {}
        self._last_time: float | None = None

    def apply(self, entry: Entry, reply: Reply | None = None) -> None:
        """Take one entry; a live one comes with its reply, which saves reading it again."""
        handler = getattr(self, f"_on_{entry.kind}", None)
        if entry.kind == "decision" and "plan" in entry.meta:
            self.plan = entry.meta["plan"]
        elif entry.kind == "decision" and "turn" in entry.meta:
            # It covers one start of the call: one that began later is a new question.
            self.decisions[entry.meta["turn"], entry.meta["place"]] = {
                **entry.meta,
                "at": entry.created,
            }
        self._clock(entry)
        if entry.kind not in ("outcome", "note"):
            self.outcome = None
        if handler:
            handler(entry.meta)
        elif entry.kind == "conversation":
            self._settle(None)
            self._open(entry)
        elif entry.conversation:
            if entry.kind == "assistant":
                self._settle(entry.conversation)
            if entry.kind in ("assistant", "discarded") and "copied" not in entry.meta:
                self._paid(entry.meta)
            if entry.kind == "tool":
                for row in entry.meta.get("evidence", ()):
                    self.evidence[row["id"]] = Evidence.from_json(row)
                for row in entry.meta.get("figures", ()):
                    self.figures[row["id"]] = Figure.from_json(row)
                for row in entry.meta.get("charts", ()):
                    self.charts[row["id"]] = Chart.from_json(row)
                if written := entry.meta.get("workspace"):
                    self._written.append((entry.conversation, written))
                self.sources += [Source.from_json(row) for row in entry.meta.get("sources", ())]
            conversation = self._numbers[entry.conversation]
            conversation.apply(entry, body_bytes(entry.body, self._blobs), reply)

    def _settle(self, conversation: int | None) -> None:
        """Take what the calls of a conversation's last reply wrote, later calls' over earlier."""
        kept = []
        for number, written in self._written:
            if conversation not in (None, number):
                kept.append((number, written))
                continue
            for path, sha256 in written.items():
                self.workspace.pop(path, None)
                if sha256:
                    self.workspace[path] = sha256
        self._written = kept

    def all_conversations(self) -> list[Conversation]:
        """Every conversation in order, those too that another one continues."""
        return list(self._numbers.values())

    def next_number(self) -> int:
        """The number of the next conversation; they count from 1."""
        return len(self._numbers) + 1

    def _clock(self, entry: Entry) -> None:
        # The time between a stop and the next start isn't spent.
        if self._last_time is not None and entry.kind not in _BETWEEN_RUNS:
            self.spend.seconds += max(0.0, entry.created - self._last_time)
        self._last_time = None if entry.kind == "outcome" else entry.created

    def _open(self, entry: Entry) -> None:
        meta = entry.meta
        own = {meta["profile"]: meta["own_profile"]} if "own_profile" in meta else {}
        known = meta["profile"] in builtin() or own
        profile = find_profile(
            meta["profile"] if known else None,
            meta["protocol"],
            None,
            model=meta["model"],
            own=own,
        )
        if limits := meta.get("model_limits"):
            profile = replace(profile, **limits)
        tools = body_bytes(entry.body, self._blobs)
        conversation = Conversation(entry.conversation, meta, open_codec(profile), tools)
        self._numbers[entry.conversation] = conversation
        self.conversations[conversation.label] = conversation

    def _paid(self, meta: dict[str, Any]) -> None:
        usage = meta.get("usage") or {}
        self.spend = self.spend.plus(
            Spend(
                steps=1,
                tokens=usage.get("input", 0) + usage.get("output", 0),
                cost=meta.get("cost"),
            )
        )
        self.not_before, self.failed_attempts = 0.0, 0

    def _on_start(self, meta: dict[str, Any]) -> None:
        self.start = meta
        self.limits = Limits(**meta["limits"])

    def _on_fork(self, meta: dict[str, Any]) -> None:
        self.start = {**self.start, "settings": {**self.start["settings"], **meta["settings"]}}

    def _on_moved(self, meta: dict[str, Any]) -> None:
        self.start = {**self.start, "settings": {**self.start["settings"], **meta["settings"]}}

    def _on_resumed(self, meta: dict[str, Any]) -> None:
        self.limits = Limits(**meta["limits"])

    def _on_note(self, meta: dict[str, Any]) -> None:
        self.notes[meta["note"]] = meta
        if meta["note"] == "waiting":
            self.not_before = meta["not_before"]
            self.failed_attempts += 1

    def _on_outcome(self, meta: dict[str, Any]) -> None:
        self.outcome = meta
