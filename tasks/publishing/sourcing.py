"""Citations behind sentences whose figures are bound: a reader sees what each figure rests on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from deskwork.tasks.claim_bound import FIGURE
from deskwork.tasks.claims import Claim, cited_in
from deskwork.tasks.report import Report
from deskwork.tasks.sentences import behind, places_of
from deskwork.tools.figures import Figure


def sourced(report: Report) -> Report:
    """The report with the evidence of bound figures cited where they stand, as its forms show it.

    Headings stay as they are.
    """
    figures = {figure.id: figure for figure in report.figures}
    text = report.text
    forms: dict[str, str] = {}
    for claim in report.claims:
        names = _missing(claim, figures)
        if not names or claim.text in forms or re.search(r"```|~~~", claim.text):
            continue
        cites = f"[{', '.join(names)}]"
        places = [span for span in places_of(text, claim.text) if not _is_heading(text, span[0])]
        if places:
            forms[claim.text] = behind(claim.text, cites)
        for start, end in reversed(places):
            text = text[:start] + behind(text[start:end], cites) + text[end:]
    claims = tuple(replace(c, text=forms.get(c.text, c.text)) for c in report.claims)
    return replace(report, text=text, claims=claims)


def _missing(claim: Claim, figures: Mapping[str, Figure]) -> tuple[str, ...]:
    """The evidence of a claim's bound figures that it doesn't cite."""
    stated = [figures[name] for name, _ in FIGURE.findall(claim.text) if name in figures]
    behind = dict.fromkeys(name for figure in stated for name in figure.evidence)
    return tuple(name for name in behind if name not in cited_in(claim.text))


def _is_heading(text: str, at: int) -> bool:
    return bool(re.match(r"#{1,6}\s", text[text.rfind("\n", 0, at) + 1 :]))
