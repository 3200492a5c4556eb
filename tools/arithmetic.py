"""The value of a formula: over named amounts, or over numbers as they are printed (``8,426``).

It takes + - * / ** (also ``^``), signs, brackets, and sum, mean, min, max and abs.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from decimal import Decimal, DecimalException, localcontext

_COMPUTED: dict[type[ast.operator], Callable[[Decimal, Decimal], Decimal]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


def tree_of(formula: str) -> ast.expr | None:
    """A formula's parts as Python reads them; None where it can't be read."""
    plain = re.sub(r"(?<=\d),(?=\d{3})", "", formula).replace("^", "**").strip()
    try:
        return ast.parse(plain, mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return None


def value_of(formula: str, amounts: Mapping[str, Decimal]) -> Decimal | None:
    """What a formula gives; None where it can't be computed."""
    tree = tree_of(formula)
    try:
        with localcontext() as context:
            context.prec = 40
            return None if tree is None else _value(tree, amounts)
    except (DecimalException, ZeroDivisionError, KeyError, ValueError, RecursionError):
        return None


def _value(node: ast.expr, amounts: Mapping[str, Decimal]) -> Decimal:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return Decimal(str(node.value))
    if isinstance(node, ast.Name):
        return amounts[node.id]
    if isinstance(node, ast.UnaryOp):
        inner = _value(node.operand, amounts)
        return -inner if isinstance(node.op, ast.USub) else inner
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left, amounts), _value(node.right, amounts)
        return _COMPUTED[type(node.op)](left, right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        values = [_value(item, amounts) for item in node.args]
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
