"""Whether a number of a report is what its sources print: value, scale, sign, currency, year."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from deskwork.tasks.claim_bounds import bounded, wrong_side
from deskwork.tasks.claim_computing import (
    Source,
    computed,
    other_length,
    rounds,
    says_which_way,
)
from deskwork.tasks.claim_lines import other_line
from deskwork.tasks.claim_numbers import Stated
from deskwork.tools.figures import fiscal_years
from deskwork.tools.printed import Printed, basis_in

_OUT = re.compile(
    r"(?i)\b(?:loss(?:es)?|lost|decreas\w*|declin\w*|fell|fall\w*|down|drop\w*|lower|reduc\w*"
    r"|outflows?|used|us(?:e|es)\b|spen[dt]\w*|paid|pay\w*|repaid|repay\w*|purchas\w*|acqui\w*"
    r"|capital expenditures?|capex|capital spending|repurchas\w*|buybacks?|dividends?|negative"
    r"|deficit|minus|charges?|expens\w*|costs?|invest(?:ed|ing|ments?)|contribut\w*|impair\w*"
    r"|short ?fall|benefits?|provision|less|treasury|accumulated other|unfavou?rabl\w*|disposals?"
    r"|tied up|outlays?|shrank|contract(?:ed|ion)|deduct\w*|headwind|drag|adjust\w*"
    r"|eliminat\w*|write-?\w*)\b"
)
_OUTFLOW = re.compile(
    r"(?i)\W*(?:purchases?|payments?|repayments?|repurchases?|dividends|acquisitions?|additions? to"
    r"|capital expenditures?|investments? in|distributions?|less\b|treasury)"
)
_LOSS = re.compile(
    r"(?i)^\W*(?:net |operating |total |comprehensive )*loss(?:es)?\b(?!.*\b(?:income|gain))"
)
_SAYS_LOSS = re.compile(
    r"(?i)\b(?:loss\w*|lost|los(?:e|es|ing)|deficit|negative|minus|shortfall|burn\w*|red ink"
    r"|in the red)\b"
)
_IN = re.compile(
    r"(?i)\b(?:income|gains?|benefits?|increase|profit|proceeds|earnings|provided|change|sales?"
    r"|receivables?|inventor\w+|assets|liabilit\w+)\b|, net\b"
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


def match(stated: Stated, sources: Sequence[Source], sentence: str) -> Match:
    """The source of a number, or why none of its sentence's sources bears it out."""
    shown = _shown(stated)
    near = [s for s in sources if _same_value(stated, s[1]) and not wrong_side(stated, s[1])]
    near += _points_said(stated, sources)
    problems: list[str] = []
    for name, printed in near:
        problem = contradiction(stated, printed, sentence)
        if not problem:
            return Match(printed, name)
        problems.append(problem)
    found = computed(stated, sources, sentence) or bounded(stated, sources)
    if found:
        return Match(found.printed, found.evidence, formula=found.formula)
    anyhow = None if problems else computed(replace(stated, months=frozenset()), sources, sentence)
    if anyhow:
        return Match(problem=f"{shown} {other_length(anyhow.printed.months, stated.months)}")
    if problems:
        return Match(problem=f"{shown} {problems[0]}")
    for _, printed in sources:
        if _same_digits(stated, printed):
            return Match(problem=f"{shown} has another scale than its source ({_source(printed)})")
    derive = stated.numeral.percent or stated.points
    hint = "; a computed figure is derived first" if derive and len(sources) > 1 else ""
    return Match(problem=f"{shown} does not stand in what the sentence cites{hint}")


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
        return any(rounds(size, own, stated.digits) for size in sizes)
    theirs = abs(printed.value)
    if stated.scale is None:
        return printed.scale == 1 and rounds(theirs, own, stated.digits)
    return rounds(theirs / stated.scale, own, stated.digits)


def _same_digits(stated: Stated, printed: Printed) -> bool:
    return stated.numeral.readings[0] in printed.numeral.readings and not stated.numeral.percent


def contradiction(stated: Stated, printed: Printed, sentence: str) -> str:
    """Why a number isn't what its sentence says of it, but for its value; or ""."""
    if stated.currency and printed.currency and stated.currency != printed.currency:
        both = {stated.currency, printed.currency}
        if not both <= _DOLLARS:
            return f"is in {stated.currency}, and in {printed.currency} in its source"
    if stated.numeral.negative and not printed.numeral.negative:
        return "is negative, and positive in its source"
    # A size may stand for what goes out where words say so.
    lost = printed.numeral.negative and not stated.numeral.negative
    both_ways = re.search(r"(?i)\(loss", printed.label) and _SAYS_LOSS.search(sentence)
    lost = lost and not both_ways
    if lost and not (_is_out(printed.label) or _OUT.search(_without(sentence, printed.label))):
        return f"has lost its sign: its source prints {_signed(printed)}"
    if lost and _LOSS.search(printed.label) and not _SAYS_LOSS.search(sentence):
        return f"is a loss in its source: {printed.label} {_signed(printed)}"
    if turned := _turned(printed, sentence):
        return turned
    # A percentage may be a share or a change of what its row is of.
    if not stated.numeral.percent and (line := other_line(printed.label, sentence)):
        return line
    said = basis_in(sentence)
    if said and printed.basis and said != printed.basis:
        return f"is {printed.basis} in its source, and its sentence says {said}"
    told = set(stated.years)
    if told and not printed.years and printed.alike > 1:
        return (
            f"stands in a row of {printed.alike} columns, and what is cited doesn't tell which is "
            f"{', '.join(map(str, sorted(told)))}: cite the row with its headings"
        )
    if told and printed.years and not told & fiscal_years(printed):
        wanted = ", ".join(map(str, sorted(told)))
        theirs = ", ".join(map(str, dict.fromkeys(printed.years)))
        return f"is of {theirs} in its source, not of {wanted}"
    return other_length(printed.months, stated.months)


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


def _turned(printed: Printed, sentence: str) -> str:
    """Why a change that a source tells in prose went the other way than its sentence says."""
    if not printed.lead or not printed.numeral.percent:
        return ""
    theirs, ours = says_which_way(printed.lead), says_which_way(sentence)
    if theirs[0] != theirs[1] and ours[0] != ours[1] and theirs != ours:
        return (
            f"went {'up' if theirs[0] else 'down'} in its source, and its sentence says otherwise"
        )
    return ""


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
            up, down = says_which_way(said)
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
