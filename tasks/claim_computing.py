"""Numbers a sentence computes from what its sources print: changes, shares, means, sums, multiples.

Each is tried only where the sentence's own words say that it is one, so that a wrong number
doesn't find a formula by chance.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, DivisionByZero, InvalidOperation

from deskwork.tasks.claim_numbers import Stated
from deskwork.tools.figures import fiscal_years
from deskwork.tools.printed import Printed

Source = tuple[str, Printed]
"""An evidence's id, and a number in it."""

_CHANGE = re.compile(
    r"(?i)\b(?:ros[e]|ris\w+|grew|grow\w*|increas\w*|up|climb\w*|jump\w*|gain\w*|higher|more|decreas\w*"
    r"|declin\w*|fell|fall\w*|down|drop\w*|lower|less|fewer|chang\w*|reduc\w*|shrank|improv\w*"
    r"|widen\w*|narrow\w*|doubl\w*|slid|dip\w*|above|below|over|ahead|accelerat\w*|slow\w*"
    r"|surg\w*|soar\w*|tumbl\w*|plung\w*|slump\w*|sank|sink\w*|eas(?:ed|ing)|trim\w*|slip\w*"
    r"|compress\w*|larger|smaller|edg(?:ed|ing)|expand\w*|contract\w*|shrink\w*|growth|yoy"
    r"|swing|swung|turn(?:ed|around)|deteriorat\w*)\b|\by[/-]o?-?y\b|Δ|∆"
    r"|year[- ](?:over|on)[- ]year"
)
_MEAN = re.compile(r"(?i)\b(?:averag\w*|mean|midpoint)\b")
_SUM = re.compile(
    r"(?i)\b(?:total\w*|sum(?:s|med)?|combined|together|cumulative\w*|altogether|return(?:ed|s)"
    r"|since (?:19|20)\d\d|over (?:the )?(?:\w+ ){0,2}years)\b"
)
_COMPOUND = re.compile(r"(?i)\bcompound\w*|\bCAGR\b|\b(?:a|per) year\b|\bannuali[sz]ed\b")
_SHARE = re.compile(
    r"(?i)%\s+of\b|percent\s+of\b|\bshare of\b|\bas a (?:percentage|share|proportion)\b|\bmargin\b"
    r"|\baccount\w* for\b|\brepresent\w*|\bratio\b|\breturn on\b|\bintensity\b|\b(?:tax )?rate\b"
)
_TIMES = re.compile(
    r"(?i)\btimes\b|\d\s?x\b|\bratio\b|\bmultiple\b|\bturn(?:s|over|ed)\b|\bcover\w*"
)
_UP = re.compile(
    r"(?i)\b(?:ros[e]|grew|increas\w*|up|climb\w*|jump\w*|gain\w*|higher|more|expand\w*|widen\w*"
    r"|improv\w*|above|ahead|surg\w*|soar\w*|larger|ris(?:e|es|ing))\b"
)
_DOWN = re.compile(
    r"(?i)\b(?:decreas\w*|declin\w*|fell|down|drop\w*|lower|less|reduc\w*|shrank|slid|dip\w*"
    r"|narrow\w*|contract(?:ed|ion)|below|tumbl\w*|plung\w*|slump\w*|sank|sink\w*|eased|trimmed"
    r"|slip(?:ped|s)|compress\w*|smaller|shrink\w*|fall(?:s|ing|en)?)\b"
)


_BEGINS = re.compile(
    r"(?i)\b(?:since|from|between|against|compared|versus|vs|than|above|below|over|after)\b"
)
_DIGITS = 3
"""Significant digits from which on a sum of two rows needs no word that says so."""


@dataclass(frozen=True)
class Computed:
    """A number's formula over printed ones, the first of which is ``printed``."""

    printed: Printed
    evidence: str
    formula: str


def computed(stated: Stated, sources: Sequence[Source], sentence: str) -> Computed | None:
    """How a number follows from two or more of the printed ones, where its sentence says so."""
    if _CHANGE.search(sentence):
        for name, new, old in _pairs(sources, stated, sentence):
            if formula := _change(stated, new, old, sentence):
                return Computed(new, name, formula)
    if _COMPOUND.search(sentence) and stated.numeral.percent:
        for name, new, old in _pairs(sources, stated, sentence):
            if formula := _compound(stated, new, old):
                return Computed(new, name, formula)
    if _SHARE.search(sentence) or _TIMES.search(sentence):
        for (name, one), (_, other) in itertools.permutations(sources, 2):
            if formula := _ratio(stated, one, other, sentence):
                return Computed(one, name, formula)
    if (_MEAN.search(sentence) or _SUM.search(sentence)) and (
        found := _of_a_row(stated, sources, sentence)
    ):
        return found
    return _of_two_rows(stated, sources)


