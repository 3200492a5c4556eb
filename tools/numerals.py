"""Numbers as people print them: where they stand in a text, and what they may mean.

One printed number can have several readings: ``1.234`` is a thousand and more in Berlin, and one
and a bit in London. The readings are given, likeliest first; ``decimal_mark`` tells from the rest
of a page which notation it is written in, and then a single reading is left.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

_SPACES = " \u00a0\u202f\u2009'\u2019"
_GROUPED = rf"\d{{1,3}}(?:[{_SPACES}]\d{{3}})+(?:[.,]\d+)?(?![\d])"
_INDIAN = r"\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?(?!\d)"
_MARKED = r"\d+(?:[.,]\d+)*|[.,]\d+"
_NUMERAL = re.compile(rf"(?<![\d])(?:{_GROUPED}|{_INDIAN}|{_MARKED})")
_FULL = re.compile(r"\d+(?P<point>[.,])\d{1,2}(?![\d.,])")

CURRENCIES = {
    "US$": "USD",
    "A$": "AUD",
    "C$": "CAD",
    "$": "USD",
    "€": "EUR",
    "£": "GBP",
    "¥": "JPY",
    "₩": "KRW",
    "₹": "INR",
    "₽": "RUB",
    "₺": "TRY",
    "zł": "PLN",
    "Fr.": "CHF",
}
"""A printed sign → the currency it usually means (ISO 4217); a plain dollar is taken for US."""

_CODES = "USD|EUR|GBP|JPY|CHF|CAD|AUD|CNY|RMB|INR|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN|KRW|HKD|SGD|ZAR"
_SIGNS = "|".join(re.escape(sign) for sign in sorted(CURRENCIES, key=len, reverse=True))
_BEFORE = re.compile(rf"({_SIGNS}|\b(?:{_CODES}))\s*$")
_AFTER = re.compile(rf"\s*({_SIGNS}|(?:{_CODES})\b)(?!\s?\d)")
_WORDS = (
    (r"万|萬", 4),
    (r"亿|億", 8),
    (r"千|thousands?\b|thsd\b|tsd\b|milliers?\b|miles\b|k\b", 3),
    (r"trillions?\b|trn\b|tn\b|billones\b|billionen\b", 12),
    (r"billions?\b|bn\b|b\b|milliarden?\b|mrd\b|milliards?\b|miliardi?\b", 9),
    (r"millions?\b|millionen\b|mio\b|mln\b|mn\b|mm\b|millones\b|milhões\b|milioni\b|m\b", 6),
)
_SCALE = [
    (re.compile(rf"\s?\)?\s?-?(?:{words})", re.I), Decimal(10) ** power) for words, power in _WORDS
]
_LETTER = re.compile(r"\s?(?:k|b|m)\b", re.I)
_PERCENT = re.compile(r"\s?\)?\s?(?:%|percent\b|per cent\b|prozent\b|pct\b|pour cent\b)", re.I)


@dataclass(frozen=True)
class Numeral:
    """A number at ``start`` to ``end`` of a text (the digits alone).

    ``readings`` are unsigned and without scale; ``scale`` is what a word behind says (million is
    10 ** 6); ``negative`` tells of a minus or of parentheses; ``currency`` is an ISO 4217 code or
    "".
    """

    text: str
    start: int
    end: int
    readings: tuple[Decimal, ...]
    negative: bool = False
    percent: bool = False
    scale: Decimal = Decimal(1)
    currency: str = ""

    @property
    def value(self) -> Decimal:
        """The likeliest reading with its sign and scale; a percentage as it is printed."""
        value = self.readings[0] * self.scale
        return -value if self.negative else value


def decimal_mark(text: str) -> str:
    """``.`` or ``,`` where the amounts of a text tell it, else "" (an amount has one or two
    digits behind its mark; numbers of sections and versions are outvoted).
    """
    votes = [match["point"] for match in _FULL.finditer(text)]
    points, commas = votes.count("."), votes.count(",")
    points += len(re.findall(r"\d,\d{3}\.\d|\d,\d{3},\d{3}", text))
    commas += len(re.findall(r"\d\.\d{3},\d|\d\.\d{3}\.\d{3}", text))
    if points > 3 * commas:
        return "."
    return "," if commas > 3 * points else ""


def numerals(text: str, decimal: str = "") -> Iterator[Numeral]:
    """Every number in a text, in order. ``decimal`` is the text's `decimal_mark`, if known."""
    at = 0
    while match := _NUMERAL.search(text, at):
        at = match.end()
        printed = match.group()
        readings = _readings(printed, decimal)
        if " " in printed and re.fullmatch(r"[\d ]+", printed):
            # Whole numbers in columns side by side look like one with spaces: both are given.
            yield _numeral(text, match.start(), at, readings)
            for part in re.finditer(r"\d+", printed):
                start = match.start() + part.start()
                yield _numeral(
                    text, start, start + len(part.group()), _readings(part.group(), decimal)
                )
        else:
            yield _numeral(text, match.start(), at, readings)


def _numeral(text: str, start: int, end: int, readings: tuple[Decimal, ...]) -> Numeral:
    head, tail = text[max(0, start - 8) : start], text[end : end + 24]
    before, after = _BEFORE.search(head), _AFTER.match(tail)
    sign = (before or after or [None, ""])[1] or ""
    rest = tail[after.end() :] if after else tail
    percent = bool(_PERCENT.match(rest))
    scale = Decimal(1)
    if not percent:
        for pattern, factor in _SCALE:
            # A lone letter is a scale where money is meant: 5 m may be metres.
            if (found := pattern.match(rest)) and (sign or not _LETTER.fullmatch(found.group())):
                scale = factor
                break
    return Numeral(
        text[start:end],
        start,
        end,
        readings,
        _negative(head[: before.start()] if before else head, tail),
        percent,
        scale,
        CURRENCIES.get(sign, sign),
    )


def _negative(head: str, tail: str) -> bool:
    lead = head.rstrip(" \u00a0")
    if lead.endswith("(") and re.match(r"[^()\n]{0,12}\)", tail):
        return not re.match(r"[^()\n]*[A-Za-z]{3}", tail)
    if re.search(r"(?:^|[^\w.,)%\]])\s*[-\u2212\u2013]$", lead):
        return True
    return bool(re.match(r"[-\u2212](?![\w-])", tail))


def _readings(printed: str, decimal: str) -> tuple[Decimal, ...]:
    compact = re.sub(rf"[{_SPACES}]", "", printed)
    marks = [letter for letter in compact if letter in ".,"]
    if not marks:
        return (Decimal(compact),)
    last = marks[-1]
    if len(set(marks)) == 2:
        other = "." if last == "," else ","
        if marks.count(last) == 1:  # 1,234.5: the last mark is the point
            return (Decimal(compact.replace(other, "").replace(last, ".")),)
        return (Decimal(compact.replace(".", "").replace(",", "")),)
    if len(marks) > 1:  # 1,234,567; anything else with several equal marks is a date or a section
        return (Decimal(compact.replace(last, "")),)
    whole, _, part = compact.partition(last)
    point = Decimal(f"{whole or 0}.{part}")
    if len(part) != 3 or not whole or len(whole) > 3 or whole == "0":
        return (point,)
    joined = Decimal(whole + part)
    if decimal:
        return (point,) if last == decimal else (joined,)
    # Three digits behind one mark: a comma groups more often than not, a point does not.
    return (joined, point) if last == "," else (point, joined)
