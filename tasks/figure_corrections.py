"""Corrections of figures: which figures one is of, what follows from it, and where it must be told.

A correction holds for the place it was made at (the evidence and the number that stands there), and
for the same thing with the same value from another place. What is computed from a corrected figure
is computed anew. In the text, numbers are put right where that can be done by code; what can't be
is marked, for a person to mend the sentence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as Collection
from dataclasses import replace
from decimal import Decimal

from deskwork.tasks.claim_bound import FIGURE
from deskwork.tasks.claims import Claim
from deskwork.tasks.review import Review
from deskwork.tasks.sentences import behind, quotes_in
from deskwork.tools.errors import ToolError, WrongUse
from deskwork.tools.figures import SCALES, Figure
from deskwork.tools.formulas import Wanted, derive

_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?")
_DIGITS = 18
"""Digits of a number, at most: more are a slip of the hand."""
_TELLING = 3
"""Digits from which on the same number is the same thing."""
_POWERS = (0, 3, 6, 9, 12, -3, -6, -9, -12, 2, -2)


def figure_correction(figure: Figure, value: str, by: str, note: str, at: str) -> Review:
    """A correction of a figure's value, in the figure's own scale. Raises `WrongUse`."""
    text = value.strip()
    if not _NUMBER.fullmatch(text) or sum(letter.isdigit() for letter in text) > _DIGITS:
        raise WrongUse(
            f"{value!r} is no number that a figure can have.",
            f"Give it in plain digits, such as 1,234.5; the figure is {figure.printed()}.",
        )
    number = Decimal(text.replace(",", ""))
    if figure.value < 0 < number and not text.startswith("+"):
        raise WrongUse(
            f"{value} has another sign than the figure, {figure.printed()}.",
            f"Give -{value}, or +{value} if the sign is to change.",
        )
    return Review(
        what="figure", by=by, at=at, note=note, before=str(figure.value), after=str(number),
        label=figure.label, period_end=figure.period_end, unit=figure.unit,
        evidence="" if figure.formula else next(iter(figure.evidence), ""),
        scale=str(figure.scale),
    )  # fmt: skip


def corrected_figures(
    figures: Mapping[str, Figure], reviews: Sequence[Review]
) -> dict[str, Figure]:
    """The figures with their corrections, and those computed from them.

    A corrected one's ``vintage`` tells every value that it had. Done twice, it changes nothing.
    """
    changed = dict(figures)
    for review in reviews:
        if review.what != "figure":
            continue
        for name, figure in changed.items():
            if _is_of(review, figure, figures[name]):
                changed[name] = _corrected(figure, review)
    return _recomputed(changed, figures)


def amounts(review: Review, scale: int) -> tuple[Decimal, Decimal]:
    """(before, after) of a figure's correction in single units; ``scale`` where it tells none."""
    power = int(review.scale) if review.scale else scale
    return Decimal(review.before).scaleb(power), Decimal(review.after).scaleb(power)


def _is_of(review: Review, figure: Figure, original: Figure) -> bool:
    year = review.period_end[:4]
    if figure.unit != review.unit and {figure.unit, review.unit} != {"", "money"}:
        return False
    if year and figure.period_end and figure.period_end[:4] != year:
        return False
    known = {figure.amount, original.amount}
    if not known & set(amounts(review, figure.scale)):
        return False
    same_place = bool(review.evidence) and review.evidence in figure.evidence
    return (same_place and not figure.formula) or figure.label == review.label


def _corrected(figure: Figure, review: Review) -> Figure:
    before, after = amounts(review, figure.scale)
    was, now = (replace(figure, value=_shown(a.scaleb(-figure.scale))) for a in (before, after))
    step = f"from {was.printed()} to {now.printed()}" + (f" by {review.by}" if review.by else "")
    step += (f" on {review.at}" if review.at else "") + (f": {review.note}" if review.note else "")
    if step in figure.vintage:
        return figure
    if figure.status == "corrected":
        told = f"{figure.vintage}; then {step}"
    else:
        told = "; ".join(part for part in (figure.vintage, f"corrected {step}") if part)
    return replace(now, status="corrected", vintage=told)


def _shown(value: Decimal) -> Decimal:
    """Without a power of ten in its notation."""
    return Decimal(f"{value:f}")


def _recomputed(changed: dict[str, Figure], before: Mapping[str, Figure]) -> dict[str, Figure]:
    """The figures with those computed anew whose inputs have changed, in as many rounds as the
    chains of formulas are long.
    """
    for _ in range(len(changed)):
        again = {
            name: anew
            for name, figure in changed.items()
            if figure.inputs
            and figure.status != "corrected"
            and any(n in changed and changed[n].amount != before[n].amount for n in figure.inputs)
            and (anew := _derived(figure, changed, before[name])) != figure
        }
        if not again:
            break
        changed |= again
    return changed


def _derived(figure: Figure, figures: Mapping[str, Figure], before: Figure) -> Figure:
    names = {power: name for name, power in SCALES.items()}
    digits = max(0, -int(figure.value.as_tuple().exponent))
    wanted = Wanted(figure.label, figure.unit, names.get(figure.scale, ""), digits)
    try:
        value = derive(figure.formula, figures.get, wanted).value
    except ToolError as error:
        return replace(figure, vintage=f"could not be computed anew: {error.message}")
    if value == before.value:
        return replace(figure, value=value)
    return replace(figure, value=value, vintage=f"computed anew, before {before.printed()}")


