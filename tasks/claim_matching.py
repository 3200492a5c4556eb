"""Whether a number of a report is what its sources print: value, scale, sign, currency, year."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, DivisionByZero, InvalidOperation

from deskwork.tasks.claim_numbers import Stated
from deskwork.tools.figures import fiscal_years
from deskwork.tools.printed import Printed

_OUT = re.compile(
    r"(?i)\b(?:loss(?:es)?|lost|decreas\w*|declin\w*|fell|fall\w*|down|drop\w*|lower|reduc\w*"
    r"|outflows?|used|us(?:e|es)\b|spen[dt]\w*|paid|pay\w*|repaid|repay\w*|purchas\w*|acqui\w*"
    r"|capital expenditures?|capex|capital spending|repurchas\w*|buybacks?|dividends?|negative"
    r"|deficit|minus|charges?|expens\w*|costs?|invest(?:ed|ing|ments?)|contribut\w*|impair\w*"
    r"|short ?fall|benefits?|provision|less|treasury|accumulated other|unfavou?rabl\w*|disposals?"
    r"|shrank|contract(?:ed|ion)|deduct\w*|headwind|drag|adjust\w*|eliminat\w*|write-?\w*)\b"
)
_OUTFLOW = re.compile(
    r"(?i)\W*(?:purchases?|payments?|repayments?|repurchases?|dividends|acquisitions?|additions? to"
    r"|capital expenditures?|investments? in|distributions?|less\b|treasury)"
)
_IN = re.compile(
    r"(?i)\b(?:income|gains?|benefits?|increase|profit|proceeds|earnings|provided|change|sales?"
    r"|receivables?|inventor\w+|assets|liabilit\w+)\b|, net\b"
)
_CHANGE = re.compile(
    r"(?i)\b(?:ros[e]|ris\w+|grew|grow\w*|increas\w*|up|climb\w*|jump\w*|gain\w*|higher|more|decreas\w*"
    r"|declin\w*|fell|fall\w*|down|drop\w*|lower|less|fewer|chang\w*|reduc\w*|shrank|improv\w*"
    r"|widen\w*|narrow\w*|doubl\w*|slid|dip\w*)\b"
)
_DOLLARS = {"USD", "AUD", "CAD", "HKD", "NZD", "SGD", "TWD"}


@dataclass(frozen=True)
class Match:
    """A number's source: what it prints, the evidence it is in, or the sentence of a problem.

    ``formula`` is set where the number was computed from two of a row's values.
    """

    printed: Printed | None = None
    evidence: str = ""
    problem: str = ""
    formula: str = ""


Source = tuple[str, Printed]
"""An evidence's id, and a number in it."""


def match(stated: Stated, sources: Sequence[Source], sentence: str) -> Match:
    """The source of a number, or why none of its sentence's sources bears it out."""
    shown = _shown(stated)
    near = [(name, p) for name, p in sources if _same_value(stated, p)]
    near += _points_said(stated, sources)
    problems: list[str] = []
    for name, printed in near:
        problem = _problem(stated, printed, sentence)
        if not problem:
            return Match(printed, name)
        problems.append(problem)
    if computed := _computed(stated, sources, sentence):
        return computed
    if not problems and (
        computed := _computed(replace(stated, months=frozenset()), sources, sentence)
    ):
        assert computed.printed is not None
        length = other_length(computed.printed.months, stated.months)
        return Match(problem=f"{shown} {length}")
    if problems:
        return Match(problem=f"{shown} {problems[0]}")
    for _, printed in sources:
        if _same_digits(stated, printed):
            return Match(problem=f"{shown} has another scale than its source ({_source(printed)})")
    return Match(problem=f"{shown} does not stand in what the sentence cites")


def _points_said(stated: Stated, sources: Sequence[Source]) -> list[Source]:
    """Basis points that a source tells in so many words."""
    same = stated.numeral.readings
    return [(name, p) for name, p in sources if stated.points and p.numeral.readings[0] == same[0]]


def _shown(stated: Stated) -> str:
    return f"“{stated.numeral.text}{'%' if stated.numeral.percent else ''}”"


