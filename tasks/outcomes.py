"""What came of a job, read from its journal: the same after a run, a kill or a year."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from deskwork.tasks.journal import Journal
from deskwork.tasks.states import EXIT_CODES


@dataclass(frozen=True)
class Outcome:
    """A job's end.

    ``answer`` is its text, or a labelled partial result. ``steps`` counts model calls, those of
    child jobs too. ``usage`` holds tokens, cost and seconds of model time by name. ``head`` is
    the digest of the last entry, 64 hex digits. ``files`` are the paths of what was published.
    """

    job: str
    state: str
    reason: str
    answer: str
    steps: int
    usage: dict[str, Any]
    head: str
    files: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """The command's exit code for this state."""
        return EXIT_CODES.get(self.state, 6)

    def as_json(self) -> dict[str, Any]:
        """The object that ``--json`` prints."""
        return asdict(self)


def outcome(journal: Journal, job_id: str) -> Outcome:
    """The outcome of a job as it stands. Raises `NotFound`."""
    job = journal.job(job_id)
    ends = journal.metas(job_id, "outcome")
    end = ends[-1][2] if ends else {}
    total = usage_of(journal, [job_id, *descendants(journal, job_id)])
    return Outcome(
        job=job_id,
        state=job.state,
        reason=job.reason,
        answer=end.get("answer", ""),
        steps=total.pop("calls"),
        usage=total,
        head=journal.head(job_id).hex(),
        files=end.get("files", []),
    )


def descendants(journal: Journal, job: str) -> list[str]:
    """The ids of a job's child jobs and theirs."""
    found = []
    for child in journal.children(job):
        found += [child.id, *descendants(journal, child.id)]
    return found


def usage_of(journal: Journal, jobs: list[str]) -> dict[str, Any]:
    """Model calls, tokens, cost and seconds of these jobs together.

    ``unknown`` counts the replies whose server did not say what they used, and the attempts
    whose reply broke off.
    """
    total: dict[str, Any] = {"calls": 0, "input": 0, "output": 0}
    for job in jobs:
        for _, _, meta in journal.metas(job, "assistant", "discarded"):
            if "copied" not in meta:
                add_usage(total, meta)
    return total


def add_usage(total: dict[str, Any], meta: dict[str, Any]) -> None:
    """Add one reply's entry to a total."""
    total["calls"] += 1
    usage = meta.get("usage")
    if unknown := (usage is None) + meta.get("lost", 0):
        total["unknown"] = total.get("unknown", 0) + unknown
    for name, value in (usage or {}).items():
        total[name] = total.get(name, 0) + value
    total["seconds"] = round(total.get("seconds", 0.0) + meta.get("seconds", 0.0), 3)
    if meta.get("cost") is not None:
        total["cost"] = total.get("cost", 0.0) + meta["cost"]
