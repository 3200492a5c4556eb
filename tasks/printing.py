"""The text of a report as it is printed: figures from the ledger, marks on what doesn't stand."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from deskwork.tasks.claim_bound import FIGURE
from deskwork.tasks.claims import Claim
from deskwork.tasks.sentences import places_of
from deskwork.tools.figures import Figure

MARK = "**[not supported]**"
"""Stands behind a sentence that the check found wrong."""


def print_figures(
    text: str,
    figures: Mapping[str, Figure],
    form: Callable[[Figure, str], str] = lambda figure, shown: shown,
) -> str:
    """The text with each ``{F1234abcd}`` replaced by the figure's printed form.

    ``form`` may wrap it (a link). An id that is no figure's stays as it is, for the check to tell.
    """

    def put(match: re.Match[str]) -> str:
        figure = figures.get(match[1])
        if figure is None:
            return match[0]
        return form(figure, figure.printed(positive=bool(match[2])))

    return FIGURE.sub(put, text)


def marked(text: str, claims: Sequence[Claim]) -> str:
    """The text with `MARK` behind every unsupported sentence, wherever it stands.

    Of a sentence that stands in one place and not in another (rows of two tables), the places are
    told apart by their order.
    """
    verdicts: dict[str, list[bool]] = {}
    for claim in claims:
        verdicts.setdefault(claim.text, []).append(claim.status == "unsupported")
    ends: dict[int, str] = {}
    for sentence, wrong in verdicts.items():
        if not any(wrong):
            continue
        places = places_of(text, sentence)
        told_apart = len(places) == len(wrong)
        ends |= {end: sentence for at, (_, end) in enumerate(places) if not told_apart or wrong[at]}
    for end, sentence in sorted(ends.items(), reverse=True):
        text = _with_mark(text, end, sentence)
    return text


def _with_mark(text: str, end: int, sentence: str) -> str:
    if "```" in sentence or "~~~" in sentence:
        return f"{text[:end]}\n\n{MARK}\n{text[end:]}"
    if sentence.startswith("|") and sentence.endswith("|"):
        return f"{text[: end - 1].rstrip()} {MARK} |{text[end:]}"
    return f"{text[:end]} {MARK}{text[end:]}"
