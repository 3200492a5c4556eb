"""The commands of a person who reviews a report: approve, correct."""

from __future__ import annotations

import getpass
from collections.abc import Callable
from datetime import UTC, datetime

import click

from deskwork.tasks import reviews
from deskwork.tasks.report import Report
from deskwork.tasks.republishing import republish, stored_report
from deskwork.tasks.settings import load_settings
from deskwork.tasks.workbench import Workbench
from deskwork.tools.errors import WrongUse

_BY = click.option("--by", default="", help="Who reviews; this machine's user if left out.")
_NOTE = click.option("--note", default="", help="A remark, printed with the review.")


@click.command()
@click.argument("job")
@_BY
@_NOTE
def approve(job: str, by: str, note: str) -> None:
    """Approve the report of JOB: it then says who reviewed it and when."""
    review = reviews.Review("approved", by=by or getpass.getuser(), at=_now(), note=note)
    _record(job, lambda report: review, state="done", reason=f"approved by {review.by}")


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

    def make(report: Report) -> reviews.Review:
        if claim:
            before = reviews.find_claim(report, claim).text
            return reviews.Review("claim", who, now, note, before=before, after=text)
        found = reviews.find_figure(report, figure)
        return reviews.figure_correction(found, value, who, note, now)

    _record(job, make)


def _record(
    job: str, make: Callable[[Report], reviews.Review], *, state: str = "", reason: str = ""
) -> None:
    bench = Workbench(load_settings())
    try:
        report, folder = stored_report(bench, job)
        review = make(report)
        before = bench.journal.job(job)
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
    finally:
        bench.journal.database.close()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


COMMANDS = (approve, correct)