def _source(printed: Printed) -> str:
    names = {3: "thousand", 6: "million", 9: "billion"}
    power = len(str(int(printed.scale))) - 1 if printed.scale >= 1 else 0
    return " ".join(part for part in (printed.numeral.text, names.get(power, "")) if part)


def _same_value(stated: Stated, printed: Printed) -> bool:
    """Whether the sizes agree, at the precision of the sentence."""
    own = stated.numeral.readings[0]
    if stated.numeral.percent or printed.numeral.percent:
        if not stated.numeral.percent and stated.scale is not None:
            return False
        theirs = abs(printed.numeral.readings[0])
        sizes = [theirs]
        if stated.numeral.percent and not printed.numeral.percent:
            sizes = [theirs * 100] + ([theirs] if printed.scale == 1 else [])
        return any(_rounds(size, own, stated.digits) for size in sizes)
    theirs = abs(printed.value)
    if stated.scale is None:
        return printed.scale == 1 and _rounds(theirs, own, stated.digits)
    return _rounds(theirs / stated.scale, own, stated.digits)


def _rounds(value: Decimal, wanted: Decimal, digits: int) -> bool:
    """Whether a value is ``wanted`` when it is written with so many digits behind the point.

    Something must be left of the value: 1 is no rounding of 0.6.
    """
    if value == wanted:
        return True
    if abs(value - wanted) > Decimal("0.5").scaleb(-digits):
        return False
    return digits > 0 or abs(wanted) >= 10


def _same_digits(stated: Stated, printed: Printed) -> bool:
    return stated.numeral.readings[0] in printed.numeral.readings and not stated.numeral.percent


def _problem(stated: Stated, printed: Printed, sentence: str) -> str:
    if stated.currency and printed.currency and stated.currency != printed.currency:
        both = {stated.currency, printed.currency}
        if not both <= _DOLLARS:
            return f"is in {stated.currency}, and in {printed.currency} in its source"
    if stated.numeral.negative and not printed.numeral.negative:
        return "is negative, and positive in its source"
    # A size may stand for what goes out where words say so.
    lost = printed.numeral.negative and not stated.numeral.negative
    if lost and not (_is_out(printed.label) or _OUT.search(_without(sentence, printed.label))):
        return f"has lost its sign: its source prints {_signed(printed)}"
    told = set(stated.years)
    if told and not printed.years and printed.alike > 1:
        return (
            f"stands in a row of {printed.alike} columns, and what is cited doesn't tell which is "
            f"{', '.join(map(str, sorted(told)))}: cite the row with its headings"
        )
    if told and printed.years and not told & _years(printed):
        wanted = ", ".join(map(str, sorted(told)))
        theirs = ", ".join(map(str, dict.fromkeys(printed.years)))
        return f"is of {theirs} in its source, not of {wanted}"
    return other_length(printed.months, stated.months)


def other_length(months: int, told: Collection[int]) -> str:
    """Why a figure of so many months isn't what a sentence of these lengths speaks of; or ""."""
    if not months or not told or months in told:
        return ""
    names = {3: "a quarter", 6: "six months", 9: "nine months", 12: "a year"}
    wanted = " or ".join(names[length] for length in sorted(told))
    return f"is of {names[months]} in its source, and its sentence speaks of {wanted}"


def _is_out(label: str) -> bool:
    """Whether a row is of nothing but what goes out or is lost."""
    return bool(_OUTFLOW.match(label)) or (bool(_OUT.search(label)) and not _IN.search(label))


def _without(sentence: str, label: str) -> str:
    """The sentence without the name of the row: "Other expense (income)" tells no direction."""
    words = {word.casefold() for word in re.findall(r"[A-Za-z]+", label)}
    kept = (w for w in re.findall(r"[A-Za-z]+", sentence) if w.casefold() not in words)
    return " ".join(kept)


def _signed(printed: Printed) -> str:
    return f"({printed.numeral.text})"


def _years(printed: Printed) -> set[int]:
    return fiscal_years(printed)


