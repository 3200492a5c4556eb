"""What a watch has seen, as its job's entries tell it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from deskwork.tasks.entries import Draft
from deskwork.tasks.journal import Journal

KIND = "seen"
"""The kind of entry: ``cik``, ``filings`` (accession, day), and ``first``: forms new to it."""
OVERLAP = timedelta(days=30)
"""A filing may come into the lists behind others of a later day; so far back is looked."""


@dataclass
class Seen:
    """What was seen of one company. ``forms`` are those that were looked at before."""

    accessions: set[str] = field(default_factory=set)
    forms: set[str] = field(default_factory=set)
    begun: str = ""
    latest: str = ""

    def since(self, now: datetime) -> str:
        """The day from which filings may be new, ISO."""
        if not self.begun:
            return f"{now - OVERLAP:%Y-%m-%d}"
        if not self.latest:
            return self.begun
        back = datetime.fromisoformat(self.latest) - OVERLAP
        return max(self.begun, f"{back:%Y-%m-%d}")

    def take(
        self, cik: str, filings: Sequence[tuple[str, str]], first: Sequence[str], now: datetime
    ) -> Draft:
        """Take what was seen now; the entry that records it."""
        meta = {"cik": cik, "filings": [list(row) for row in filings], "first": list(first)}
        if first:
            meta["since"] = self.since(now)
        self._apply(meta)
        return Draft(KIND, meta)

    def _apply(self, meta: dict[str, Any]) -> None:
        self.accessions |= {accession for accession, _ in meta["filings"]}
        self.latest = max([self.latest, *(day for _, day in meta["filings"])])
        self.forms |= set(meta["first"])
        self.begun = self.begun or meta.get("since", "")


def seen_in(journal: Journal, job: str, cik: str) -> Seen:
    """What a watch's job has seen of a company."""
    seen = Seen()
    for _, _, meta in journal.metas(job, KIND):
        if meta["cik"] == cik:
            seen._apply(meta)
    return seen
