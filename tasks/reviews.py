"""What a person said of a report: that it is approved, and what is to be corrected in it.

Reviews are entries of the job they are of. A correction holds for the later runs of the same job
as well: the same question over the same files, or the next issue of a standing report.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as Collection
from dataclasses import replace

from deskwork.tasks.claim_bound import FIGURE
from deskwork.tasks.claims import CITATION, Claim, cited_in
from deskwork.tasks.conflicts import conflicts_of
from deskwork.tasks.figure_corrections import corrected_figures, restated
from deskwork.tasks.journal import Journal
from deskwork.tasks.printing import print_figures
from deskwork.tasks.report import Report
from deskwork.tasks.review import KIND, Review
from deskwork.tasks.sentences import places_of
from deskwork.tools.errors import NotFound, WrongUse
from deskwork.tools.figures import Figure


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


def holding(journal: Journal, job: str) -> list[Review]:
    """All that a job's report is shown with: the corrections of all runs, then its own reviews."""
    return [*standing(journal, job), *reviews_of(journal, job)]


def approval(reviews: Sequence[Review]) -> dict[str, str]:
    """``by``, ``at`` and ``note`` of the approval; {} where none came after the last correction."""
    if not reviews or reviews[-1].what != "approved":
        return {}
    said = reviews[-1]
    told = {"by": said.by, "at": said.at, "note": said.note}
    return {**told, "anyway": said.anyway} if said.anyway else told


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
        cites = r"(?:\s*\[E[^\]]*\])*"
        parts = (re.escape(part) for part in re.findall(r"\w+|[^\w\s]", plain(review.before)))
        between = rf"{cites}\s*"
        pattern = rf"(?<!\w){between.join(parts)}(?!\w){cites}"
        # A summary says again what a section says: the sentence is corrected wherever it stands.
        text, found = re.subn(pattern, review.after.replace("\\", r"\\"), text)
        if found or plain(review.after) in plain(text):
            put.append(plain(review.after))
    return text, put


def keeping_citations(text: str, claim: Claim, report: Report) -> str:
    """A corrected sentence with the citations of the one it corrects, where it has none of its own.

    Raises `WrongUse` where a row of a table would be replaced by something else.
    """
    is_row = claim.text.startswith("|")
    if is_row and not re.fullmatch(r"\|.*\|", text.strip()):
        raise WrongUse(
            f"“{claim.text}” is a row of a table, and “{text}” is none.",
            "Give the whole row, with its bars: | Net sales | 840.1 |.",
        )
    if cited_in(text):
        return text
    known = {figure.id: figure for figure in report.figures}
    stated = [known[name] for name, _ in FIGURE.findall(claim.text) if name in known]
    behind_figures = dict.fromkeys(name for figure in stated for name in figure.evidence)
    names = cited_in(claim.text) or tuple(behind_figures)
    if not names:
        return text
    cites = f"[{', '.join(names)}]"
    return f"{text.strip()[:-1].rstrip()} {cites} |" if is_row else f"{text} {cites}"


def find_claim(report: Report, said: str) -> Claim:
    """The one claim that holds the words given, as it is printed. Raises `NotFound` or `WrongUse`.

    One that stands in several places is one claim.
    """
    figures = {figure.id: figure for figure in report.figures}
    wanted = plain(said).casefold()
    found = [
        claim
        for claim in report.claims
        if wanted in plain(claim.text).casefold()
        or wanted in plain(print_figures(claim.text, figures)).casefold()
    ]
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


def reviewed(report: Report, reviews: Sequence[Review]) -> Report:
    """A published report with what was said of it since."""
    before = {figure.id: figure for figure in report.figures}
    after = corrected_figures(before, reviews)
    text, claims = report.text, list(report.claims)
    for review in reviews:
        if review.what == "claim":
            text, _ = corrected_text(text, [review])
            claims = [_corrected(claim, review) for claim in claims]
    for place, claim in enumerate(claims):
        claims[place], stands = restated(claim, before, after)
        if stands != claim.text:
            text = _put(text, claim.text, stands)
    changed = {name for name in before if before[name] != after[name]}
    conflicts = report.conflicts
    if changed:
        evidence = {item.id: item for item in report.evidence}
        conflicts = tuple(conflicts_of(list(after.values()), evidence))
    return replace(
        report,
        text=text,
        claims=tuple(claims),
        figures=tuple(after.values()),
        conflicts=conflicts,
        notes=tuple(dict.fromkeys([*report.notes, *_notes(report, text, reviews, changed)])),
        reviewed=approval(reviews),
    )


def _notes(
    report: Report, text: str, reviews: Sequence[Review], changed: Collection[str]
) -> Iterator[str]:
    """What a correction could not change."""
    for chart in report.charts:
        if changed & set(chart.figures):
            yield f"The chart “{chart.title}” was drawn before a figure of it was corrected."
    said, later = plain(text), {plain(r.before) for r in reviews if r.what == "claim"}
    for review in reviews:
        after = plain(review.after)
        if review.what == "claim" and after not in said and after not in later:
            yield f"A corrected sentence stands here no more: “{after}”."


def _corrected(claim: Claim, review: Review) -> Claim:
    """A claim as it was corrected; one that was so already gets the reviewer's name and note."""
    is_after = plain(claim.text) == plain(review.after) and claim.status == "corrected"
    if plain(claim.text) != plain(review.before) and not is_after:
        return claim
    by = f" by {review.by}" if review.by else ""
    note = f" ({review.note})" if review.note else ""
    told = f"corrected{by}{note}, before “{plain(review.before)}”"
    if claim.status == "corrected" and claim.problem and claim.problem not in told:
        told = claim.problem if told in claim.problem else f"{told}, {claim.problem}"
    return replace(
        claim,
        text=review.after,
        status="corrected",
        problem=told,
        figures=(),
        places=(),
        evidence=cited_in(review.after),
    )


def _put(text: str, sentence: str, stands: str) -> str:
    """The text with a sentence said otherwise wherever it stands, its lines broken as they were."""
    for start, end in reversed(places_of(text, sentence)):
        words = iter(stands.split())
        pieces = re.split(r"(\s+)", text[start:end])
        put = "".join(piece if piece.isspace() else next(words, "") for piece in pieces)
        text = text[:start] + " ".join([put, *words]) + text[end:]
    return text
