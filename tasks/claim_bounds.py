"""Numbers that a sentence gives as a bound ("topped $8 billion"), and multiples it tells in words.

"Doubled", "half of" and their like state a figure without a digit; they are held to what the
sentence cites, where that has rows to compare.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from decimal import Decimal

from deskwork.tasks.claim_computing import Computed, Source, other_length, terms
from deskwork.tasks.claim_numbers import Stated
from deskwork.tools.figures import fiscal_years
from deskwork.tools.printed import Printed

_FAR = Decimal("1.25")
"""How far beyond a bound a value may be: nobody says that 20 is more than 8."""
_CLOSE = Decimal("1.06")
"""The same for "nearly"."""
_MORE = re.compile(
    r"(?i)\b(?:topp(?:ed|ing|s)|exceed\w*|(?:more|greater|higher) than|over|above|at least"
    r"|surpass\w*|pass(?:ed|es|ing)|beyond|north of|crossed|upwards of)\W*$"
)
_LESS = re.compile(
    r"(?i)\b(?:(?:less|lower|fewer) than|under|below|at most|up to|short of"
    r"|south of)\W*$"
)
_NEAR = re.compile(
    r"(?i)\b(?:nearly|almost|close to|approach\w*|just (?:under|below|short of))\W*$"
)
_ABOUT = re.compile(r"(?i)(?:\b(?:about|around|roughly|some|approximately|circa|c\.)|~)\W*$")
_LISTED = re.compile(
    r"(?i)\b(topped|exceed\w*|(?:more|greater|higher|less|lower|fewer) than|over|surpassed)\b"
    r"(?:\W+[\w.,]+){1,5}\W+and\W*$"
)
_TIMES_IN_WORDS = {
    "doubl": (Decimal("1.9"), Decimal("2.25")),
    "tripl": (Decimal("2.8"), Decimal("3.4")),
    "trebl": (Decimal("2.8"), Decimal("3.4")),
    "quadrupl": (Decimal("3.7"), Decimal("4.5")),
    "halv": (Decimal("0.44"), Decimal("0.55")),
}
_MULTIPLE = re.compile(
    r"(?i)\b((?:more|less) than |nearly |almost |over )?(doubl|tripl|trebl|quadrupl|halv)"
    r"(?:ed|es|ing)\b"
)
_PARTS = {"half": Decimal("0.5"), "third": Decimal(1) / 3, "quarter": Decimal("0.25"),
          "two thirds": Decimal(2) / 3, "three quarters": Decimal("0.75")}  # fmt: skip
_PART = re.compile(
    r"(?i)\b((?:more|less) than |nearly |almost |over |about |roughly |under )?"
    r"(?:(half)|(?:a|one) (third|quarter)|(two)[- ]thirds|(three)[- ]quarters) (?:of )?"
    r"(?:its |the |their |total |all |net |that |of )+(?!year|fiscal|19|20)"
)
_SLACK = Decimal("0.12")


def bounded(stated: Stated, sources: Sequence[Source]) -> Computed | None:
    """The printed value, or the change, that a number bounds in its sentence's words."""
    before = _before(stated)
    more, near = bool(_MORE.search(before)), bool(_NEAR.search(before))
    if _ABOUT.search(before):
        return _about(stated, sources)
    if not (more or near or _LESS.search(before)) or not stated.numeral.readings[0]:
        return None
    far = _CLOSE if near else _FAR
    for name, printed in sources:
        if _beyond(stated, printed, abs(printed.value), far, more=more):
            return Computed(printed, name, "")
    for (name, one), (other, two) in itertools.combinations(sources, 2):
        if name != other or one.label != two.label or one.numeral.percent != two.numeral.percent:
            continue
        change = abs(one.value - two.value)
        if re.search(r"(?i)\bby\b", before) and _beyond(stated, one, change, far, more=more):
            return Computed(one, name, _later_less_earlier(one, two))
    return None


def _about(stated: Stated, sources: Sequence[Source]) -> Computed | None:
    for name, printed in sources:
        if _roughly(stated, printed, abs(printed.value)):
            return Computed(printed, name, "")
    for (name, one), (other, two) in itertools.combinations(sources, 2):
        like = one.label == two.label and one.numeral.percent == two.numeral.percent
        if name == other and like and _roughly(stated, one, abs(one.value - two.value)):
            return Computed(one, name, _later_less_earlier(one, two))
    return None


def _later_less_earlier(one: Printed, two: Printed) -> str:
    later, earlier = (one, two) if max(one.years, default=0) >= max(two.years, default=0) else (
        two, one
    )  # fmt: skip
    return " - ".join(terms(later, earlier))


