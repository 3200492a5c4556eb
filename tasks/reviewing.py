"""A person's word on a published report, recorded; all its files are written anew with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from deskwork.tasks import reviews
from deskwork.tasks.publishing.numbering import rejected
from deskwork.tasks.report import Report
from deskwork.tasks.republishing import republish, stored_report
from deskwork.tasks.review import Review
from deskwork.tasks.workbench import Workbench
from deskwork.tools.errors import WrongUse


@dataclass(frozen=True)
class Reviewed:
    """The files that were written, what went wrong with forms of them, and how many sentences the
    check marks since.
    """

    paths: tuple[Path, ...]
    problems: tuple[str, ...]
    marked: int


def record_review(
    bench: Workbench,
    job: str,
    make: Callable[[Report, str], Review],
    *,
    state: str = "",
    reason: str = "",
) -> Reviewed:
    """Record what a person says of a job's report.

    ``make`` gets the report as its readers see it, with the corrections made before, and the job's
    state. ``state`` and ``reason`` are what the job is left in; as it was, where they are empty.
    """
    report, folder = stored_report(bench, job)
    before = bench.journal.job(job)
    said = reviews.holding(bench.journal, job)
    seen = reviews.reviewed(report, said)
    review = make(seen, before.state)
    writer = bench.journal.acquire(job)
    try:
        writer.append([review.draft()])
    finally:
        writer.release(state or before.state, reason if state else before.reason)
    made = republish(bench, job, report, folder)
    more = len(rejected(reviews.reviewed(report, [*said, review]))) - len(rejected(seen))
    return Reviewed(tuple(made.paths), tuple(made.problems), max(0, more))


def approve_report(
    bench: Workbench, job: str, by: str, note: str, *, anyway: bool = False
) -> Reviewed:
    """Approve a job's report: it then says who reviewed it and when.

    Raises `WrongUse` for one that nobody can vouch for, unless ``anyway``, which is recorded.
    """

    def make(report: Report, state: str) -> Review:
        lacks = _lacks(report, state)
        if lacks and not anyway:
            raise WrongUse(
                f"The report of {job} can't be approved as it is: {lacks}.",
                f"`deskwork resume {job}` goes on with it; `deskwork approve {job} --anyway` "
                "approves it as it stands.",
            )
        return Review("approved", by=by, at=now(), note=note, anyway=lacks)

    return record_review(bench, job, make, state="done", reason=f"approved by {by}")


def now() -> str:
    """The time of a review: ISO 8601, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _lacks(report: Report, state: str) -> str:
    """Why a report is none that a person can vouch for; "" if it is one."""
    if state not in ("done", "needs review"):
        return f"the job is not finished, its state is “{state}”"
    if report.state not in ("done", "needs review"):
        return f"it is a partial report, made when the job was “{report.state}”"
    return "" if report.evidence else "no evidence was found, so that there is nothing to vouch for"
