"""One thing that a person said of a report, as the journal keeps it."""

from __future__ import annotations

from dataclasses import dataclass

from deskwork.tasks.entries import Draft

KIND = "review"
"""The kind of entry that holds one."""


@dataclass(frozen=True)
class Review:
    """One review. ``what`` is "approved", "claim" or "figure"; ``at`` is ISO 8601 in UTC.

    A claim's ``before`` and ``after`` are its sentences; a figure's its values as texts, in its
    ``scale`` (a power of ten); ``label``, ``period_end``, ``unit`` and the ``evidence`` it stands
    in tell which figure it is in a later run. ``anyway`` tells what an approval passed over.
    """

    what: str
    by: str = ""
    at: str = ""
    note: str = ""
    before: str = ""
    after: str = ""
    label: str = ""
    period_end: str = ""
    unit: str = ""
    evidence: str = ""
    scale: str = ""
    anyway: str = ""

    def draft(self) -> Draft:
        """The entry that records it."""
        return Draft(KIND, {name: value for name, value in vars(self).items() if value})
