"""Which run of a standing report is meant: its job's id, and the run that it is compared with.

A run by schedule is named for the moment it was scheduled for, one for a filing by the filing, so
that a retry is the same job. A run by hand goes on with an unfinished one of the same definition
and files, or is a new one.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from deskwork.tasks.briefing_requests import BriefingRequest, Issue, NewFiling
from deskwork.tasks.journal import FINISHED, Job, Journal
from deskwork.tasks.settings import Settings
from deskwork.tasks.starts import first_entry, key_of
from deskwork.tools.errors import WrongUse
from deskwork.tools.library import fingerprint


def issue_of(
    journal: Journal, request: BriefingRequest, moment: datetime, *, by_hand: bool = False
) -> BriefingRequest:
    """The request with its job's id, its words put in, and the run that it is compared with.

    One that has all this already stays as it is.
    """
    if request.issue is not None:
        return request
    named = journal.jobs(prefix=f"briefing-{request.name}-", roots=True)
    runs = [job for job in named if job.key == key_of(request)]
    if by_hand and not request.job and (open_job := _unfinished(journal, runs, request)):
        return request.model_copy(update={"job": open_job, "issue": _issue(journal, open_job)})
    name = request.job or _name(journal, request, moment, by_hand)
    known = next((job for job in runs if job.id == name), None)
    if known:
        return request.model_copy(update={"job": name, "issue": _issue(journal, name)})
    before = _previous(journal, runs, request.filing)
    issue = Issue(
        moment=moment.astimezone(UTC).isoformat(timespec="seconds"),
        previous=before.id if before else "",
        since=_day(_issue(journal, before.id).moment, request.timezone) if before else "",
        by_hand=by_hand,
        definition=request.definition,
    )
    return request.model_copy(
        update={"job": name, "issue": issue, "question": question_of(request, issue)}
    )


def check_filings(companies: list[str], settings: Settings) -> None:
    """Raise `WrongUse` where filings are to be used and the SEC can't be asked."""
    if companies and not settings.web.with_filings:
        raise WrongUse(
            "`filings_of` is set, and the SEC answers only programs that say who runs them.",
            'Set contact = "Ann Example ann@example.com" in the table [web] of deskwork.toml, or '
            "the variable DESKWORK_CONTACT.",
        )


def question_of(request: BriefingRequest, issue: Issue) -> str:
    """The research question: what the file asks, its placeholders filled, and its sections."""
    filing = request.filing
    values = {
        "date": _day(issue.moment, request.timezone),
        "since": issue.since or "the beginning",
        "company": filing.company if filing else "",
        "form": filing.form if filing else "",
        "accession": filing.accession if filing else "",
    }

    def filled(text: str) -> str:
        return re.sub(r"\{(\w+)\}", lambda found: values.get(found[1], found[0]), text)

    parts = [filled(request.question)]
    if filing:
        where = f" ({filing.url})" if filing.url else ""
        parts.append(
            f"It is about the filing {filing.accession}, a {filing.form} of {filing.company}, "
            f"filed on {filing.filed}{where}."
        )
    if request.filings_of:
        parts.append(f"Use the filings of {', '.join(request.filings_of)}.")
    if request.sections:
        listed = "\n".join(f"- {filled(section)}" for section in request.sections)
        parts.append(f"The report has these sections, in this order:\n{listed}")
    return "\n\n".join(parts)


def _name(journal: Journal, request: BriefingRequest, moment: datetime, by_hand: bool) -> str:
    base = f"briefing-{request.name}"
    if request.filing:
        return f"{base}-{request.filing.accession}"
    at = moment.astimezone(UTC)
    if not by_hand:
        return f"{base}-{at:%Y-%m-%dT%H%M}{f'{at:%S}' if at.second else ''}Z"
    day, taken = (
        f"{base}-{_day(at.isoformat(), request.timezone)}",
        {job.id for job in journal.jobs(prefix=base)},
    )
    numbered = (f"{day}-{number}" for number in range(2, len(taken) + 3))
    return next(name for name in (day, *numbered) if name not in taken)


def _unfinished(journal: Journal, runs: list[Job], request: BriefingRequest) -> str:
    """The last run by hand of the same definition and files that has not come to its end."""
    files: list[list[str]] | None = None
    for job in reversed(runs):
        recorded = first_entry(journal, job.id)
        issue = recorded["request"]["issue"]
        if job.state in FINISHED or not issue["by_hand"] or _is_fork(journal, job):
            continue
        if issue["definition"] == request.definition:
            files = files or [list(pair) for pair in fingerprint(request.files)]
            if files == recorded["files"]:
                return job.id
    return ""


def _previous(journal: Journal, runs: list[Job], filing: NewFiling | None) -> Job | None:
    """The last run that came to its end; with a filing the last one of the same company."""
    for job in reversed(runs):
        if job.state not in FINISHED or _is_fork(journal, job):
            continue
        if filing is None:
            return job
        other = first_entry(journal, job.id)["request"].get("filing") or {}
        if other.get("company") == filing.company:
            return job
    return None


def _is_fork(journal: Journal, job: Job) -> bool:
    """A fork has a run's beginning and goes its own way: it is no run of the report."""
    return bool(journal.metas(job.id, "fork"))


def _issue(journal: Journal, job: str) -> Issue:
    return Issue(**first_entry(journal, job)["request"]["issue"])


def _day(moment: str, timezone: str) -> str:
    return f"{datetime.fromisoformat(moment).astimezone(ZoneInfo(timezone)):%Y-%m-%d}"
