"""Numbers as a source prints them: with the scale, currency and period its table or page tells.

A quote alone doesn't say what a figure is. ``(1,577)`` in a row is millions of dollars because the
table's title says so, and of 2018 because it stands under that year. All of it is read here from
the stored page, once, for binding figures and for checking what a report says of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from deskwork.tools.columns import YEAR, Column, columns_of
from deskwork.tools.documents import Table
from deskwork.tools.durations import headed, lengths_of, spoken
from deskwork.tools.numerals import CURRENCIES, Numeral, decimal_mark, numerals
from deskwork.tools.readers.units import unit_of
from deskwork.tools.rows import heading_over, headings, is_figure, row_at

_SCALES = (
    ("thousand|000s|tausend|milliers|[$€£]\\s?K\\b", 3),
    ("million|mn\\b|mm\\b|mio|[$€£]\\s?M\\b", 6),
    ("billion|bn\\b|mrd|milliarde|milliard|[$€£]\\s?B\\b", 9),
    ("trillion", 12),
    ("lakh|lac", 5),
    ("crore", 7),
)
UNSCALED = re.compile(
    r"(?i)per (?:common |ordinary |diluted |basic )*share|percent|%|ratio|number of employees|rate"
    r"|\bEPS\b|employees|headcount|\bdays\b|\bstores?\b|years"
)
_NON_GAAP = re.compile(
    r"(?i)\bnon-?\s?GAAP\b|\badjusted\b(?! for)|\bunderlying\b|\bcore (?:earnings|EPS)\b"
)
_NUMBERS_BEHIND = re.compile(r"(?:\s+[($€£-]*\s?(?:\d[\d,.]*)?\s?[)%]*)+$")
_CADENCE = re.compile(r"(?i)\bquarterly\b|\bsix[- ]month\b|\bper quarter\b|\bevery quarter\b")
_ENDS_IN_COLUMNS = re.compile(r"(?:[($€£\-\s]*\d[\d,.]*[)%]*\s+)[($€£\-\s]*\d[\d,.]*[)%]*\s*$")
_AT_A_TIME = re.compile(
    r"(?i)\b(?:beginning|end) of (?:the )?(?:period|year|quarter)|\bbalances? (?:at|as of)"
)
"""Rows of balances among those of periods."""
_HEAD_LINES = 40
"""Lines above a number, or at its page's top, in which its unit may be told."""


@dataclass(frozen=True)
class Printed:
    """A number of a quote: ``scale`` is a power of ten as a factor, ``years`` those of its
    column's heading or, in prose, of its sentence; ``label`` is its row's. ``early`` tells of a
    period that ends in January or February; ``alike`` counts the numbers of its kind in its row.
    ``months`` is its period's length, 0 where its headings don't tell one; ``basis`` is "GAAP" or
    "non-GAAP" where label or headings say so. ``lead`` is what stands before it in prose.
    """

    numeral: Numeral
    scale: Decimal
    currency: str = ""
    years: tuple[int, ...] = ()
    column: str = ""
    label: str = ""
    early: bool = False
    alike: int = 1
    months: int = 0
    basis: str = ""
    lead: str = ""

    @property
    def value(self) -> Decimal:
        """Signed, in single units (a percentage as it is printed)."""
        value = self.numeral.readings[0] * self.scale
        return -value if self.numeral.negative else value


def scale_in(text: str) -> Decimal | None:
    """The factor that a phrase of unit tells ("$ in millions"), or None."""
    for words, power in _SCALES:
        if re.search(words, text, re.I):
            return Decimal(10) ** power
    return None


def currency_in(text: str) -> str:
    """The currency that a phrase of unit tells, as an ISO 4217 code, or ""."""
    for sign, code in CURRENCIES.items():
        if sign in text:
            return code
    words = {"dollar": "USD", "euro": "EUR", "pound": "GBP", "yen": "JPY", "rupee": "INR"}
    words |= {"franc": "CHF", "sterling": "GBP"}
    for word, code in words.items():
        if re.search(word, text, re.I):
            return code
    found = re.search(r"\b(USD|EUR|GBP|CHF|JPY|INR|CNY|RMB|CAD|AUD|SEK|NOK|DKK)\b", text)
    return found.group() if found else ""


def basis_in(text: str) -> str:
    """The basis that a heading or a label tells, "GAAP" or "non-GAAP"; "" for both or none."""
    other = bool(_NON_GAAP.search(text))
    plain = bool(re.search(r"\b(?:US )?GAAP\b", _NON_GAAP.sub("", text)))
    return "" if other == plain else "non-GAAP" if other else "GAAP"


def _bare(label: str) -> str:
    """A label without the numbers that its cell holds as well."""
    return _NUMBERS_BEHIND.sub("", label).strip()


def _own_scale(label: str) -> Decimal | None:
    """The scale a row's label tells of its row alone: "Revenue ($B)"."""
    return scale_in(" ".join(re.findall(r"\([^()]*\)", label)))


def years_in(text: str) -> tuple[int, ...]:
    """The years that a text names, in order."""
    return tuple(dict.fromkeys(int(year) for year in YEAR.findall(text)))


