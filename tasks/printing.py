"""The text of a report as it is printed: figures from the ledger, marks on what doesn't stand."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from deskwork.tasks.claim_bound import FIGURE
from deskwork.tasks.claims import Claim
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
    """The text with `MARK` behind every unsupported sentence, once for each."""
    for claim in claims:
        if claim.status != "unsupported":
            continue
        pattern = r"\s+".join(re.escape(word) for word in claim.text.split())
        found = re.search(pattern, text)
        if found is None:
            continue
        end = found.end()
        if "```" in claim.text or "~~~" in claim.text:
            text = f"{text[:end]}\n\n{MARK}\n{text[end:]}"
        elif claim.text.startswith("|") and claim.text.endswith("|"):
            end -= 1
            text = f"{text[:end].rstrip()} {MARK} |{text[end + 1 :]}"
        else:
            text = f"{text[:end]} {MARK}{text[end:]}"
    return text
