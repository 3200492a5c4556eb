"""Whether an answer is the gold answer: numbers by value, unit and scale, texts by their words."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal

from deskwork.tasks.claims import CITATION
from deskwork.tasks.question_sets import Item
from deskwork.tools.numerals import Numeral, numerals
from deskwork.tools.printed import is_year

TOLERANCE = 0.01
"""How far a number may be off, relatively, where a set says nothing."""
SIGNS = "the sign differs"
"""What ``why`` says of an answer that is the gold one but for its sign."""
_SAME_TEXT = 0.6
"""The F1 of words from which a text counts as the gold one."""
_SCALES = {"thousand": 3, "million": 6, "billion": 9, "percent": 0}
_SMALL = "the a an of in on at to for and or is was were are by with its it"
_FILLERS = frozenset(_SMALL.split())
_YES_NO = re.compile(r"\W*(yes|no)\b", re.I)
_ANSWERED = re.compile(r"(?:^|[.!?:]\s+|\n)\W*(yes|no)\s*(?:[,.;:!]|$|\n)", re.I)


@dataclass(frozen=True)
class Grade:
    """``right`` is None where only a person or a model can tell; ``why`` says how it was told."""

    right: bool | None
    why: str


def grade(item: Item, answer: str) -> Grade:
    """Compare an answer with a question's gold answers."""
    text = CITATION.sub("", answer)
    if not text.strip():
        return Grade(False, "no answer")
    if all(_numbers(gold) and _mostly_number(gold) for gold in item.answers):
        given = [n for n in numerals(text) if not is_year(n)]
        tolerance = TOLERANCE if item.tolerance is None else item.tolerance
        asked = _asked_scale(item)
        missed, signs = list[str](), list[str]()
        for gold in item.answers:
            pairs = ((n, g) for g in _numbers(gold) for n in given)
            met = [(n, g) for n, g in pairs if _same(n, g, tolerance, asked)]
            if not met:
                missed.append(gold)
            elif all(n.negative != g.negative for n, g in met):
                signs.append(f"{_signed(met[0][0])} for {gold}")
        if missed:
            return Grade(False, f"no number in it is {missed[0]}")
        said = f"its numbers are there; {SIGNS}: {', '.join(signs)}" if signs else ""
        return Grade(True, said or "its numbers are there")
    return _text(item.answers, text)


def _numbers(gold: str) -> list[Numeral]:
    return list(numerals(gold))


def _mostly_number(gold: str) -> bool:
    """A number with its unit, not a sentence that holds one."""
    return len(re.findall(r"[A-Za-z]{2,}", gold)) <= 3


def _asked_scale(item: Item) -> int | None:
    """The scale that the question wants its answer in, as a power of ten."""
    told = item.scale or item.question
    found = re.search(r"(?i)\b(thousand|million|billion)s?\b", told)
    return _SCALES[found[1].lower()] if found else None


def _same(given: Numeral, gold: Numeral, tolerance: float, asked: int | None) -> bool:
    wanted = gold.readings[0] * gold.scale
    if gold.scale == 1 and asked and not gold.percent:
        wanted = gold.readings[0].scaleb(asked)
    sizes = [given.readings[0] * given.scale]
    if given.scale == 1:
        # An answer in the question's scale may leave it out, as the gold answers do.
        sizes.append(given.readings[0].scaleb(asked or 0))
    if given.percent != gold.percent:
        ratio = Decimal(100) if gold.percent else Decimal("0.01")
        sizes += [size * ratio for size in list(sizes)]
    if given.negative != gold.negative and wanted and not _signs_alike(given, gold):
        return False
    room = max(abs(wanted) * Decimal(str(tolerance)), Decimal("1e-9"))
    return any(abs(size - wanted) <= room for size in sizes)


def _signs_alike(given: Numeral, gold: Numeral) -> bool:
    """Outflows are given as sizes as often as with their sign, on either side."""
    return gold.readings[0] == given.readings[0]


def _signed(number: Numeral) -> str:
    return f"({number.text})" if number.negative else number.text


def _text(golds: tuple[str, ...], text: str) -> Grade:
    yes = _YES_NO.match(golds[0])
    if yes:
        found = _ANSWERED.search(text)
        if found is None:
            return Grade(None, "neither yes nor no")
        return Grade(found[1].lower() == yes[1].lower(), f"it says {found[1].lower()}")
    scores = [_f1(gold, text) for gold in golds]
    if min(scores) >= _SAME_TEXT:
        return Grade(True, "its words are the gold answer's")
    held = all(_plain(gold) and _plain(gold) in _plain(text) for gold in golds)
    return Grade(True, "it holds the gold answer") if held else Grade(None, "other words")


def _plain(text: str) -> str:
    return " ".join(re.findall(r"[a-z0-9]+", text.casefold()))


def _f1(gold: str, text: str) -> float:
    wanted = Counter(word for word in _plain(gold).split() if word not in _FILLERS)
    said = Counter(word for word in _plain(text).split() if word not in _FILLERS)
    same = sum((wanted & said).values())
    if not same:
        return 0.0
    precision, recall = same / sum(said.values()), same / sum(wanted.values())
    return 2 * precision * recall / (precision + recall)