def printed_in(quote: str, page: str, start: int, tables: Sequence[Table]) -> list[Printed]:
    """Every number of a quote, which begins at ``start`` of its page's text, with what the page
    tells of it. Years alone are left out.
    """
    mark = decimal_mark(page)
    unit = unit_of(page[:start].split("\n")[-_HEAD_LINES:][::-1])
    unit = unit or unit_of(page.split("\n")[:_HEAD_LINES])
    found: list[Printed] = []
    at = start
    for line in quote.split("\n"):
        row = _row_of(line, tables)
        numbers = [n for n in numerals(line, mark) if not is_year(n)]
        # Numbers with words behind them belong to the row's label: "net of $35 and $46, cash".
        words = [match.end() for match in re.finditer(r"[A-Za-z]{3,}", line)]
        label_end = words[-1] if words and not re.search(r"\.\s*$", line) else 0
        in_columns = [n for n in numbers if n.start >= label_end] or numbers
        first = len(numbers) - len(in_columns)
        above = {first + n: c for n, c in columns_of(in_columns, page, at).items()}
        if row:
            printed = list(_in_row(numbers, line, row, unit, above))
        else:
            printed = list(_in_prose(numbers, line, quote, unit, above, label_end))
        if printed and (row or printed[0].label) and not _AT_A_TIME.search(line):
            table, number = (row.table, row.number) if row else (None, 0)
            places = [n.start for n in in_columns]
            lengths = lengths_of(places, line, page, at, table, number)
            told = dict(zip(places, lengths, strict=True))
            printed = [replace(p, months=p.months or told.get(p.numeral.start, 0)) for p in printed]
        found += printed
        at += len(line) + 1
    return found


def is_year(numeral: Numeral) -> bool:
    """Whether a number can only be a year."""
    plain = numeral.text.isdigit() and len(numeral.text) == 4 and numeral.text[:2] in ("19", "20")
    return plain and not (numeral.currency or numeral.percent or numeral.scale != 1)


@dataclass(frozen=True)
class _Place:
    table: Table
    number: int
    start: int  # where the line begins in the row's letters


def _letters(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def _row_of(line: str, tables: Sequence[Table]) -> _Place | None:
    """The row that a line of a quote is, or is a part of."""
    wanted = _letters(line)
    if not wanted or not re.search(r"\d", line):
        return None
    best: _Place | None = None
    for table in tables:
        for number, row in enumerate(table.rows):
            start = _letters("".join(row)).find(wanted)
            if start >= 0 and (best is None or start < best.start):
                best = _Place(table, number, start)
        if best and best.start == 0:
            break
    return best


def _in_row(
    numbers: Sequence[Numeral], line: str, place: _Place, unit: str, above: Mapping[int, Column]
) -> Iterator[Printed]:
    row = place.table.rows[place.number]
    ends, total = [], 0
    for cell in row:
        total += len(_letters(cell))
        ends.append(total)
    label = _bare(row_at(place.table, place.number).label)
    told = " ".join([place.table.unit, *_headings_of(place.table)])
    factor = _own_scale(label) or scale_in(told) or scale_in(unit) or Decimal(1)
    currency = currency_in(told) or currency_in(unit)
    whole = basis_in(f"{place.table.title} {told}")
    for index, numeral in enumerate(numbers):
        at = place.start + len(_letters(line[: numeral.start]))
        column = next((c for c, end in enumerate(ends) if at < end), len(row) - 1)
        heading = heading_over(place.table, place.number, column)
        years, early = years_in(heading), bool(re.search(r"\b(?:Jan|Feb)", heading))
        if not years and index in above:
            years, early = (above[index].year,), above[index].early
        unscaled = numeral.percent or UNSCALED.search(f"{label} {heading}")
        own = numeral.scale if numeral.scale != 1 or unscaled else factor
        if column == 0 and not is_figure(row[0]):
            own = numeral.scale  # a number of the label itself
        money = "" if numeral.percent else numeral.currency or currency
        alike = sum(other.percent == numeral.percent for other in numbers)
        lengths = headed(heading)
        months = lengths[0] if len(set(lengths)) == 1 else 0
        basis = basis_in(f"{label} {heading}") or whole
        yield Printed(numeral, own, money, years, heading, label, early, alike, months, basis)


def _headings_of(table: Table) -> Iterator[str]:
    for row in table.rows[: headings(table)]:
        yield from (cell for cell in row if cell)


def _in_prose(
    numbers: Sequence[Numeral],
    line: str,
    quote: str,
    unit: str,
    above: Mapping[int, Column],
    label_end: int,
) -> Iterator[Printed]:
    """Numbers of sentences; a row that no table was found for takes the page's unit and years."""
    words = re.findall(r"[A-Za-z]{2,}", line)
    is_row = len(words) < 12 and not re.search(
        r"[.;]\s*$|[a-z]{3,}\s*$|\b(?:was|were|is|are|by|to)\b", line
    )
    is_row = is_row or bool(_ENDS_IN_COLUMNS.search(line))
    label = ""
    if is_row:
        label = _bare(line[:label_end]) or re.split(r"[\d$€£(]", line)[0].strip()
    factor = _own_scale(label) or (scale_in(unit) if is_row and unit else None)
    for index, numeral in enumerate(numbers):
        unscaled = numeral.percent or numeral.scale != 1 or UNSCALED.search(line)
        in_label = is_row and numeral.start < label_end
        own = numeral.scale if unscaled or factor is None or in_label else factor
        currency = numeral.currency or (currency_in(unit) if is_row and unit else "")
        years, early = (years_in(line) if is_row else ()) or years_in(quote), False
        if is_row and index in above:
            years, early = (above[index].year,), above[index].early
        alike = sum(other.percent == numeral.percent for other in numbers) if is_row else 1
        money = "" if numeral.percent else currency
        lead = "" if is_row else line[max(0, numeral.start - 60) : numeral.start]
        parts = {length for length in spoken(_CADENCE.sub("", quote)) if length < 12}
        months = parts.pop() if len(parts) == 1 and not is_row else 0
        basis = basis_in(label) or basis_in(lead[-30:])
        yield Printed(numeral, own, money, years, "", label, early, alike, months, basis, lead)
