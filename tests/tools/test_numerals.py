"""Numbers as printed: notation, sign, scale, currency."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskwork.tools.numerals import decimal_mark, numerals


def values(text: str, decimal: str = "") -> list[Decimal]:
    return [numeral.value for numeral in numerals(text, decimal)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,577", "1577"),
        ("(1,577)", "-1577"),
        ("( 1,577 )", "-1577"),
        ("$(1,577)", "-1577"),
        ("($ 1,577)", "-1577"),
        ("-3.5%", "-3.5"),
        ("\u2212 12", "-12"),
        ("120.00-", "-120.00"),
        ("1.234.567,89", "1234567.89"),
        ("12,34,567.50", "1234567.50"),
        ("\u20ac842.6 million", "842600000.0"),
        ("5,2 Mrd. EUR", "5200000000.0"),
        ("US$5bn", "5000000000"),
        ("$1.2M", "1200000.0"),
        (".75", "0.75"),
        ("0.125", "0.125"),
        ("1'234.50", "1234.50"),
    ],
)
def test_one_number(text: str, value: str) -> None:
    assert values(text)[0] == Decimal(value)


def test_columns_side_by_side_keep_their_own_values() -> None:
    found = values("Capital spending (1,577) (1,373) (1,420)")
    assert found == [Decimal(-1577), Decimal(-1373), Decimal(-1420)]
    assert {Decimal(134), Decimal(967), Decimal(101)} <= set(values("Taxes 134 967 101"))


@pytest.mark.parametrize("text", ["2017-2018", "FY18-19", "A-12", "(see note 12)", "5 m long"])
def test_what_is_no_minus_and_no_scale(text: str) -> None:
    assert all(value >= 0 and value < 3000 for value in values(text))


def test_the_page_tells_the_notation() -> None:
    assert decimal_mark("Netto 1.234,50 USt 234,56 Summe 1.469,06") == ","
    assert decimal_mark("Net 1,234.50 tax 234.56") == "."
    assert decimal_mark("Netto 1.234") == ""
    assert values("1.234", ",") == [Decimal(1234)]
    assert values("1.234", ".") == [Decimal("1.234")]
    assert [n.readings for n in numerals("1,577")] == [(Decimal(1577), Decimal("1.577"))]


def test_currencies_and_percent() -> None:
    found = list(numerals("from \u20ac 5 to 7 CHF, up 12 percent"))
    assert [n.currency for n in found] == ["EUR", "CHF", ""]
    assert [n.percent for n in found] == [False, False, True]


@given(st.decimals(min_value=0, max_value=10**9, places=2), st.booleans())
def test_any_amount_is_read_in_either_notation(value: Decimal, minus: bool) -> None:
    english = f"{value:,.2f}"
    german = english.replace(",", "_").replace(".", ",").replace("_", ".")
    for text in (english, german):
        printed = f"({text})" if minus else text
        assert values(f"Total {printed} due") == [-value if minus else value]


@given(st.text(alphabet="0123456789.,'() -%$\u20ackmbn", max_size=40))
def test_any_text_gives_numbers_at_their_places(text: str) -> None:
    for numeral in numerals(text):
        assert text[numeral.start : numeral.end] == numeral.text
        assert numeral.readings
