"""Whether a value stands in its quote: numbers by value and sign, dates by day, text by its words.

What a person reads in the quote must be what the record says. A doubt counts as no: the field is
then asked for again, or shown to a person.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from typing import Any

from deskwork.tools.dates import states_date
from deskwork.tools.numerals import CURRENCIES, Numeral, numerals

_NEGATIVE_WORDS = re.compile(
    r"(?i)\b(?:credit|cr|debit|dr|withdraw\w*|paid out|payment|refund|discount|rebate|loss|minus"
    r"|less|soll|gutschrift|rabatt|abzug|lastschrift|deduct\w*|charge|fee)\b"
)
_CURRENCY_WORDS = {
    "USD": r"\$|dollar",
    "EUR": r"€|euro",
    "GBP": r"£|pound|sterling",
    "JPY": r"¥|yen|円",
    "CHF": r"fr\.|franken|francs?",
    "CNY": r"¥|rmb|yuan|元",
    "INR": r"₹|rs\.?|rupee",
}
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ].*)?")


def bears_out(quote: str, value: Any, *, choice: bool = False, decimal: str = "") -> bool:
    """Whether a value of a record stands in its quote.

    ``choice`` tells that the schema lists the values: such a one is a judgement on the quote, and
    need not be its words. ``decimal`` is the page's decimal mark (`numerals.decimal_mark`).
    """
    if choice or isinstance(value, bool):
        return True
    if isinstance(value, int | float):
        wanted = Decimal(str(value))
        return any(_is_number(n, wanted, quote) for n in numerals(quote, decimal))
    text = str(value)
    if _DATE.fullmatch(text):
        return states_date(quote, text)
    return _is_currency(quote, text) or _has_words(quote, text)


def _is_number(numeral: Numeral, wanted: Decimal, quote: str) -> bool:
    if wanted > 0 and numeral.negative:
        return False
    # A statement may tell by a word or a column's name what money went out.
    if wanted < 0 and not numeral.negative and not _NEGATIVE_WORDS.search(quote):
        return False
    factors = {Decimal(1), numeral.scale}
    if numeral.percent:
        factors.add(Decimal("0.01"))
    return any(
        abs(abs(wanted) - reading * factor) <= Decimal("1e-9") * max(Decimal(1), abs(wanted))
        for reading in numeral.readings
        for factor in factors
    )


def _is_currency(quote: str, text: str) -> bool:
    if not re.fullmatch(r"[A-Z]{3}", text):
        return False
    signs = [re.escape(sign) for sign, code in CURRENCIES.items() if code == text]
    words = _CURRENCY_WORDS.get(text)
    return bool(re.search("|".join([*signs, *([words] if words else []), text]), quote, re.I))


def _has_words(quote: str, text: str) -> bool:
    """Whether every word of a text stands in the quote; runs of letters may be broken there."""
    words = _folded(text).split()
    if not words:
        return not text.strip() or text.strip() in quote
    there = _folded(quote)
    known = set(there.split())
    compact = there.replace(" ", "")
    return all(word in known for word in words) or "".join(words) in compact


def _folded(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return " ".join(re.sub(r"[^\w]+|_+", " ", plain).split())