def restated(
    claim: Claim, before: Mapping[str, Figure], after: Mapping[str, Figure]
) -> tuple[Claim, str]:
    """(the claim, its text as it is to stand) once figures have changed."""
    changed = {name for name in after if name in before and after[name].value != before[name].value}
    if claim.status == "corrected" or not changed:
        return claim, claim.text
    text, places = claim.text, list[tuple[int, int, str]]()
    problems = list[str]()
    for start, end, name in sorted(claim.places, reverse=True):
        new = text[start:end]
        if name in changed:
            put = _literal(new, before[name], after[name])
            if put is None:
                problems.append(_told(before[name], after[name]))
            else:
                new = put
        grown = len(new) - (end - start)
        places = [
            (start, start + len(new), name),
            *((a + grown, b + grown, n) for a, b, n in places),
        ]
        text = text[:start] + new + text[end:]
    problems += _doubts(claim, before, after, changed)
    for name in _quoted(claim, before, {n for n in changed if not after[n].formula}):
        shown = f"a reviewer corrected {before[name].printed()} to {after[name].printed()}"
        text = behind(text, f"({shown})")
    status = claim.status
    if status == "supported" and (problems or text != claim.text):
        status = "unsupported" if problems else "corrected"
    told = "; ".join(dict.fromkeys(part for part in (claim.problem, *problems) if part))
    return replace(claim, text=text, status=status, problem=told, places=tuple(places)), text


def _literal(text: str, before: Figure, after: Figure) -> str | None:
    """A number of the text put right, in the scale and with the digits that it is printed with."""
    try:
        stands = Decimal(text.replace(",", ""))
    except ArithmeticError:
        return None
    if (before.value < 0) != (after.value < 0):
        return None
    digits = max(0, -int(stands.as_tuple().exponent))
    for power in _POWERS:
        size = abs(before.value).scaleb(power)
        if size == stands:
            return f"{_shown(abs(after.value).scaleb(power)):,}"
        if abs(size - stands) <= Decimal("0.5").scaleb(-digits) and stands:
            return f"{round(_shown(abs(after.value).scaleb(power)), digits):,}"
    return None


def _told(before: Figure, after: Figure) -> str:
    return (
        f"a reviewer corrected {before.printed()} to {after.printed()}, and its words may not fit"
    )


def _doubts(
    claim: Claim, before: Mapping[str, Figure], after: Mapping[str, Figure], changed: set[str]
) -> list[str]:
    """Why a sentence may be wrong now, though none of its own numbers was corrected."""
    bound = {name for name, _ in FIGURE.findall(claim.text)}
    placed = {name for _, _, name in claim.places}
    corrected = [name for name in sorted(changed) if after[name].status == "corrected"]
    problems = []
    for name in claim.figures:
        figure = before.get(name)
        if figure is None:
            continue
        if name in bound & changed and (figure.value < 0) != (after[name].value < 0):
            problems.append(_told(figure, after[name]))
        for other in corrected if name in placed - changed else ():
            was = before[other]
            size = f"{abs(was.value):,}"
            numbers = re.findall(r"\d[\d,.]*\d|\d", figure.formula)
            shared = set(figure.evidence) & set(was.evidence)
            if shared and not figure.inputs and size in numbers:
                problems.append(
                    f"{figure.printed()} was computed from {was.printed()}, which a reviewer "
                    f"corrected to {after[other].printed()}"
                )
            elif _same_thing(figure, was):
                problems.append(
                    f"it states {figure.printed()}, which a reviewer corrected elsewhere to "
                    f"{after[other].printed()}"
                )
    return problems


def _same_thing(one: Figure, other: Figure) -> bool:
    """Whether two figures have the same amount and may be of the same period."""
    periods = {figure.period_end[:4] for figure in (one, other) if figure.period_end}
    same = (one.amount, one.unit) == (other.amount, other.unit)
    return same and len(periods) < 2 and not one.formula


def _quoted(claim: Claim, before: Mapping[str, Figure], changed: Collection[str]) -> list[str]:
    """Corrected figures that stand in the sentence's quotations alone, which stay word for word."""
    told = {name for _, _, name in claim.places} | {n for n, _ in FIGURE.findall(claim.text)}
    spans = quotes_in(claim.text)
    found: dict[str, str] = {}
    for name in sorted(changed - told):
        at = _places(claim.text, before[name])
        inside = any(start <= place < end for place in at for start, end in spans)
        if name in claim.figures or (inside and not _of_another(claim, before, before[name])):
            found.setdefault(before[name].printed(), name)
    return list(found.values())


def _places(text: str, figure: Figure) -> list[int]:
    """Where a figure's number stands in a text; a number of few digits may be any other."""
    plain = f"{_shown(abs(figure.value))}"
    if len(plain.replace(".", "").strip("0")) < _TELLING:
        return []
    forms = "|".join(re.escape(form) for form in {plain, f"{_shown(abs(figure.value)):,}"})
    return [m.start() for m in re.finditer(rf"(?<![\d.,])(?:{forms})(?!\d|[.,]\d)", text)]


def _of_another(claim: Claim, before: Mapping[str, Figure], figure: Figure) -> bool:
    """Whether the number is that of another figure which the sentence states."""
    others = (before[name] for name in claim.figures if name in before)
    return any(abs(other.value) == abs(figure.value) for other in others)
