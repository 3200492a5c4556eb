"""The years that a number of a sentence may be of, as the sentence says."""

from __future__ import annotations

import re
from collections.abc import Sequence

from deskwork.tasks.sentences import Sentence
from deskwork.tools.columns import YEAR
from deskwork.tools.numerals import Numeral

_FROM = re.compile(
    r"(?i)\b(?:from|against|compared (?:with|to)|versus|vs\.?|after|than)\s+"
    r"(?:an? |some |about |around )?"
    r"(?:[\w$€£-]+ ){0,3}?(?:US)?[$€£¥(-]*$"
)
_EARLIER = 5
"""Years that a value may lie back from which another rose."""
_YEAR_BEFORE = re.compile(
    r"(?i)(?:\b(?:a|one) year (?:earlier|ago|before|prior)|\b(?:the )?year[- ](?:earlier|ago)\b"
    r"|\b(?:the |its )?(?:prior|previous|preceding|last)[- ](?:fiscal )?year(?:'s|’s)?"
    r"|\bthe year (?:before|earlier|prior)\b)"
)
_RANGE = re.compile(
    r"(?i)\b((?:19|20)\d\d)(?:\s?[-–/]\s?((?:19|20)?\d\d)"
    r"|\s(?:through|to|until)\s(?:fiscal )?((?:19|20)\d\d))\b"
)
_OWN = re.compile(
    r"\W*(?:\w+\W+){0,6}?(?:in|for|at|of|during|FY|fiscal)\b[^.;]{0,30}?", re.IGNORECASE
)
_BELONGS = re.compile(
    r"(?i)\W*(?:thousand|million|billion|trillion|bn|m)?\W*(?:in|of|for|during)\W*(?:fiscal|FY)?\W*"
)
_BAR = re.compile(r"(?<!\\)\|")


def years_named(text: str) -> list[int]:
    """Every year of a text, in order."""
    return [int(year) for year in YEAR.findall(text)]


def cells_of(row: str) -> list[str]:
    """The cells of a row of a Markdown table."""
    return _BAR.split(row.strip().strip("|"))


def years_of(
    sentence: Sentence,
    text: str,
    found: Sequence[Numeral],
    index: int,
    months: frozenset[int] = frozenset(),
) -> tuple[int, ...]:
    """The years number ``index`` of ``found`` may be of; "a year earlier" is the one before.

    ``text`` is the sentence with what states no figure blanked, ``months`` the lengths of period
    it speaks of: a quarter of a fiscal year may end in the calendar year before.
    """
    years = _told(sentence, text, found, index)
    if months & {3, 6, 9} and re.search(r"(?i)\bfiscal\b|\bFY", sentence.text + sentence.header):
        years = (*years, *(year - 1 for year in years))
    if sentence.is_row or not years:
        return years
    numeral = found[index]
    end = found[index + 1].start if index + 1 < len(found) else len(text)
    start = found[index - 1].end if index else 0
    behind = re.split(r"[;:.,]\s|\band\b", text[numeral.end : end])[0]
    near = f"{text[max(start, numeral.start - 30) : numeral.start]} {behind}"
    if _YEAR_BEFORE.search(near):
        return (*(year - 1 for year in years), *(years if YEAR.search(near) else ()))
    # "Rose from 31.7 to 32.8 in 2018": what it rose from is of an earlier year.
    if _FROM.search(text[: numeral.start]) and not YEAR.search(behind):
        return tuple(dict.fromkeys(y - ago for y in years for ago in range(_EARLIER + 1)))
    return years


def _told(sentence: Sentence, text: str, found: Sequence[Numeral], index: int) -> tuple[int, ...]:
    numeral = found[index]
    if sentence.is_row:
        own = len(_BAR.findall(sentence.text[: numeral.start])) - 1
        heads = cells_of(sentence.header)
        if own < len(heads) and (years := years_named(heads[own])):
            return tuple(years)
        return tuple(years_named(cells_of(text)[0])) if cells_of(text) else ()
    if span := _RANGE.search(sentence.text):
        end_of = span[2] or span[3]
        last = int(end_of) if len(end_of) == 4 else int(span[1][:2] + end_of)
        return tuple(range(int(span[1]), last + 1))
    mentions = [(match.start(), int(match.group(1))) for match in YEAR.finditer(text)]
    # "32.8 (2017: 31.7)", "2017 $31.7 billion": such a year is of what follows.
    heads_of = {at for at, _ in mentions if re.match(r"\D{0,3}\d{4}(?:\s*:|\s[$€£])", text[at:])}
    if not mentions:
        return ()
    first, last_at = mentions[0][0], mentions[-1][0]
    in_order = len(mentions) == len(found) and len(mentions) > 1
    if in_order and (found[-1].end <= first or last_at < found[0].start):
        return (mentions[index][1],)
    end = found[index + 1].start if index + 1 < len(found) else len(text)
    start = found[index - 1].end if index else 0
    ahead = [(at, year) for at, year in mentions if start <= at < numeral.start]
    if own_head := [year for at, year in ahead if at in heads_of]:
        return (own_head[-1],)
    behind = [year for at, year in mentions if numeral.end <= at < end and at not in heads_of]
    if behind and not ahead:
        return (behind[0],)
    if ahead and not behind:
        return (ahead[-1][1],)
    if ahead and behind:
        # "In 2018, capex was 5, against 4 in 2017": what follows the number at once is its own.
        close = _OWN.match(text[numeral.end : end])
        return (behind[0],) if close else tuple(dict.fromkeys([ahead[-1][1], behind[0]]))
    left = [(at, year) for at, year in mentions if at not in heads_of]
    return tuple(dict.fromkeys(year for at, year in left if not _of_another(text, found, at)))


def _of_another(text: str, found: Sequence[Numeral], at: int) -> bool:
    """Whether a year stands right behind a number that another one rose or fell from."""
    before = [numeral for numeral in found if numeral.end <= at]
    if not before or not _BELONGS.fullmatch(text[before[-1].end : at]):
        return False
    return bool(_FROM.search(text[: before[-1].start]))
