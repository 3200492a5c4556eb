import contextlib
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deskwork.tools.calculation import calculate, evaluate
from deskwork.tools.errors import ToolError


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("0.1 + 0.2", "0.3"),
        ("0.1 + 0.2 == 0.3", "true"),
        ("round((32765 - 31657) / 31657 * 100, 1)", "3.5"),
        ("round(2.5)", "3"),  # halves away from zero, as in reports; not to even
        ("round(-2.345, 2)", "-2.35"),
        ("12.5% * 200", "25"),
        ("100 / 50%", "200"),
        ("(1 + 2)% + 5", "5.03"),
        ("7 % 4", "3"),
        ("2 ^ 10", "1024"),
        ("sum([1, 2, 3.5]) - max(1, 2) + abs(-1)", "5.5"),
        ("mean(1, 2, 6)", "3"),
        ("growth(31657, 32765) > 3%", "true"),
        ("round(cagr(100, 121, 2), 6)", "0.1"),
        ("$5 + 3", "8"),
        ("1000000 * 1000000", "1000000000000"),
    ],
)
def test_sums(expression: str, value: str) -> None:
    result = calculate.function(expression)
    assert result.text == f"{expression} = {value}"
    assert result.data["value"] == value


@pytest.mark.parametrize(
    ("expression", "sentence"),
    [
        ("1 / 0", "division by zero"),
        ("1,577 + 3", "Write 1577 instead of 1,577"),
        ("revenue + 1", "name 'revenue' is not defined"),
        ("(1 + 2", "isn't well formed"),
        ("1)%", "isn't well formed"),
        ("", "is empty"),
        ("9**9**9", "too large"),
        ("int(10)**int(6000)", "too large"),
        ("[1] * int(10**9)", "too much memory"),
        ("sum(range(int(10**10)))", "takes longer than 2 seconds"),
        ("__import__('os').getcwd()", "Only numbers, operators and functions"),
        ("'a' * 3", "Only numbers, operators and functions"),
        ("1; 2", "Only one expression"),
        ("abs", "has no number as its result"),
    ],
)
def test_what_cant_be_computed_is_one_sentence(expression: str, sentence: str) -> None:
    with pytest.raises(ToolError, match=sentence) as caught:
        calculate.function(expression)
    assert "\n" not in str(caught.value)


@settings(max_examples=25, deadline=20_000)
@given(st.decimals(-(10**9), 10**9, places=4), st.decimals(-(10**9), 10**9, places=4))
def test_sums_and_differences_are_exact(left: Decimal, right: Decimal) -> None:
    assert evaluate(f"({left:f}) + ({right:f})") == left + right
    assert evaluate(f"({left:f}) - ({right:f})") == left - right


@settings(max_examples=60, deadline=20_000)
@given(st.text(alphabet="0123456789+-*/%^().,[] abcxsum", max_size=20))
def test_any_text_is_a_value_or_a_tool_error(expression: str) -> None:
    with contextlib.suppress(ToolError):
        assert calculate.function(expression).text.startswith(" ".join(expression.split()))
