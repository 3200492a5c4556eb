"""Whether a value stands in its quote: numbers by value and sign, dates by day, text by its words.

What a person reads in the quote must be what the record says. A doubt counts as no: the field is
then asked for again, or shown to a person.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from deskwork.tools.dates import date_order, states_date
from deskwork.tools.numerals import CURRENCIES, Numeral, decimal_mark, numerals

_LONGEST = 300
"""Characters of a quote for one value, where the value itself isn't as long."""
_OUT = re.compile(
    r"(?i)\b(?:credit|cr|debit|dr|withdraw\w*|refund\w*|discount|rebate|loss|minus|soll|gutschrift"
    r"|rabatt|abzug|lastschrift|avoir|remise)\b"
)
_RATE = re.compile(
    r"(?i)percent|pct|rate|ratio|share|margin|yield|growth|change|quote|satz|taux|tasa|tipo|aliquota"
    r"|weight|%"
)
_SCALED = re.compile(r"(?i)thousand|million|billion|trillion|tsd|mio|mrd|mn\b|bn\b|in_[kmb]\b|000")
_NEGATION = re.compile(
    r"(?i)\b(?:not|no|non|never|none|nein|nicht|kein\w*|pas|aucun\w*|nie|sin|un(?:paid|signed|checked"
    r"|verified)|false|n)\b|[☐✗✘否未]"
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


@dataclass(frozen=True)
class Field:
    """What a schema says of a value's field: its name and description, and the values it lists."""

    name: str = ""
    described: str = ""
    choices: tuple[Any, ...] = ()

    @property
    def words(self) -> str:
        """Name and description, to be looked through."""
        return f"{self.name} {self.described}"


@dataclass(frozen=True)
class Notation:
    """How a page writes: its decimal mark, and the order of day and month; "" if it tells none."""

    decimal: str = ""
    order: str = ""

    @classmethod
    def of(cls, text: str) -> Notation:
        """The notation of a page's text."""
        return cls(decimal_mark(text), date_order(text))


_ANY = Field()
_UNKNOWN = Notation()


def doubt(quote: str, value: Any, field: Field = _ANY, notation: Notation = _UNKNOWN) -> str:
    """Why a value doesn't stand in its quote, as the rest of a sentence; "" where it does."""
    if len(quote) > max(_LONGEST, 3 * len(str(value))):
        return f"has a quote of {len(quote)} characters, too long to tell which words bear it out"
    if isinstance(value, bool):
        stands = bool(_NEGATION.search(quote)) is not value
    elif field.choices:
        stands = _is_choice(quote, value, field.choices)
    elif isinstance(value, int | float):
        wanted = Decimal(str(value))
        stands = any(_is_number(n, wanted, quote, field) for n in numerals(quote, notation.decimal))
    elif _DATE.fullmatch(str(value)):
        if states_date(quote, str(value), notation.order) is None:
            return "is one of two readings of its quote (day and month can be swapped)"
        stands = bool(states_date(quote, str(value), notation.order))
    else:
        stands = _is_currency(quote, str(value)) or _has_text(quote, str(value))
    return "" if stands else "does not stand in its quote"


def _is_choice(quote: str, value: Any, choices: tuple[Any, ...]) -> bool:
    """A listed value is a judgement, unless the quote names another one and not this."""
    named = [c for c in choices if _has_text(quote, str(c)) or _is_currency(quote, str(c))]
    return not named or value in named


def _is_number(numeral: Numeral, wanted: Decimal, quote: str, field: Field) -> bool:
    if wanted > 0 and numeral.negative:
        return False
    # A statement may tell by a word what money went out.
    if wanted < 0 and not numeral.negative and not _OUT.search(quote):
        return False
    factors = {numeral.scale}
    if numeral.scale != 1 and _SCALED.search(field.words):
        factors.add(Decimal(1))
    if numeral.percent:
        if field.name and not _RATE.search(field.words):
            return False
        factors.add(Decimal("0.01"))
    return any(
        abs(wanted) == reading * factor for reading in numeral.readings for factor in factors
    )


def _is_currency(quote: str, text: str) -> bool:
    if not re.fullmatch(r"[A-Z]{3}", text):
        return False
    signs = [re.escape(sign) for sign, code in CURRENCIES.items() if code == text]
    words = _CURRENCY_WORDS.get(text)
    return bool(re.search("|".join([*signs, *([words] if words else []), text]), quote, re.I))


def _has_text(quote: str, text: str) -> bool:
    """Whether a text stands in the quote: its words in their order, and whole.

    White space and case don't count; nor does punctuation between words of letters. In what holds
    digits (numbers of documents, accounts) every sign counts.
    """
    wanted, there = _plain(text), _plain(quote)
    if not wanted:
        return True
    if any(letter.isdigit() for letter in wanted):
        return _has_identifier(there, wanted)
    words, known = _words(wanted), _words(there)
    if not words:
        return wanted in there
    for at in range(len(known) - len(words) + 1):
        if [word for word, _ in known[at : at + len(words)]] == [word for word, _ in words]:
            end = known[at + len(words) - 1][1]
            # What stands before a colon is a label, unless nothing follows it.
            if not re.match(r"\s*[:：]\s*\S", there[end:]):
                return True
    return _is_in_script_without_spaces(wanted) and wanted in there


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKD", text.casefold())
    kept = "".join(letter for letter in folded if not unicodedata.combining(letter))
    return re.sub(r"[\u2010-\u2015\u2212]", "-", " ".join(kept.split()))


def _words(text: str) -> list[tuple[str, int]]:
    """Words of letters with where they end; points inside of abbreviations are dropped."""
    pattern = re.compile(r"(?:[^\W\d_]\.){2,}(?![^\W\d_])|[^\W_]+")
    return [(match.group().replace(".", ""), match.end()) for match in pattern.finditer(text)]


def _has_identifier(there: str, wanted: str) -> bool:
    squeezed, places = "", list[int]()
    for at, letter in enumerate(there):
        if not letter.isspace():
            squeezed += letter
            places.append(at)
    compact = re.sub(r"\s", "", wanted).strip(".,;:")
    start = squeezed.find(compact)
    while start >= 0:
        first, last = places[start], places[start + len(compact) - 1]
        if _is_whole(there, first, last, wanted):
            return True
        start = squeezed.find(compact, start + 1)
    return False


def _is_whole(text: str, first: int, last: int, wanted: str) -> bool:
    """Whether neither end cuts a word, a number, or a number written in groups."""
    before, after = text[:first], text[last + 1 :]
    if text[first].isalnum() and re.search(r"\w$|[\w][-./,]$", before):
        return False
    if text[last].isalnum() and re.match(r"\w|[-./,]\w", after):
        return False
    grouped = " " in text[first : last + 1] and " " not in wanted
    if grouped and (re.search(r"\d $", before) or re.match(r" \d", after)):
        return False
    return not re.match(r"\s*[:：]\s*\S", after)


def _is_in_script_without_spaces(text: str) -> bool:
    return bool(re.search(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]", text))
