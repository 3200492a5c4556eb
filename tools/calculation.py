"""Sums as a model writes them, computed in decimal inside a sandbox.

An expression is Python's arithmetic with a few habits of finance: ``12.5%`` is a number, ``^`` is
a power, and every literal is a decimal, so that 0.1 + 0.2 is 0.3. It runs in Monty, a Python
interpreter of its own in a separate process, without files, network or this process's memory.
There is no other way it is ever run.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from deskwork.tools.errors import ToolError
from deskwork.tools.tool import ToolResult, tool

if TYPE_CHECKING:
    from pydantic_monty import ResourceLimits

SECONDS = 2.0  # of computing; a sum of a report takes a millisecond
_LIMITS: ResourceLimits = {
    "max_feed_duration_secs": SECONDS,
    "max_memory": 64_000_000,
    "max_recursion_depth": 100,
    "max_suspensions": 10,
}
_LONGEST = 2_000

# Functions that an expression may use, beside the interpreter's own (sum, min, max, abs, ...).
_PRELUDE = """
from decimal import Decimal
def round(value, digits=0):
    half = Decimal('0.5')
    scale = Decimal(10) ** int(digits)
    shifted = value * scale
    whole = int(abs(shifted) + half)
    return Decimal(whole if shifted >= 0 else -whole) / scale
def mean(*values):
    items = list(values[0]) if len(values) == 1 and isinstance(values[0], (list, tuple)) else values
    return sum(items) / Decimal(len(items))
average = mean
def sqrt(value):
    return value ** Decimal('0.5')
def growth(old, new):
    return (new - old) / abs(old)
def cagr(first, last, periods):
    return (last / first) ** (1 / Decimal(periods)) - 1
"""

_NUMBER = re.compile(r"(?<![\w.])(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])")
_GROUPED = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\d,])")
# A percent sign is a modulo where an operand follows it.
_PERCENT = re.compile(r"\)\s*(%)(?=\s*(?:$|[-+*/),\]<>=!%]))")


@tool(repeatable=True)
def calculate(
    expression: Annotated[
        str,
        Field(description="For example: (32765 - 31657) / 31657, or round(1577 / 32765 * 100, 1)"),
    ],
) -> ToolResult:
    """Compute a sum exactly, in decimal numbers.

    Operators + - * / // % ** and comparisons; functions sum, min, max, abs, round(x, digits),
    mean, sqrt, growth(old, new), cagr(first, last, periods). 12.5% is 0.125. Write thousands
    without commas. The result is a line "EXPRESSION = VALUE".
    """
    value = _shown(evaluate(expression))
    shown = " ".join(expression.split())
    return ToolResult(f"{shown} = {value}", data={"expression": shown, "value": value})


def evaluate(expression: str) -> Any:
    """The value of an expression: a Decimal, a bool, or a list of such.

    Raises `ToolError` with one sentence for wrong syntax, unknown names, division by zero, and
    for what takes too much time or memory.
    """
    source = _decimal_source(expression)
    import pydantic_monty

    try:
        with (
            pydantic_monty.Monty(
                min_processes=1, max_processes=1, request_timeout=SECONDS * 2 + 3
            ) as pool,
            pool.checkout(limits=_LIMITS) as session,
        ):
            session.feed_run(_PRELUDE)
            return session.feed_run(source, print_callback=lambda stream, text: None)
    except pydantic_monty.MontySyntaxError as error:
        raise ToolError(f"The expression isn't well formed: {_first_line(error)}.") from None
    except pydantic_monty.MontyRuntimeError as error:
        raise ToolError(f"The sum can't be computed: {_reason(error)}.") from None
    except pydantic_monty.MontyError as error:
        raise ToolError(f"The sum was stopped: {_first_line(error)}.") from None
    except (TimeoutError, ValueError, OverflowError, ArithmeticError) as error:
        raise ToolError(f"The sum can't be computed: {_first_line(error)}.") from None


def _decimal_source(expression: str) -> str:
    """The expression with decimal literals, percentages and powers written as Python does."""
    text = expression.strip().replace("−", "-").replace("×", "*").replace("÷", "/")
    if not text:
        raise ToolError("The expression is empty.")
    if len(text) > _LONGEST:
        raise ToolError(f"The expression is longer than {_LONGEST} characters.")
    if "\n" in text or ";" in text:
        raise ToolError("Only one expression can be computed at a time.")
    if re.search(r"[\"'`\\]|__|\blambda\b|\bimport\b", text):
        raise ToolError("Only numbers, operators and functions can stand in an expression.")
    grouped = _GROUPED.search(text)
    if grouped:
        plain = grouped[0].replace(",", "")
        raise ToolError(f"Write {plain} instead of {grouped[0]}: a comma separates arguments.")
    text = re.sub(r"[$€£¥]", "", text).replace("^", "**")
    text = _NUMBER.sub(lambda match: f"Decimal('{match[0]}')", text)
    while percent := _PERCENT.search(text):
        start = _opening(text, percent.start())
        inner, rest = text[start : percent.start() + 1], text[percent.end() :]
        text = f"{text[:start]}({inner} / Decimal('100')){rest}"
    return text


def _opening(text: str, closing: int) -> int:
    """Where the bracket opens that is closed at ``closing``, with the function's name before it."""
    depth = 0
    for at in range(closing, -1, -1):
        depth += (text[at] == ")") - (text[at] == "(")
        if not depth:
            name = re.search(r"\w+$", text[:at])
            return name.start() if name else at
    raise ToolError("The expression isn't well formed: a bracket is closed that was never opened.")


def _shown(value: Any) -> str:
    """A value as text: no exponent for readable sizes, no zeros at the end of decimals."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_shown(item) for item in value) + "]"
    if isinstance(value, int) and value.bit_length() > 10_000:
        raise ToolError("The sum can't be computed: a number in it is too large.")
    if isinstance(value, (int, float)):
        value = Decimal(repr(value))
    if not isinstance(value, Decimal):
        raise ToolError("The expression has no number as its result.")
    if not value.is_finite():
        raise ToolError("The result is not a finite number.")
    if value and not -12 < value.adjusted() < 30:
        return str(value.normalize())
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[-1].rstrip(".")


def _reason(error: Any) -> str:
    inner = error.exception()
    if isinstance(inner, (ZeroDivisionError, ArithmeticError)) and "ivi" in repr(inner):
        return "division by zero"
    if "Overflow" in repr(inner):
        return "a number in it is too large"
    if isinstance(inner, TimeoutError):
        return f"it takes longer than {SECONDS:g} seconds"
    if isinstance(inner, MemoryError):
        return "it takes too much memory"
    return _first_line(inner)
