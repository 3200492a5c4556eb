"""Deliveries on record: which began, which ended, and what a person decided about the others."""

from __future__ import annotations

from typing import Any, Literal

from deskwork.tasks.entries import Draft
from deskwork.tasks.journal import Journal
from deskwork.tools.errors import WrongUse

KIND = "delivery"
"""The kind of entry: ``place`` counts from 1, ``status`` is started, delivered or failed."""
Decided = Literal["again", "sent"]


def draft_of(place: int, status: str, what: str, **more: Any) -> Draft:
    """An entry about a delivery."""
    return Draft(KIND, {"place": place, "status": status, "what": what, **more})


def statuses(journal: Journal, job: str) -> dict[int, dict[str, Any]]:
    """Place → the last entry of each delivery. ``status`` may be again or sent: a decision."""
    found: dict[int, dict[str, Any]] = {}
    for _, kind, meta in journal.metas(job, KIND, "decision"):
        if kind == KIND:
            found[meta["place"]] = meta
        elif "delivery" in meta:
            place = meta["delivery"]
            found[place] = {**found.get(place, {}), "place": place, "status": meta["status"]}
    return found


def undecided(journal: Journal, job: str) -> list[dict[str, Any]]:
    """The deliveries that began, never ended, and may not be made again unasked."""
    rows = statuses(journal, job).values()
    return [row for row in rows if row["status"] == "started" and not row["repeatable"]]


def decide_deliveries(journal: Journal, job: str, decided: Decided) -> list[str]:
    """Record what a person decided about them; the deliveries in words.

    Raises `WrongUse` when none is waiting.
    """
    writer = journal.acquire(job)
    try:
        rows = undecided(journal, job)
        if not rows:
            raise WrongUse(
                f"Job {job} has no delivery to decide about.",
                f"`deskwork show {job}` tells where it stands.",
            )
        writer.append(
            [Draft("decision", {"delivery": row["place"], "status": decided}) for row in rows]
        )
        return [row["what"] for row in rows]
    finally:
        writer.release("stopped", "decided; resume to go on")
