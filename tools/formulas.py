"""Formulas over figures: computed by code, in decimal, with their units.

``(F1a2b3c4d - F5e6f7a8b) / F5e6f7a8b`` is computed from the figures' amounts, so that thousands
and millions mix without harm. Adding dollars to euros, or shares to dollars, is refused.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, DivisionByZero, InvalidOperation, Overflow, localcontext

from deskwork.tools.errors import ToolError
from deskwork.tools.figures import SCALES, Figure, clean_label, figure_id

FIGURE_ID = re.compile(r"\bF[0-9a-f]{8}\b")
_FUNCTIONS = ("sum", "mean", "min", "max", "abs")
_LITERALS = frozenset([*range(1, 13), 52, 100, 360, 365, 1_000, 0.5])
"""Numbers that a formula may hold beside figures: counts of periods, percent, days of a year."""
_LONGEST = 1_000
_DIGITS = {"%": 1, "x": 2, "money/share": 2}
"""Digits behind the point where nothing else is asked for; 0 for other units."""

Dimension = tuple[tuple[str, int], ...]
"""Units with their powers, sorted; () for a plain number."""


@dataclass(frozen=True)
class _Term:
    value: Decimal
    dimension: Dimension | None  # None for a literal, which may stand for anything


@dataclass(frozen=True)
class Wanted:
    """What a model says of a derived figure. ``unit`` "%" turns a ratio into percent; ``scale`` is
    that of the first money in the formula where it is left out.
    """

    label: str
    unit: str = ""
    scale: str = ""
    digits: int | None = None
    period_start: str = ""
    period_end: str = ""


def derive(formula: str, find: Callable[[str], Figure | None], wanted: Wanted) -> Figure:
    """The figure that a formula gives. Raises `ToolError` for a wrong formula or mixed units.

    ``find`` gives a figure by its id, or None.
    """
    names = tuple(dict.fromkeys(FIGURE_ID.findall(formula)))
    if not names:
        raise ToolError(
            f"The formula {formula!r} uses no figure.", "Write figures by their ids, F1a2b3c4d."
        )
    figures: dict[str, Figure] = {}
    for name in names:
        figure = find(name)
        if figure is None:
            raise ToolError(f"There is no figure {name} in this job.", "Bind it first.")
        figures[name] = figure
    result = _evaluate(formula, figures)
    return _figure(result, formula, figures, wanted)


def _figure(result: _Term, formula: str, figures: dict[str, Figure], wanted: Wanted) -> Figure:
    unit, names = wanted.unit, tuple(figures)
    own_unit, currency = _unit_of(result.dimension or ())
    plain = own_unit == ""
    if unit == "%" and plain:
        value = result.value * 100
    elif unit in ("", "x") and plain:
        value, unit = result.value, unit or "x"
    elif not unit or unit == own_unit or (own_unit == "%" and unit == "%"):
        value, unit = result.value, own_unit
    else:
        raise ToolError(
            f"The formula {formula!r} gives {own_unit or 'a plain number'}, not {unit}.",
            "Leave the unit out, or mend the formula.",
        )
    power = SCALES.get(wanted.scale.lower()) if wanted.scale else None
    if wanted.scale and power is None:
        raise ToolError(f"{wanted.scale!r} is no scale.", f"Scales: {', '.join(SCALES)}.")
    if power is None:
        same = (f.scale for f in figures.values() if f.unit == unit and f.currency == currency)
        power = next(same, 0)
    places = _DIGITS.get(unit, 0) if wanted.digits is None else wanted.digits
    first = figures[names[0]]
    shown = value.scaleb(-power)
    rounded = round(shown, places) if places else shown.to_integral_value()
    return Figure(
        id=figure_id(f"{formula}\n{wanted.label}\n{unit}\n{power}\n{places}"),
        label=clean_label(wanted.label),
        value=rounded,
        unit=unit,
        scale=power,
        currency=currency,
        period_start=wanted.period_start or first.period_start,
        period_end=wanted.period_end or max(figure.period_end for figure in figures.values()),
        basis=first.basis if len({f.basis for f in figures.values()}) == 1 else "",
        status="derived",
        evidence=tuple(dict.fromkeys(e for f in figures.values() for e in f.evidence)),
        formula=formula,
        inputs=names,
    )


def _unit_of(dimension: Dimension) -> tuple[str, str]:
    """(unit, currency) of a result."""
    powers = dict(dimension)
    money = [name for name in powers if name.isupper() and len(name) == 3]
    if not powers:
        return "", ""
    if len(money) == 1 and powers[money[0]] == 1:
        rest = {name: power for name, power in powers.items() if name not in money}
        if not rest:
            return "money", money[0]
        if rest == {"shares": -1}:
            return "money/share", money[0]
    if len(powers) == 1 and set(powers.values()) == {1}:
        return next(iter(powers)), ""
    shown = " · ".join(f"{name}^{power}" for name, power in dimension)
    return shown, ""


def _dimension(figure: Figure, only: str = "") -> Dimension:
    money = figure.currency or only or "money"
    if figure.unit == "money/share":
        return ((money, 1), ("shares", -1))
    if figure.unit == "money":
        return ((money, 1),)
    if figure.unit in ("x", ""):
        return ()
    return ((figure.unit, 1),)


def _evaluate(formula: str, figures: dict[str, Figure]) -> _Term:
    if len(formula) > _LONGEST:
        raise ToolError(f"The formula is longer than {_LONGEST:,} characters.")
    try:
        tree = ast.parse(formula.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError) as error:
        raise ToolError(f"The formula {formula!r} can't be read: {error}.") from None
    with localcontext() as context:
        context.prec = 40
        try:
            return _term(tree.body, figures)
        except (DivisionByZero, InvalidOperation, Overflow, ZeroDivisionError):
            raise ToolError(f"The formula {formula!r} can't be computed (a zero below?).") from None
        except RecursionError:
            raise ToolError("The formula is too deeply nested.") from None


def _term(node: ast.expr, figures: dict[str, Figure]) -> _Term:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        if node.value not in _LITERALS:
            raise ToolError(
                f"A formula can't hold the number {node.value!r}.",
                "Every amount is a bound figure; numbers are for counts and for 100.",
            )
        return _Term(Decimal(str(node.value)), None)
    if isinstance(node, ast.Name) and node.id in figures:
        figure = figures[node.id]
        # Rows of one statement often bear the currency's sign on the first and the last alone.
        currencies = {one.currency for one in figures.values() if one.currency}
        only = next(iter(currencies)) if len(currencies) == 1 else ""
        return _Term(figure.amount, _dimension(figure, only))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        inner = _term(node.operand, figures)
        return _Term(-inner.value if isinstance(node.op, ast.USub) else inner.value,
                     inner.dimension)  # fmt: skip
    if isinstance(node, ast.BinOp):
        return _operation(node.op, _term(node.left, figures), _term(node.right, figures))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        return _function(node.func.id, [_term(item, figures) for item in node.args])
    raise ToolError(
        f"A formula can't hold {ast.unparse(node)!r}.",
        f"It takes figures' ids, numbers, + - * / ** and {', '.join(_FUNCTIONS)}.",
    )


def _operation(operator: ast.operator, left: _Term, right: _Term) -> _Term:
    if isinstance(operator, ast.Add | ast.Sub):
        minus = isinstance(operator, ast.Sub)
        literal = next((t.value for t in (left, right) if t.dimension is None), None)
        if literal not in (None, Decimal(1)) and (left.dimension, right.dimension) != (None, None):
            raise ToolError(
                f"{literal} can't be added to a figure or taken from it.", "Only 1 can."
            )
        value = left.value - right.value if minus else left.value + right.value
        return _Term(value, _same(left, right))
    if isinstance(operator, ast.Mult | ast.Div):
        over = isinstance(operator, ast.Div)
        value = left.value / right.value if over else left.value * right.value
        if left.dimension is None and right.dimension is None:
            return _Term(value, None)
        return _Term(value, _combined(left, right, -1 if over else 1))
    if isinstance(operator, ast.Pow) and right.dimension is None:
        if left.dimension:
            raise ToolError("Only a ratio can be raised to a power.")
        if abs(right.value) > 100:
            raise ToolError("A power over 100 is not computed.")
        return _Term(left.value**right.value, left.dimension)
    raise ToolError("A formula takes + - * / and ** alone.")


def _same(left: _Term, right: _Term) -> Dimension | None:
    if left.dimension is None:
        return right.dimension
    if right.dimension is None or left.dimension == right.dimension:
        return left.dimension
    raise ToolError(
        f"{_shown(left)} and {_shown(right)} can't be added or subtracted.",
        "Convert them first, with a bound rate.",
    )


def _combined(left: _Term, right: _Term, sign: int) -> Dimension:
    powers = Counter(dict(left.dimension or ()))
    for name, power in right.dimension or ():
        powers[name] += sign * power
    return tuple(sorted((name, power) for name, power in powers.items() if power))


def _function(name: str, terms: list[_Term]) -> _Term:
    if name not in _FUNCTIONS or not terms:
        raise ToolError(f"A formula has no function {name!r}.", f"It has {', '.join(_FUNCTIONS)}.")
    dimension = terms[0].dimension
    for term in terms[1:]:
        dimension = _same(_Term(Decimal(0), dimension), term)
    values = [term.value for term in terms]
    if name == "abs":
        return _Term(abs(values[0]), dimension)
    if name in ("min", "max"):
        return _Term(min(values) if name == "min" else max(values), dimension)
    total = sum(values, Decimal(0))
    return _Term(total / len(values) if name == "mean" else total, dimension)


def _shown(term: _Term) -> str:
    return " ".join(name for name, _ in term.dimension or ()) or "a plain number"