def terms(*numbers: Printed) -> list[str]:
    """Numbers as a formula holds them: signed, with their scales where those differ."""
    return [
        f"(-{size})" if printed.numeral.negative else size
        for printed, size in zip(numbers, sizes(*numbers), strict=True)
    ]


def sizes(*numbers: Printed) -> list[str]:
    """The same without their signs."""
    alike = len({printed.scale for printed in numbers}) == 1
    return [
        f"{p.numeral.readings[0]:,}" + ("" if alike or p.scale == 1 else f" * {int(p.scale):,}")
        for p in numbers
    ]


def rounds(value: Decimal, wanted: Decimal, digits: int) -> bool:
    """Whether a value is ``wanted`` when it is written with so many digits behind the point.

    Something must be left of the value: 1 is no rounding of 0.6.
    """
    if value == wanted:
        return True
    if abs(value - wanted) > Decimal("0.5").scaleb(-digits):
        return False
    return digits > 0 or abs(wanted) >= 10 or abs(value - wanted) * 10 <= abs(wanted)


def says_which_way(sentence: str) -> tuple[bool, bool]:
    """Whether a sentence speaks of more, and whether of less."""
    return bool(_UP.search(sentence)), bool(_DOWN.search(sentence))


def other_length(months: int, told: frozenset[int]) -> str:
    """Why a figure of so many months isn't what a sentence of these lengths speaks of; or ""."""
    if not months or not told or months in told:
        return ""
    names = {3: "a quarter", 6: "six months", 9: "nine months", 12: "a year"}
    wanted = " or ".join(names[length] for length in sorted(told))
    return f"is of {names[months]} in its source, and its sentence speaks of {wanted}"


def _fits(stated: Stated, *printed: Printed) -> bool:
    """Whether numbers are of a period the sentence may mean, one of them of a year it tells."""
    if any(other_length(one.months, stated.months) for one in printed):
        return False
    told = set(stated.years)
    years = [fiscal_years(one) for one in printed if one.years]
    return not told or not years or any(told & own for own in years)


def _tells_later(stated: Stated, later: Printed, sentence: str) -> bool:
    """A change in a year is that year's, unless the sentence tells where it began."""
    told = set(stated.years)
    if not told or not later.years or told & fiscal_years(later):
        return True
    return bool(_BEGINS.search(sentence))


def _pairs(
    sources: Sequence[Source], stated: Stated, sentence: str
) -> Iterator[tuple[str, Printed, Printed]]:
    """Two numbers of one row, the later year first; without years the first as the later."""
    for at, (name, first) in enumerate(sources):
        for other, second in sources[at + 1 :]:
            if other != name or first.label != second.label or not first.label:
                continue
            if first.months != second.months or not _fits(stated, first, second):
                continue
            later, earlier = first, second
            if first.years and second.years and min(second.years) > max(first.years):
                later, earlier = second, first
            if _tells_later(stated, later, sentence):
                yield name, later, earlier


def _change(stated: Stated, new: Printed, old: Printed, sentence: str) -> str:
    own, digits = stated.numeral.readings[0], stated.digits
    difference = new.value - old.value
    both_out = new.numeral.negative and old.numeral.negative
    if both_out and re.match(r"(?i)\W*net loss", new.label) and "loss" not in sentence.lower():
        return ""  # a loss that grew is no income that grew
    if _says_wrong_way(sentence, -difference if both_out else difference, stated):
        return ""
    # Of what goes out or is lost both times, the size changes.
    a, b = sizes(new, old) if both_out else terms(new, old)
    if stated.points:
        return f"({a} - {b}) * 100" if rounds(abs(difference) * 100, own, digits) else ""
    if stated.numeral.percent and not new.numeral.percent:
        percent = _quotient(difference * 100, abs(old.value))
        base = sizes(new, old)[1]
        return f"({a} - {b}) / {base}" if percent and rounds(abs(percent), own, digits) else ""
    if stated.numeral.percent or new.numeral.percent:
        return f"{a} - {b}" if rounds(abs(difference), own, digits) else ""
    if stated.scale is None and new.scale != 1:
        return ""
    return f"{a} - {b}" if _is(stated, difference) else ""


def _compound(stated: Stated, new: Printed, old: Printed) -> str:
    if not (new.years and old.years) or new.value * old.value <= 0:
        return ""
    years = max(new.years) - max(old.years)
    if years < 1:
        return ""
    rate = (new.value / old.value) ** (Decimal(1) / years) - 1
    a, b = terms(new, old)
    formula = f"({a} / {b}) ^ (1 / {years}) - 1"
    return formula if rounds(abs(rate) * 100, stated.numeral.readings[0], stated.digits) else ""