def _roughly(stated: Stated, printed: Printed, value: Decimal) -> bool:
    """Whether "about 200" may be said of a value: near, at the digits that are given."""
    own = stated.numeral.readings[0]
    zeros = len(stated.numeral.text) - len(stated.numeral.text.rstrip("0,"))
    reach = min(Decimal(5).scaleb(zeros - 1), own * Decimal("0.06"))
    low, high = (own - reach, own + reach)
    scale = stated.scale or Decimal(1)
    if stated.numeral.percent != printed.numeral.percent or not _of_period(stated, printed):
        return False
    if stated.scale is None and printed.scale != 1:
        return False
    return low <= (value if printed.numeral.percent else value / scale) <= high


def _of_period(stated: Stated, printed: Printed) -> bool:
    told = set(stated.years)
    if told and printed.years and not told & fiscal_years(printed):
        return False
    return not other_length(printed.months, stated.months)


def wrong_side(stated: Stated, printed: Printed) -> bool:
    """Whether a value lies on the other side of the bound that a number is: 7.8 doesn't top 8."""
    before, own = _before(stated), stated.numeral.readings[0]
    value = abs(printed.value) / (stated.scale or 1)
    if stated.numeral.percent:
        value = abs(printed.numeral.readings[0]) * (1 if printed.numeral.percent else 100)
    return value < own if _MORE.search(before) else value > own and bool(_LESS.search(before))


def _before(stated: Stated) -> str:
    """The words before a number; "exceeded 8 in 2025 and 7 in 2024" bounds both."""
    return _LISTED.sub(r"\1", stated.lead.rstrip("$€£¥~ "))


def _beyond(stated: Stated, printed: Printed, value: Decimal, far: Decimal, *, more: bool) -> bool:
    if stated.numeral.percent != printed.numeral.percent:
        return False
    if stated.scale is None and printed.scale != 1 and not stated.numeral.percent:
        return False
    if not _of_period(stated, printed):
        return False
    own = stated.numeral.readings[0] * (stated.scale or Decimal(1))
    return own < value <= own * far if more else own / far <= value < own


def wrong_multiple(sources: Sequence[Source], sentence: str) -> str:
    """Why a multiple that a sentence tells in words isn't one of what it cites; or ""."""
    if match := _MULTIPLE.search(sentence):
        low, high = _TIMES_IN_WORDS[match[2].lower()]
        low, high = _shifted(match[1], low, high)
        ratios = _growths(sources)
        if ratios and not any(low <= ratio <= high for ratio in ratios):
            return f"“{match[0]}” is not what its source prints"
    if match := _PART.search(sentence):
        word = next(filter(None, match.groups()[1:])).lower()
        part = _PARTS[{"two": "two thirds", "three": "three quarters"}.get(word, word)]
        low, high = _shifted(match[1], part * (1 - _SLACK), part * (1 + _SLACK))
        shares = _shares(sources)
        if shares and not any(low <= share <= high for share in shares):
            return f"“{match[0].strip()}” is not what its source prints"
    return ""


def _shifted(word: str | None, low: Decimal, high: Decimal) -> tuple[Decimal, Decimal]:
    """The range of a multiple that "more than" and the like stand before."""
    said, middle = (word or "").strip().lower(), (low + high) / 2
    if said in ("more than", "over"):
        return middle * Decimal("0.97"), middle * Decimal("1.5")
    if said in ("less than", "under", "nearly", "almost"):
        return middle * Decimal("0.8"), middle * Decimal("1.02")
    return low, high


def _growths(sources: Sequence[Source]) -> list[Decimal]:
    """Each later value of a row over each earlier one."""
    found = []
    for (name, one), (other, two) in itertools.permutations(sources, 2):
        if name != other or one.label != two.label or not (one.years and two.years and one.label):
            continue
        if one.months == two.months and max(one.years) > max(two.years) and two.value:
            found.append(one.value / two.value)
    return found


def _shares(sources: Sequence[Source]) -> list[Decimal]:
    """Each value over each other one of the same year, and each percentage as it is."""
    found = [abs(p.numeral.readings[0]) / 100 for _, p in sources if p.numeral.percent]
    for (_, one), (_, two) in itertools.permutations(sources, 2):
        if one.numeral.percent or two.numeral.percent or not two.value:
            continue
        if not one.years or not two.years or set(one.years) & set(two.years):
            found.append(abs(one.value / two.value))
    return found
