"""Numbers written as words: "twelve billion", "two hundred million"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_VALUES = {word: number for number, word in enumerate(_ONES.split())}
_VALUES |= {word: 10 * number for number, word in enumerate(_TENS.split(), 2)}
_SCALES = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_WORD = "|".join([*_VALUES, "hundred", "half a", "an?"])
_PHRASE = re.compile(
    rf"\b((?:(?:{_WORD})[\s-]+(?:and\s+)?)+)(thousand|million|billion|trillion|per\s?cent)s?\b",
    re.I,
)


def number_words(text: str) -> Iterator[tuple[int, int, Decimal, bool]]:
    """(start, end, value, whether it is a percentage) of each number in words with a scale."""
    for match in _PHRASE.finditer(text):
        value = _value(match[1])
        if value is None:
            continue
        percent = match[2].lower().startswith("per")
        power = 0 if percent else _SCALES[match[2].lower()]
        yield match.start(), match.end(), value.scaleb(power), percent


def _value(words: str) -> Decimal | None:
    total, seen = Decimal(0), False
    for word in re.findall(r"[a-z]+", words.lower()):
        if word in ("a", "an", "and"):
            continue
        if word == "half":
            total, seen = total + Decimal("0.5"), True
        elif word == "hundred":
            total, seen = (total or Decimal(1)) * 100, True
        else:
            total, seen = total + _VALUES[word], True
    return total if seen else None
