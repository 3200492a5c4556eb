"""The commands of a person who reviews a report: approve, correct."""

from __future__ import annotations

import getpass

import click

from deskwork.tasks import reviews
from deskwork.tasks.figure_corrections import figure_correction
from deskwork.tasks.report import Report
from deskwork.tasks.review import Review
from deskwork.tasks.reviewing import Reviewed, approve_report, now, record_review
from deskwork.tasks.workbench import opened
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
    with opened() as bench:
        _tell(approve_report(bench, job, by or getpass.getuser(), note, anyway=anyway))


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
    who, at = by or getpass.getuser(), now()

    def make(report: Report, state: str) -> Review:
        if claim:
            before = reviews.find_claim(report, claim)
            after = reviews.keeping_citations(text, before, report)
            return Review("claim", who, at, note, before=before.text, after=after)
        found = reviews.find_figure(report, figure)
        return figure_correction(found, value, who, note, at)

    with opened() as bench:
        _tell(record_review(bench, job, make))


def _tell(done: Reviewed) -> None:
    for path in done.paths:
        click.echo(path)
    for problem in done.problems:
        click.echo(problem, err=True)
    if done.marked:
        click.echo(
            f"{done.marked} sentence{'' if done.marked == 1 else 's'} may not fit the corrected "
            "figure: marked in the report, to be corrected with --claim.",
            err=True,
        )


COMMANDS = (approve, correct)
