"""What a person said of a report: that it is approved, and what is to be corrected in it.

Reviews are entries of the job they are of. A correction holds for the later runs of the same job
as well: the same question over the same files, or the next issue of a standing report.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation

from deskwork.tasks.claims import CITATION, Claim, cited_in
from deskwork.tasks.entries import Draft
from deskwork.tasks.journal import Journal
from deskwork.tasks.report import Report
from deskwork.tools.errors import NotFound, WrongUse
from deskwork.tools.figures import Figure

KIND = "review"
"""The kind of entry that holds one."""


@dataclass(frozen=True)
class Review:
    """One review. ``what`` is "approved", "claim" or "figure"; ``at`` is ISO 8601 in UTC.

    A claim's ``before`` and ``after`` are its sentences; a figure's its values as texts, and
    ``label``, ``period_end`` and ``unit`` tell which figure it is in a later run.
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

    def draft(self) -> Draft:
        """The entry that records it."""
        return Draft(KIND, {name: value for name, value in vars(self).items() if value})


def reviews_of(journal: Journal, job: str) -> list[Review]:
    """The reviews of a job, oldest first."""
    return [Review(**meta) for _, _, meta in journal.metas(job, KIND)]


def standing(journal: Journal, job: str) -> list[Review]:
    """The corrections of a job and of the earlier runs of the same, oldest first."""
    this = journal.job(job)
    runs = [other for other in journal.jobs() if other.key == this.key and other.parent is None]
    return [
        review
        for run in runs
        for review in reviews_of(journal, run.id)
        if review.what in ("claim", "figure")
    ]


def approval(reviews: Sequence[Review]) -> dict[str, str]:
    """``by``, ``at`` and ``note`` of the approval; {} where none came after the last correction."""
    if not reviews or reviews[-1].what != "approved":
        return {}
    return {"by": reviews[-1].by, "at": reviews[-1].at, "note": reviews[-1].note}


def plain(sentence: str) -> str:
    """A sentence as it is compared between runs: without its citations and list mark."""
    text = re.sub(r"^\s*(?:[-*+]|\d+[.)])\s+", "", CITATION.sub("", sentence))
    return re.sub(r"\s+([.,;:])", r"\1", " ".join(text.split())).strip()


def corrected_text(text: str, reviews: Sequence[Review]) -> tuple[str, list[str]]:
    """The text with corrected sentences in the place of what they correct; those put in."""
    put: list[str] = []
    for review in reviews:
        if review.what != "claim":
            continue
        pattern = r"(?:\s*\[E[^\]]*\])*\s*".join(
            re.escape(part) for part in re.findall(r"\w+|[^\w\s]", plain(review.before))
        )
        # A summary says again what a section says: the sentence is corrected wherever it stands.
        text, found = re.subn(pattern, review.after.replace("\\", r"\\"), text)
        if found or review.after in text:
            put.append(plain(review.after))
    return text, put


def corrected_figures(
    figures: Mapping[str, Figure], reviews: Sequence[Review]
) -> dict[str, Figure]:
    """The figures, each that was corrected with its new value and the old one told."""
    changed = dict(figures)
    for review in reviews:
        if review.what != "figure":
            continue
        for name, figure in changed.items():
            same = (figure.label, figure.period_end[:4], figure.unit) == (
                review.label,
                review.period_end[:4],
                review.unit,
            )
            if same:
                told = f"corrected from {figure.printed()}"
                told += f" by {review.by}" if review.by else ""
                value = Decimal(review.after)
                changed[name] = replace(figure, value=value, status="corrected", vintage=told)
    return changed


def find_claim(report: Report, said: str) -> Claim:
    """The one claim that holds the words given. Raises `NotFound` or `WrongUse`."""
    wanted = plain(said).casefold()
    found = [claim for claim in report.claims if wanted in plain(claim.text).casefold()]
    if not found:
        raise NotFound(f"No claim of {report.job} holds “{said}”.", "report.md has its sentences.")
    if len({plain(claim.text) for claim in found}) > 1:
        raise WrongUse(f"{len(found)} claims hold “{said}”.", "Give more of its words.")
    return found[0]


def find_figure(report: Report, name: str) -> Figure:
    """The figure with this id. Raises `NotFound`."""
    for figure in report.figures:
        if figure.id == name:
            return figure
    raise NotFound(
        f"{report.job} has no figure {name!r}.", "report.xlsx and report.json list them."
    )


def figure_correction(figure: Figure, value: str, by: str, note: str, at: str) -> Review:
    """A correction of a figure's value, in the figure's own scale. Raises `WrongUse`."""
    try:
        number = Decimal(value.replace(",", ""))
    except InvalidOperation:
        raise WrongUse(f"{value!r} is no number.", f"The figure is {figure.printed()}.") from None
    if figure.value < 0 < number and not value.strip().startswith("+"):
        raise WrongUse(
            f"{value} has another sign than the figure, {figure.printed()}.",
            f"Give -{value}, or +{value} if the sign is to change.",
        )
    return Review(
        what="figure", by=by, at=at, note=note, before=str(figure.value), after=str(number),
        label=figure.label, period_end=figure.period_end, unit=figure.unit,
    )  # fmt: skip


def reviewed(report: Report, reviews: Sequence[Review]) -> Report:
    """A published report with what was said of it since."""
    figures = corrected_figures({figure.id: figure for figure in report.figures}, reviews)
    text, claims = report.text, list(report.claims)
    for review in reviews:
        if review.what == "claim":
            text, _ = corrected_text(text, [review])
            claims = [_corrected(claim, review) for claim in claims]
    claims = [_renumbered(claim, report, figures) for claim in claims]
    for before, after in zip(report.claims, claims, strict=True):
        if before.places and before.text != after.text:
            text = text.replace(before.text, after.text)
    return replace(
        report,
        text=text,
        claims=tuple(claims),
        figures=tuple(figures.values()),
        reviewed=approval(reviews),
    )


def _corrected(claim: Claim, review: Review) -> Claim:
    if plain(claim.text) != plain(review.before):
        return claim
    by = f" by {review.by}" if review.by else ""
    return replace(
        claim,
        text=review.after,
        status="corrected",
        problem=f"corrected{by}",
        places=(),
        evidence=cited_in(review.after),
    )


def _renumbered(claim: Claim, report: Report, figures: Mapping[str, Figure]) -> Claim:
    """A claim whose literal numbers were corrected: the new number stands in its text."""
    text, status = claim.text, claim.status
    for start, end, name in sorted(claim.places, reverse=True):
        if figures[name].status == "corrected" and name in {f.id for f in report.figures}:
            text = f"{text[:start]}{abs(figures[name].value):,}{text[end:]}"
            status = "corrected"
    return replace(claim, text=text, status=status) if text != claim.text else claim
