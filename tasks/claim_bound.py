"""Bound figures in their sentence: a figure of a text is held to the words around it.

Its value comes from the ledger and can't be wrong; its year, its column, its direction, the length
of its period and what it is said to be can.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from deskwork.tasks.claim_computing import says_which_way
from deskwork.tasks.claim_matching import Match, contradiction, wrong_direction
from deskwork.tasks.claim_numbers import stated_in
from deskwork.tasks.ledger import Ledger
from deskwork.tasks.sentences import Sentence
from deskwork.tools.durations import months_between
from deskwork.tools.figures import Figure, fiscal_years
from deskwork.tools.printed import Printed, scale_in

FIGURE = re.compile(r"\{(F[0-9a-f]{8})(\\?\|abs)?\}")  # in a table's cell the bar is escaped


def bound_problems(
    sentence: Sentence, ledger: Ledger, months: frozenset[int], plain: Callable[[str], str]
) -> list[str]:
    """Why figures of the ledger aren't what their sentence says of them.

    ``plain`` takes citations out of a text.
    """
    text, spans = _printed(sentence.text, ledger)
    if not spans:
        return []
    said = plain(f"{text} {sentence.header}")
    problems: list[str] = []
    matches: list[Match] = []
    for number in stated_in(replace(sentence, text=text), ".", months):
        at = number.numeral.start
        figure = next((f for start, end, f in spans if start <= at < end), None)
        if figure is None:
            continue
        if figure.formula:
            problems += _turned(figure, said, sentence)
            continue
        printed = source_of(figure, ledger)
        if printed is None:
            continue
        if problem := contradiction(number, printed, said):
            problems.append(f"{{{figure.id}}} {problem}")
        matches.append(Match(printed, figure.evidence[0]))
        head = scale_in(sentence.header) if sentence.is_row else None
        if head and figure.scale and head != 10**figure.scale:
            problems.append(f"{{{figure.id}}} has another scale than its table's head tells")
    if not sentence.is_row and (turned := wrong_direction(matches, plain(text))):
        problems.append(turned)
    return problems


def source_of(figure: Figure, ledger: Ledger) -> Printed | None:
    """The number a figure was bound to, as its source prints it; None if it is found no more."""
    year = int(figure.period_end[:4]) if figure.period_end[:4].isdigit() else 0
    months = months_between(figure.period_start, figure.period_end)
    for name in figure.evidence:
        same = [p for p in ledger.printed(name) if p.value == figure.amount]
        of_year = [p for p in same if not p.years or year in fiscal_years(p)] or same
        found = next((p for p in of_year if months in (0, p.months)), None)
        if found := found or next(iter(of_year), None):
            return found
    return None


def _printed(text: str, ledger: Ledger) -> tuple[str, list[tuple[int, int, Figure]]]:
    """The text with its figures printed, and where each of them stands there."""
    out, at, spans = "", 0, []
    for match in FIGURE.finditer(text):
        figure = ledger.figures.get(match[1])
        if figure is None:
            continue
        out += text[at : match.start()]
        shown = figure.printed(positive=bool(match[2]))
        spans.append((len(out), len(out) + len(shown), figure))
        out, at = out + shown, match.end()
    return out + text[at:], spans


def _turned(figure: Figure, said: str, sentence: Sentence) -> list[str]:
    """A computed change whose sign is not the way its sentence says."""
    if sentence.is_row or " - " not in figure.formula or not figure.value:
        return []
    up, down = says_which_way(said)
    if up == down or (up if figure.value > 0 else down):
        return []
    shown = figure.printed()
    return [f"{{{figure.id}}} is {shown}, and its sentence says that it went the other way"]
