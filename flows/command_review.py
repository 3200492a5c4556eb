"""The commands of a person who reviews a report: approve, correct."""

from __future__ import annotations

import getpass
from collections.abc import Callable
from datetime import UTC, datetime

import click

from deskwork.tasks import reviews
from deskwork.tasks.figure_corrections import figure_correction
from deskwork.tasks.publishing.numbering import rejected
from deskwork.tasks.report import Report
from deskwork.tasks.republishing import republish, stored_report
from deskwork.tasks.review import Review
from deskwork.tasks.settings import load_settings
from deskwork.tasks.workbench import Workbench
from deskwork.tools.errors import WrongUse

_BY = click.option("--by", default="", help="Who reviews; this machine's user if left out.")
_NOTE = click.option("--note", default="", help="A remark, printed with the review.")


@click.command()
@click.argument("job")
@click.option("--anyway", is_flag=True, help="Approve a report that is partial or empty; recorded.")
@_BY
@_NOTE
def approve(job: str, by: str, note: str, *, anyway: bool) -> None:
    """Approve the report of JOB: it then says who reviewed it and when."""
    who = by or getpass.getuser()

    def make(report: Report, state: str) -> Review:
        lacks = _lacks(report, state)
        if lacks and not anyway:
            raise WrongUse(
                f"The report of {job} can't be approved as it is: {lacks}.",
                f"`deskwork resume {job}` goes on with it; --anyway approves it as it stands.",
            )
        return Review("approved", by=who, at=_now(), note=note, anyway=lacks)

    _record(job, make, state="done", reason=f"approved by {who}")


@click.command()
@click.argument("job")
@click.option("--claim", default="", help="Words of the sentence to correct.")
@click.option("--text", default="", help="The sentence as it should be.")
@click.option("--figure", default="", help="The id of the figure to correct, F1234abcd.")
@click.option("--value", default="", help="Its value as it should be, in its own scale.")
@_BY
@_NOTE
def correct(job: str, claim: str, text: str, figure: str, value: str, by: str, note: str) -> None:
    """Correct a claim or a figure in the report of JOB; later runs of the same job keep to it."""
    if bool(claim and text) is bool(figure and value):
        raise WrongUse(
            "Say what to correct.", "Give --claim WORDS --text SENTENCE, or --figure ID --value N."
        )
    who, now = by or getpass.getuser(), _now()

    def make(report: Report, state: str) -> Review:
        if claim:
            before = reviews.find_claim(report, claim)
            after = reviews.keeping_citations(text, before, report)
            return Review("claim", who, now, note, before=before.text, after=after)
        found = reviews.find_figure(report, figure)
        return figure_correction(found, value, who, note, now)

    _record(job, make)


def _lacks(report: Report, state: str) -> str:
    """Why a report is none that a person can vouch for; "" if it is one."""
    if state not in ("done", "needs review"):
        return f"the job is not finished, its state is “{state}”"
    if report.state not in ("done", "needs review"):
        return f"it is a partial report, made when the job was “{report.state}”"
    return "" if report.evidence else "no evidence was found, so that there is nothing to vouch for"


def _record(
    job: str, make: Callable[[Report, str], Review], *, state: str = "", reason: str = ""
) -> None:
    bench = Workbench(load_settings())
    try:
        report, folder = stored_report(bench, job)
        before = bench.journal.job(job)
        said = reviews.holding(bench.journal, job)
        # What is corrected is what its readers see, with the corrections made before.
        now = reviews.reviewed(report, said)
        review = make(now, before.state)
        writer = bench.journal.acquire(job)
        try:
            writer.append([review.draft()])
        finally:
            writer.release(state or before.state, reason if state else before.reason)
        made = republish(bench, job, report, folder)
        for path in made.paths:
            click.echo(path)
        for problem in made.problems:
            click.echo(problem, err=True)
        more = len(rejected(reviews.reviewed(report, [*said, review]))) - len(rejected(now))
        if more > 0:
            click.echo(
                f"{more} sentence{'' if more == 1 else 's'} may not fit the corrected figure: "
                "marked in the report, to be corrected with --claim.",
                err=True,
            )
    finally:
        bench.journal.database.close()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


COMMANDS = (approve, correct)