def _computed(stated: Stated, sources: Sequence[Source], sentence: str) -> Match | None:
    """A change between two values of one row, where the sentence speaks of a change."""
    if not _CHANGE.search(sentence):
        return None
    for name, new, old in _pairs(sources):
        told = set(stated.years)
        if told and new.years and not told & (_years(new) | _years(old)):
            continue
        if other_length(new.months, stated.months):
            continue
        formula = _change(stated, new, old, sentence)
        if formula:
            return Match(new, name, formula=formula)
    return None


def _pairs(sources: Sequence[Source]) -> Iterator[tuple[str, Printed, Printed]]:
    """Two numbers of one row, the later year first; without years the first as the later."""
    for at, (name, first) in enumerate(sources):
        for other, second in sources[at + 1 :]:
            if other != name or first.label != second.label or not first.label:
                continue
            if first.months != second.months:
                continue
            if first.years and second.years and min(second.years) > max(first.years):
                yield name, second, first
            else:
                yield name, first, second


def _change(stated: Stated, new: Printed, old: Printed, sentence: str) -> str:
    own, digits = stated.numeral.readings[0], stated.digits
    difference = new.value - old.value
    both_out = new.numeral.negative and old.numeral.negative
    if _says_wrong_way(sentence, -difference if both_out else difference, stated):
        return ""
    a, b = new.numeral.text, old.numeral.text
    if stated.points:
        return f"({a} - {b}) * 100" if _rounds(abs(difference) * 100, own, digits) else ""
    if stated.numeral.percent and not new.numeral.percent:
        try:
            percent = abs(difference / abs(old.value) * 100)
        except (DivisionByZero, InvalidOperation):
            return ""
        return f"({a} - {b}) / {b}" if _rounds(percent, own, digits) else ""
    if stated.numeral.percent or new.numeral.percent:
        return f"{a} - {b}" if _rounds(abs(difference), own, digits) else ""
    if stated.scale is None and new.scale != 1:
        return ""
    scale = stated.scale or Decimal(1)
    return f"{a} - {b}" if _rounds(abs(difference) / scale, own, digits) else ""


def wrong_direction(matches: Sequence[Match], sentence: str) -> str:
    """Why the direction a sentence tells isn't that of two values of one row it states; or ""."""
    rows = [m for m in matches if m.printed and not m.formula and m.printed.years]
    for at, one in enumerate(rows):
        for other in rows[at + 1 :]:
            first, second = one.printed, other.printed
            assert first is not None
            assert second is not None
            if one.evidence != other.evidence or not first.label or first.label != second.label:
                continue
            if first.years == second.years or first.numeral.percent != second.numeral.percent:
                continue
            if first.months != second.months:
                continue
            # The row's own name tells no direction: "less: depreciation", "net gains".
            said = _without(sentence, first.label)
            up, down = bool(_UP.search(said)), bool(_DOWN.search(said))
            if up == down:
                continue
            old, new = sorted((first, second), key=lambda printed: max(printed.years))
            grew = abs(new.value) - abs(old.value) if new.value < 0 > old.value else (
                new.value - old.value
            )  # fmt: skip
            if (up and grew < 0) or (down and grew > 0):
                return (
                    f"it says the wrong direction: {old.numeral.text} in {max(old.years)}, "
                    f"{new.numeral.text} in {max(new.years)}"
                )
    return ""


_UP = re.compile(
    r"(?i)\b(?:ros[e]|grew|increas\w*|up|climb\w*|jump\w*|gain\w*|higher|more|expand\w*|widen\w*"
    r"|improv\w*)\b"
)
_DOWN = re.compile(
    r"(?i)\b(?:decreas\w*|declin\w*|fell|down|drop\w*|lower|less|reduc\w*|shrank|slid|dip\w*"
    r"|narrow\w*|contract(?:ed|ion))\b"
)


def _says_wrong_way(sentence: str, difference: Decimal, stated: Stated) -> bool:
    """Whether the only direction a sentence tells is the other one."""
    up, down = bool(_UP.search(sentence)), bool(_DOWN.search(sentence))
    if up == down or stated.numeral.negative:
        return False
    return up if difference < 0 else down
