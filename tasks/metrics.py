"""Numbers for whoever watches, in Prometheus' form: all derived from the journal.

So a kill loses none, a restart counts none twice, and they agree with ``deskwork usage``. A look
reads what was added since the one before: entries are only ever appended.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from prometheus_client.core import (
    CollectorRegistry,
    CounterMetricFamily,
    GaugeMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from deskwork.tasks.journal import Journal
from deskwork.tasks.usage import GROUPS

KINDS = ("input", "output", "cache_read", "cache_write", "reasoning")
"""Of tokens: the caches' are parts of ``input``, ``reasoning`` is part of ``output``."""
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
"""Counters by name (Prometheus adds ``_total``): what each says, and its labels."""


@dataclass
class _Seen:
    """How far a job was read, and what its conversations are."""

    seq: int = -1
    conversations: dict[int, dict[str, Any]] = field(default_factory=dict)


class JournalCollector(Collector):
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

    def describe(self) -> list[Metric]:
        """Nothing: the names are known without a look at the journal."""
        return []

    def collect(self) -> Iterator[Metric]:
        """One look. Raises `StorageError` where the journal can't be read."""
        with self._one_at_a_time:
            heads = self._look()
        for name, (text, labels) in _COUNTERS.items():
            counter = CounterMetricFamily(name, text, labels=labels)
            for values, total in sorted(self._totals[name].items()):
                counter.add_metric(values, total)
            yield counter
        yield from self._jobs(heads)

    def _look(self) -> dict[str, tuple[int, float]]:
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
        opened = seen.conversations.get(number, {})
        if kind == "tool":
            self._add_tool(meta["name"], meta.get("outcome", "ok"), meta["seconds"])
            return
        where = (str(opened.get("model")), str(opened.get("tier")))
        usage = meta.get("usage") or {}
        for name in KINDS:
            if amount := usage.get(name):
                self._totals["deskwork_tokens"][*where, name] += amount
        self._totals["deskwork_model_calls"][where] += 1
        self._totals["deskwork_model_seconds"][where] += meta.get("seconds", 0.0)
        self._totals["deskwork_replies_discarded"][where] += kind == "discarded"
        self._totals["deskwork_attempts_lost"][where] += meta.get("lost", 0)
        if meta.get("cost") is not None:
            self._totals["deskwork_cost"][where] += meta["cost"]
        for name in meta.get("not_run", ()):
            self._add_tool(name, "not_run", 0.0)

    def _add_tool(self, tool: str, outcome: str, seconds: float) -> None:
        self._totals["deskwork_tool_calls"][tool, GROUPS.get(outcome, "execution_error")] += 1
        self._totals["deskwork_tool_seconds"][(tool,)] += seconds

    def _jobs(self, heads: dict[str, tuple[int, float]]) -> Iterator[Metric]:
        """Jobs by state, and how long the most silent and the longest waiting one has been so."""
        now = self._clock()
        states: Counter[tuple[str, str]] = Counter()
        silent = waiting = 0.0
        for job in self.journal.jobs():
            states[job.flow, job.state] += 1
            if job.state == "running" and job.id in heads:
                silent = max(silent, now - heads[job.id][1])
            if job.state == "waiting for a person":
                waiting = max(waiting, now - job.updated)
        jobs = GaugeMetricFamily("deskwork_jobs", "Jobs by state.", labels=("flow", "state"))
        for values, count in sorted(states.items()):
            jobs.add_metric(values, count)
        yield jobs
        text = "Seconds since the most silent running job has recorded anything."
        yield GaugeMetricFamily("deskwork_silent_seconds", text, value=silent)
        text = "Seconds for which the longest waiting job has waited for a person."
        yield GaugeMetricFamily("deskwork_waiting_seconds", text, value=waiting)


def registry_of(journal: Journal) -> CollectorRegistry:
    """A registry that holds the metrics of this journal alone."""
    registry = CollectorRegistry()
    registry.register(JournalCollector(journal))
    return registry
