"""A report's text with links: from each quotation and figure to the source it stands on.

Links are Markdown's own (``[$1,577 million](#E1a2b3c4d)``), so that one text serves every form of
the report; forms without links leave them out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from deskwork.tasks.claims import Claim
from deskwork.tasks.sentences import places_of, quotes_in
from deskwork.tools.figures import Figure

_BEFORE = re.compile(r"[(\-\u2212]?\s?(?:US\$|[$€£¥₹]|(?:USD|EUR|GBP|CHF|JPY)\s)?\(?$")
_AFTER = re.compile(
    r"\)?(?:%|x\b|\s(?:thousand|million|billion|trillion|percent|bn|mn)\b)?(?:\sa share\b)?", re.I
)


def linked(text: str, claims: Sequence[Claim], figures: Mapping[str, Figure]) -> str:
    """The text with links. What can't be found in it again stays as it is."""
    for claim in {claim.text: claim for claim in reversed(claims)}.values():
        for start, end in reversed(places_of(text, claim.text)):
            text = text[:start] + _sentence(claim, figures) + text[end:]
    return text


def target(figure: Figure) -> str:
    """Where a figure leads: to its quote, or to its own entry where it is computed."""
    return figure.id if figure.formula or not figure.evidence else figure.evidence[0]


def _sentence(claim: Claim, figures: Mapping[str, Figure]) -> str:
    text = claim.text
    spans = [
        (*_whole(text, start, end), target(figures[name]))
        for start, end, name in claim.places
        if name in figures
    ]
    if claim.evidence and claim.status != "unsupported":
        spans += [(start, end, claim.evidence[0]) for start, end in quotes_in(text)]
    for start, end, name in sorted(spans, reverse=True):
        inner = text[start:end]
        if not re.search(r"[\[\]|]", inner):
            text = f"{text[:start]}[{inner}](#{name}){text[end:]}"
    return text


def _whole(text: str, start: int, end: int) -> tuple[int, int]:
    """The number's place with its sign, currency and scale."""
    before = _BEFORE.search(text[:start])
    after = _AFTER.match(text[end:])
    left = before.start() if before else start
    right = end + (after.end() if after else 0)
    inner = text[left:right]
    if inner.count("(") != inner.count(")"):
        return start, end
    return left + (len(inner) - len(inner.lstrip())), right
