"""A computed figure's formula as Excel's: over the cells of other figures, or over plain numbers.

It is rounded as the figure is printed, so that it recomputes to the printed value.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from decimal import Decimal

from deskwork.tools.arithmetic import tree_of, value_of
from deskwork.tools.figures import Figure

_FUNCTIONS = {"mean": "AVERAGE", "sum": "SUM", "min": "MIN", "max": "MAX", "abs": "ABS"}
_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "^"}
_FACTORS = (0, 2, 3, 6, 9, 12, -2, -3, -6, -9, -12)


def excel_formula(figure: Figure, cells: Mapping[str, str], figures: Mapping[str, Figure]) -> str:
    """The formula over the sheet's ``cells``, by the figures' ids; "" where it can't be told.

    What a check computed from a quote's numbers is over those numbers as they are printed.
    """
    tree = tree_of(figure.formula)
    result = value_of(figure.formula, {name: one.amount for name, one in figures.items()})
    if tree is None or result is None:
        return ""
    power = _power(result, figure)
    try:
        text = _text(tree, cells)
    except (KeyError, ValueError):
        return ""
    if power is None:
        return ""
    if power:
        text = f"{text}*{10**power}" if power > 0 else f"{text}/{10**-power}"
    return f"=ROUND({text},{-_last_digit(figure)})"


def _power(result: Decimal, figure: Figure) -> int | None:
    """The power of ten between what the formula gives and the figure's amount: 2 for percent of a
    ratio, that of the source's scale for sums of printed numbers; None where there is none.
    """
    near = Decimal("0.5").scaleb(_last_digit(figure))
    fits = (power for power in _FACTORS if abs(result.scaleb(power) - figure.amount) <= near)
    return next(fits, None)


def _last_digit(figure: Figure) -> int:
    """The power of ten of the last digit that is printed."""
    return int(figure.value.as_tuple().exponent) + figure.scale


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