def _ratio(stated: Stated, one: Printed, other: Printed, sentence: str) -> str:
    """A share in percent, or a multiple, of two numbers of the same period."""
    if one is other or one.numeral.percent or other.numeral.percent:
        return ""
    if one.years != other.years and one.label == other.label:
        # "2.4 times the 2.1 billion of 2017"
        return _multiple(stated, one, other) if _TIMES.search(sentence) else ""
    if (one.years and other.years and not set(one.years) & set(other.years)) or (
        one.months and other.months and one.months != other.months
    ):
        return ""
    if not _fits(stated, one) or not _fits(stated, other) or stated.currency:
        return ""
    ratio = _quotient(abs(one.value), abs(other.value))
    if ratio is None:
        return ""
    own, formula = stated.numeral.readings[0], " / ".join(sizes(one, other))
    if stated.numeral.percent:
        return formula if rounds(ratio * 100, own, stated.digits) else ""
    if stated.scale is not None or not _TIMES.search(sentence):
        return ""
    return formula if rounds(ratio, own, stated.digits) else ""


def _multiple(stated: Stated, one: Printed, other: Printed) -> str:
    ratio = _quotient(abs(one.value), abs(other.value))
    plain = not stated.numeral.percent and stated.scale is None and not stated.currency
    if not plain or ratio is None or not rounds(ratio, stated.numeral.readings[0], stated.digits):
        return ""
    return " / ".join(sizes(one, other))


def _of_a_row(stated: Stated, sources: Sequence[Source], sentence: str) -> Computed | None:
    """The sum or the mean of a row's values, or of one column's over the rows that are cited."""
    for numbers in _groups(sources, stated):
        total = sum((printed.value for _, printed in numbers), Decimal(0))
        shown = " + ".join(terms(*(printed for _, printed in numbers)))
        name, first = numbers[0]
        if _MEAN.search(sentence) and _is(stated, total / len(numbers), first):
            return Computed(first, name, f"({shown}) / {len(numbers)}")
        if _SUM.search(sentence) and _is(stated, total, first):
            return Computed(first, name, shown)
    return None


def _of_two_rows(stated: Stated, sources: Sequence[Source]) -> Computed | None:
    """The sum or the difference of two cited rows in one column: free cash flow, gross profit.

    Only of numbers with digits enough that they can't be met by chance.
    """
    if len(stated.numeral.text.replace(",", "").replace(".", "").strip("0")) < _DIGITS:
        return None
    for (name, one), (other, two) in itertools.combinations(sources, 2):
        if name == other or one.numeral.percent or two.numeral.percent:
            continue
        if one.years != two.years or one.months != two.months or not _fits(stated, one):
            continue
        signed, plain = terms(one, two), sizes(one, two)
        for value, formula in (
            (abs(one.value) + abs(two.value), " + ".join(plain)),
            (one.value - two.value, " - ".join(signed)),
            (abs(one.value) - abs(two.value), " - ".join(plain)),
        ):
            if _is(stated, value, one):
                return Computed(one, name, formula)
    return None


def _groups(sources: Sequence[Source], stated: Stated) -> Iterator[list[Source]]:
    rows: dict[tuple[str, str, int], list[Source]] = {}
    columns: dict[tuple[tuple[int, ...], int], list[Source]] = {}
    for name, printed in sources:
        if printed.label and not other_length(printed.months, stated.months):
            rows.setdefault((name, printed.label, printed.months), []).append((name, printed))
            columns.setdefault((printed.years, printed.months), []).append((name, printed))
    told = set(stated.years)
    for row in rows.values():
        yield from (row[:count] for count in range(len(row), 1, -1))
        own = [(name, p) for name, p in row if told & fiscal_years(p)]
        if 1 < len(own) < len(row):
            yield own
    yield from (column for column in columns.values() if len(column) > 1)


def _is(stated: Stated, value: Decimal, like: Printed | None = None) -> bool:
    own, digits = stated.numeral.readings[0], stated.digits
    if stated.numeral.percent or (like and like.numeral.percent):
        both = stated.numeral.percent and (like is None or like.numeral.percent)
        return both and rounds(abs(value), own, digits)
    if like and stated.scale is None and like.scale != 1:
        return False
    return rounds(abs(value) / (stated.scale or Decimal(1)), own, digits)


def _quotient(one: Decimal, other: Decimal) -> Decimal | None:
    try:
        return one / other
    except (DivisionByZero, InvalidOperation):
        return None


def _says_wrong_way(sentence: str, difference: Decimal, stated: Stated) -> bool:
    """Whether the only direction a sentence tells is the other one."""
    up, down = says_which_way(sentence)
    if up == down or stated.numeral.negative:
        return False
    return up if difference < 0 else down
