"""Numbers for whoever watches, all derived from the journal.

So a kill loses none, a restart counts none twice, and they agree with ``deskwork usage``. A look
reads what was added since the one before: entries are only ever appended.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from deskwork.tasks import telemetry
from deskwork.tasks.histogram import SECONDS, TOKENS, Histogram
from deskwork.tasks.journal import Journal
from deskwork.tasks.profiles import builtin
from deskwork.tasks.usage import GROUPS

KINDS = ("input", "output", "cache_read", "cache_write", "reasoning")
"""Of tokens: the caches' are parts of ``input``, ``reasoning`` is part of ``output``."""
UNKNOWN_TOOL = "(unknown)"
"""Stands for a tool that doesn't exist: its name is the model's own words."""

_MODEL = (telemetry.OPERATION, telemetry.PROVIDER, telemetry.REQUEST_MODEL)
_COUNTERS = {
    "deskwork_tokens": ("Tokens that model calls used.", ("model", "budget", "kind")),
    "deskwork_cost": ("What they cost, in the price table's currency.", ("model", "budget")),
    "deskwork_model_calls": ("Model calls that were paid for.", ("model", "budget")),
    "deskwork_model_seconds": ("How long they took, in seconds.", ("model", "budget")),
    "deskwork_replies_discarded": ("Replies that were of no use.", ("model", "budget")),
    "deskwork_attempts_lost": ("Attempts whose reply broke off.", ("model", "budget")),
    "deskwork_tool_calls": ("Tool calls by what became of them.", ("tool", "outcome")),
    "deskwork_tool_seconds": ("How long they took, in seconds.", ("tool",)),
}
_HISTOGRAMS = {
    "gen_ai.client.operation.duration": ("How long a model call took.", _MODEL, SECONDS, "s"),
    "gen_ai.client.token.usage": (
        "Tokens that a model call used.",
        (*_MODEL, telemetry.TOKEN_TYPE),
        TOKENS,
        "{token}",
    ),
    "gen_ai.execute_tool.duration": (
        "How long a tool call took.",
        (telemetry.OPERATION, telemetry.TOOL_NAME),
        SECONDS,
        "s",
    ),
}
"""Named by OpenTelemetry's conventions for generative models, whose buckets give percentiles."""


@dataclass(frozen=True)
class Family:
    """One metric: what it says, its labels, and its value at each combination of them."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    text: str
    labels: tuple[str, ...]
    values: Mapping[tuple[str, ...], float | Histogram]
    unit: str = ""


@dataclass
class _Seen:
    """How far a job was read, and what its conversations are."""

    seq: int = -1
    conversations: dict[int, dict[str, Any]] = field(default_factory=dict)


class Numbers:
    """The metrics of one journal. ``clock`` gives Unix seconds."""

    def __init__(self, journal: Journal, clock: Callable[[], float] = time.time) -> None:
        self.journal = journal
        self._clock = clock
        # Two that ask at once would count the same entries twice.
        self._one_at_a_time = threading.Lock()
        self._seen: dict[str, _Seen] = {}
        self._totals: dict[str, dict[tuple[str, ...], float]] = {
            name: defaultdict(float) for name in _COUNTERS
        }
        self._histograms: dict[str, dict[tuple[str, ...], Histogram]] = {
            name: {} for name in _HISTOGRAMS
        }

    def look(self) -> list[Family]:
        """One look. Raises `StorageError` where the journal can't be read."""
        with self._one_at_a_time:
            heads = self._read()
            found = [
                Family(name, "counter", text, labels, dict(self._totals[name]))
                for name, (text, labels) in _COUNTERS.items()
            ]
            found += [
                Family(name, "histogram", text, labels, dict(self._histograms[name]), unit)
                for name, (text, labels, _, unit) in _HISTOGRAMS.items()
            ]
        return [*found, *self._jobs(heads)]

    def _read(self) -> dict[str, tuple[int, float]]:
        heads = self.journal.heads()
        for job, (seq, _) in heads.items():
            seen = self._seen.setdefault(job, _Seen())
            if seq > seen.seq:
                for kind, number, meta in self.journal.spent(job, after=seen.seq, until=seq):
                    self._add(seen, kind, number, meta)
                seen.seq = seq
        return heads

    def _add(self, seen: _Seen, kind: str, number: int, meta: dict[str, Any]) -> None:
        if kind == "conversation":
            seen.conversations[number] = meta
            return
        if "copied" in meta:
            return
        if kind == "tool":
            self._add_tool(meta["name"], meta.get("outcome", "ok"), meta["seconds"])
            return
        opened = seen.conversations.get(number, {})
        where = (str(opened.get("model")), str(opened.get("tier")))
        asked = ("chat", _provider(opened), where[0])
        usage = meta.get("usage") or {}
        for name in KINDS:
            if amount := usage.get(name):
                self._totals["deskwork_tokens"][*where, name] += amount
        for name in ("input", "output"):
            if name in usage:
                self._observe("gen_ai.client.token.usage", (*asked, name), usage[name])
        seconds = meta.get("seconds", 0.0)
        self._observe("gen_ai.client.operation.duration", asked, seconds)
        self._totals["deskwork_model_calls"][where] += 1
        self._totals["deskwork_model_seconds"][where] += seconds
        self._totals["deskwork_replies_discarded"][where] += kind == "discarded"
        self._totals["deskwork_attempts_lost"][where] += meta.get("lost", 0)
        if meta.get("cost") is not None:
            self._totals["deskwork_cost"][where] += meta["cost"]
        for name in meta.get("not_run", ()):
            self._add_tool(name, "not_run", 0.0)

    def _add_tool(self, tool: str, outcome: str, seconds: float) -> None:
        tool = UNKNOWN_TOOL if outcome == "unknown_tool" else tool
        group = GROUPS.get(outcome, "execution_error")
        self._totals["deskwork_tool_calls"][tool, group] += 1
        self._totals["deskwork_tool_seconds"][(tool,)] += seconds
        if group != "not_run":
            self._observe("gen_ai.execute_tool.duration", ("execute_tool", tool), seconds)

    def _observe(self, name: str, where: tuple[str, ...], value: float) -> None:
        _, _, bounds, _ = _HISTOGRAMS[name]
        self._histograms[name].setdefault(where, Histogram(bounds)).add(value)

    def _jobs(self, heads: dict[str, tuple[int, float]]) -> Iterator[Family]:
        """Jobs by state, and how long the most silent and the longest waiting one has been so."""
        now = self._clock()
        states: Counter[tuple[str, ...]] = Counter()
        silent = waiting = 0.0
        for job in self.journal.jobs():
            states[job.flow, job.state] += 1
            if job.state == "running" and job.id in heads:
                silent = max(silent, now - heads[job.id][1])
            if job.state == "waiting for a person":
                waiting = max(waiting, now - job.updated)
        yield Family("deskwork_jobs", "gauge", "Jobs by state.", ("flow", "state"), states)
        text = "Seconds since the most silent running job has recorded anything."
        yield Family("deskwork_silent_seconds", "gauge", text, (), {(): silent})
        text = "Seconds for which the longest waiting job has waited for a person."
        yield Family("deskwork_waiting_seconds", "gauge", text, (), {(): waiting})


def _provider(opened: Mapping[str, Any]) -> str:
    """A conversation's provider as traces name it."""
    profile = str(opened.get("profile"))
    own = opened.get("own_profile") or {}
    table = builtin().get(str(own.get("base", profile)), {})
    return str(own.get("provider") or table.get("provider") or profile)
