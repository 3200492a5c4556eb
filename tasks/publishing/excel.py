"""A computed figure's formula as Excel's: over the cells of other figures, or over plain numbers.

It is rounded as the figure is printed, so that it recomputes to the printed value.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation, Overflow, localcontext

from deskwork.tools.figures import Figure

_FUNCTIONS = {"mean": "AVERAGE", "sum": "SUM", "min": "MIN", "max": "MAX", "abs": "ABS"}
_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "^"}
_COMPUTED: dict[type[ast.operator], Callable[[Decimal, Decimal], Decimal]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_FACTORS = (2, 3, 6, 9, 12, -2, -3, -6, -9, -12)
_NEAR = Decimal("0.06")
"""How far what a formula gives may lie from the printed value: "about 200" is rounded too."""


def excel_formula(figure: Figure, cells: Mapping[str, str], figures: Mapping[str, Figure]) -> str:
    """The formula over the sheet's ``cells``, by the figures' ids; "" where it can't be told.

    What a check computed from a quote's numbers is over those numbers as they are printed.
    """
    try:
        tree = ast.parse(_plain(figure.formula), mode="eval").body
        with localcontext() as context:
            context.prec = 40
            result = _value(tree, figures)
        power = _power(result, figure)
        text = _text(tree, cells)
    except (SyntaxError, KeyError, ValueError, RecursionError, InvalidOperation, Overflow,
            ZeroDivisionError):  # fmt: skip
        return ""
    if power is None:
        return ""
    if power:
        text = f"{text}*{10**power}" if power > 0 else f"{text}/{10**-power}"
    exponent = figure.value.as_tuple().exponent
    digits = -int(exponent) - figure.scale
    return f"=ROUND({text},{digits})"


def _plain(formula: str) -> str:
    """A formula with its numbers as Python writes them."""
    return re.sub(r"(?<=\d),(?=\d{3})", "", formula).replace("^", "**").strip()


def _power(result: Decimal, figure: Figure) -> int | None:
    """The power of ten between what the formula gives and the figure's amount: 2 for percent of a
    ratio, that of the source's scale for sums of printed numbers; None where there is none.
    """
    amount = figure.amount
    if not amount or not result:
        return 0 if abs(result) < 1 and not amount else None
    for power in (0, *_FACTORS):
        if abs(result.scaleb(power) - amount) <= max(abs(amount) * _NEAR, _half(figure)):
            return power
    return None


def _half(figure: Figure) -> Decimal:
    """Half of the figure's last digit."""
    return Decimal("0.5").scaleb(int(figure.value.as_tuple().exponent) + figure.scale)


def _value(node: ast.expr, figures: Mapping[str, Figure]) -> Decimal:
    if isinstance(node, ast.Constant):
        return Decimal(str(node.value))
    if isinstance(node, ast.Name):
        return figures[node.id].amount
    if isinstance(node, ast.UnaryOp):
        inner = _value(node.operand, figures)
        return -inner if isinstance(node.op, ast.USub) else inner
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left, figures), _value(node.right, figures)
        return _COMPUTED[type(node.op)](left, right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        values = [_value(item, figures) for item in node.args]
        total = sum(values, Decimal(0))
        named = {
            "sum": total,
            "mean": total / len(values),
            "min": min(values),
            "max": max(values),
            "abs": abs(values[0]),
        }
        return named[node.func.id]
    raise ValueError(ast.dump(node))


def _text(node: ast.expr, cells: Mapping[str, str]) -> str:
    """With every bracket written: Excel binds signs and powers otherwise than Python does."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.Name):
        return cells[node.id]
    if isinstance(node, ast.UnaryOp):
        sign = "-" if isinstance(node.op, ast.USub) else ""
        return f"({sign}{_text(node.operand, cells)})"
    if isinstance(node, ast.BinOp):
        sign = _OPERATORS[type(node.op)]
        return f"({_text(node.left, cells)}{sign}{_text(node.right, cells)})"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        inner = ",".join(_text(item, cells) for item in node.args)
        return f"{_FUNCTIONS[node.func.id]}({inner})"
    raise ValueError(ast.dump(node))
