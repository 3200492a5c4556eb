"""Whether a text states a date, in whatever order and language it writes it."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Sequence

# The first letters by which a month is told, in the languages of western business papers.
_MONTHS = (
    "jan gen ene sty led ocak",
    "feb fev fév fevr helmi lut uno subat şubat",
    "mar mär maer mrz maa bře",
    "apr avr abr kwi dub nis",
    "may mai mag maj mei maio toukok kvě kve",
    "jun juin giu kes cze čer haz",
    "jul juil lug heinä lip čvc tem",
    "aug aoû aou ago elo sie srp ağu agu",
    "sep set syys wrz zář eyl",
    "oct okt ott out loka paź říj eki",
    "nov marras lis kas",
    "dec dez dic déc des joulu gru pro ara",
)
_BY_NAME = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
_TOKEN = re.compile(r"\d+|[^\W\d_]+")
_BETWEEN = "of de den der the st nd rd th del di le er do 年 月 日"
_FILLERS = frozenset(_BETWEEN.split())
_GAP = 4
"""Characters between the parts of a date, at most."""


def states_date(text: str, date: str) -> bool:
    """Whether a date (``YYYY-MM-DD``, with or without a time behind it) stands in a text.

    Day and month may stand in either order, the month by name, the year by two digits.
    """
    year, month, day = (int(part) for part in date[:10].split("-"))
    if f"{year:04}{month:02}{day:02}" in text:
        return True
    tokens = [match for match in _TOKEN.finditer(text) if match.group().lower() not in _FILLERS]
    return any(
        _is_date([match.group() for match in window], year, month, day)
        for window in zip(tokens, tokens[1:], tokens[2:], strict=False)
        if all(
            len(re.sub(r"\w", "", text[a.end() : b.start()])) <= _GAP
            for a, b in itertools.pairwise(window)
        )
    )


def _is_date(parts: Sequence[str], year: int, month: int, day: int) -> bool:
    """Whether three words are the year, the month and the day, in an order that is in use."""
    for order in ((0, 1, 2), (2, 1, 0), (2, 0, 1)):
        its_year, its_month, its_day = (parts[place] for place in order)
        if (
            _number(its_year) in ((year, year % 100) if len(its_year) == 2 else (year,))
            and _month(its_month) == month
            and _number(its_day) == day
        ):
            return True
    return False


def _number(word: str) -> int | None:
    return int(word) if word.isdigit() and len(word) <= 4 else None


def _month(word: str) -> int | None:
    if word.isdigit():
        return int(word) if len(word) <= 2 else None
    folded = word.casefold()
    plain = "".join(
        letter
        for letter in unicodedata.normalize("NFKD", folded)
        if not unicodedata.combining(letter)
    )
    for length in (6, 5, 4, 3):
        for form in (folded, plain):
            if (number := _BY_NAME.get(form[:length])) and len(form) >= 3:
                return number
    return None
