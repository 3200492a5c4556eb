"""Figures: a number bound to the place where its source prints it, or a formula over such figures.

A figure knows its value, unit, scale, currency and period. What a model says of it is checked
against the source when it is bound; what the source doesn't bear out is refused with a sentence.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from typing import Any

from deskwork.tools.durations import months_between, start_of
from deskwork.tools.errors import ToolError
from deskwork.tools.numerals import decimal_mark, numerals
from deskwork.tools.printed import Printed

SCALES = {"units": 0, "thousands": 3, "millions": 6, "billions": 9, "trillions": 12}
"""What a scale is called → its power of ten."""
_NAMES = {3: " thousand", 6: " million", 9: " billion", 12: " trillion"}
_SIGNS = {"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "INR": "₹"}


@dataclass(frozen=True)
class Figure:
    """A number with all that it takes to know what it is.

    ``value`` is signed and as printed; ``value * 10 ** scale`` is the amount. ``unit`` is "money",
    "money/share", "shares", "%", "x" (a ratio) or a word for a count; ``currency`` an ISO 4217
    code or "". Periods are ISO dates, ``period_start`` empty for a balance. ``basis`` is "GAAP",
    "non-GAAP", "IFRS" or ""; ``vintage`` tells "restated" from "as reported", or when it was filed.
    ``status`` is "bound", "derived", "pictured" (read from a picture) or "corrected". It rests on
    ``evidence`` or on ``formula`` over the figures in ``inputs``.
    """

    id: str
    label: str
    value: Decimal
    unit: str = "money"
    scale: int = 0
    currency: str = ""
    period_start: str = ""
    period_end: str = ""
    basis: str = ""
    vintage: str = ""
    status: str = "bound"
    evidence: tuple[str, ...] = ()
    formula: str = ""
    inputs: tuple[str, ...] = field(default=())

    @property
    def named(self) -> str:
        """Its label and period, as far as they are known."""
        return ", ".join(part for part in (self.label, self.period_end) if part) or (
            "a figure without a name"
        )

    @property
    def amount(self) -> Decimal:
        """The value in single units; a percentage as it is printed."""
        return self.value.scaleb(self.scale)

    def printed(self, *, positive: bool = False) -> str:
        """As a report prints it: ``$1,577 million``, ``7.8%``, ``$10.10 a share``, ``1.9x``."""
        value = abs(self.value) if positive else self.value
        minus = "-" if value < 0 else ""
        number = f"{abs(value):,}"
        scale = _NAMES.get(self.scale, "")
        if self.unit in ("%", "x"):
            return f"{minus}{number}{self.unit}"
        if self.currency:
            sign = _SIGNS.get(self.currency)
            money = f"{minus}{sign}{number}" if sign else f"{minus}{self.currency} {number}"
            share = " a share" if self.unit == "money/share" else ""
            return f"{money}{scale}{share}"
        word = f" {self.unit}" if self.unit not in ("", "money") else ""
        return f"{minus}{number}{scale}{word}"

    def as_json(self) -> dict[str, Any]:
        """Plain values; the value as a text, so that no digit is lost."""
        return {**asdict(self), "value": str(self.value)}

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Figure:
        """The inverse of `as_json`."""
        lists = {name: tuple(row.get(name, ())) for name in ("evidence", "inputs")}
        return cls(**{**row, **lists, "value": Decimal(row["value"])})


@dataclass(frozen=True)
class Said:
    """What a model says of a figure. Empty fields are taken from the source."""

    label: str
    value: str
    period_end: str
    period_start: str = ""
    unit: str = ""
    scale: str = ""
    currency: str = ""
    basis: str = ""
    vintage: str = ""


def bind(said: Said, evidence: str, printed: Sequence[Printed], quote: str, page: str) -> Figure:
    """The figure that stands in a quote. Raises `ToolError` for whatever the source contradicts."""
    found = _stands(said, printed, quote, decimal_mark(page))
    scale = _checked_scale(said, found)
    _check_year(said, found)
    _check_length(said, found)
    numeral = found.numeral
    currency = _checked_currency(said, found)
    # What a table gives in millions, and is no percentage, is money unless somebody says else.
    unit = said.unit or ("%" if numeral.percent else "money" if currency or scale else "")
    _check_unit(said, found, quote)
    value = numeral.readings[0] * (-1 if numeral.negative else 1)
    key = f"{evidence}\n{numeral.start}\n{value}\n{said.label}\n{said.period_end}"
    return Figure(
        id=figure_id(key),
        label=clean_label(said.label) or clean_label(found.label),
        value=value,
        unit=unit,
        scale=scale,
        currency=currency,
        period_start=said.period_start or start_of(said.period_end, found.months),
        period_end=said.period_end,
        basis=said.basis,
        vintage=said.vintage,
        evidence=(evidence,),
    )


def figure_id(key: str) -> str:
    """The id follows from what the figure is: the same in every job."""
    return "F" + hashlib.sha256(key.encode()).hexdigest()[:8]


def clean_label(label: str) -> str:
    """A label without the currency's sign, dots and bars that a row has behind it."""
    return re.sub(r"[\s:;,|$€£¥₹(.…_\u2013\u2014-]+$", "", label).strip()


def _stands(said: Said, printed: Sequence[Printed], quote: str, mark: str) -> Printed:
    """The number of the quote that is meant: by its digits and sign, then by its column's year."""
    wanted = list(numerals(said.value, mark))
    if len(wanted) != 1:
        raise ToolError(
            f"{said.value!r} is not one number.", "Give the number as the quote prints it."
        )
    (number,) = wanted
    same = [p for p in printed if p.numeral.readings[0] == number.readings[0]]
    if not same:
        shown = ", ".join(p.numeral.text for p in printed) or "none"
        raise ToolError(
            f"{said.value} does not stand in the quote “{_short(quote)}”.",
            f"Numbers in it: {shown}.",
        )
    signed = [p for p in same if p.numeral.negative == number.negative]
    if not signed:
        sign = "negative" if same[0].numeral.negative else "positive"
        raise ToolError(
            f"{said.value} has another sign than in the quote, where it is {sign}: "
            f"“{_short(quote)}”.",
            "Give it with the sign it is printed with; a report can still print its size.",
        )
    year, length = _year(said.period_end), months_between(said.period_start, said.period_end)
    of_year = [p for p in signed if year in fiscal_years(p)] or signed
    return next((p for p in of_year if length in (0, p.months)), of_year[0])


def fiscal_years(printed: Printed) -> set[int]:
    """The fiscal years that a number's heading may mean: one that ends in January or February
    is often called by the year before.
    """
    years = set(printed.years)
    if printed.early:
        years |= {year - 1 for year in printed.years}
    return years


def _year(date: str) -> int | None:
    found = re.match(r"\d{4}", date)
    return int(found.group()) if found else None


def _check_year(said: Said, found: Printed) -> None:
    year = _year(said.period_end)
    if year is None:
        raise ToolError(
            f"{said.period_end!r} is no date for the end of the period.",
            "Give it as YYYY-MM-DD, or as YYYY where the day is not known.",
        )
    early = re.fullmatch(r"\d{4}-0[1-2]-.*", said.period_end)
    told = fiscal_years(found) | ({y + 1 for y in found.years} if early else set())
    if told and year not in told:
        columns = ", ".join(map(str, sorted(found.years)))
        raise ToolError(
            f"{said.value} stands under {columns} in its source, not under {year}.",
            "Take the number of the right column, or the right period.",
        )


def _check_length(said: Said, found: Printed) -> None:
    """A period's length must be that of the number's column."""
    if not said.period_start:
        return
    length = months_between(said.period_start, said.period_end)
    if length and found.months and length != found.months:
        raise ToolError(
            f"{said.value} is of {found.months} months in its source, and {said.period_start} to "
            f"{said.period_end} is {length}.",
            "Take the number of the right column, or the right period.",
        )


def _checked_scale(said: Said, found: Printed) -> int:
    own = len(str(int(found.scale))) - 1 if found.scale >= 1 else 0
    if not said.scale:
        return own
    wanted = SCALES.get(said.scale.lower())
    if wanted and found.scale == 1:
        raise ToolError(
            f"{said.value} has no scale in its source: it isn't in {said.scale} there.",
            "Leave the scale out, or quote what tells it together with the number.",
        )
    if wanted is None:
        raise ToolError(f"{said.scale!r} is no scale.", f"Scales: {', '.join(SCALES)}.")
    if own != wanted and found.scale != 1:
        name = next((name for name, power in SCALES.items() if power == own), f"10^{own}")
        raise ToolError(
            f"{said.value} is in {name} in its source, not in {said.scale}.",
            "Leave the scale out: it is read from the source.",
        )
    return wanted


def _checked_currency(said: Said, found: Printed) -> str:
    wanted = said.currency.upper()
    if found.currency and wanted and found.currency != wanted and not _is_dollar(found, wanted):
        raise ToolError(
            f"{said.value} is in {found.currency} in its source, not in {wanted}.",
            "Leave the currency out, or cite what says that it is another.",
        )
    if said.unit in ("%", "x", "shares") or found.numeral.percent:
        return ""
    return wanted or found.currency


def _check_unit(said: Said, found: Printed, quote: str) -> None:
    """A unit must be one that the source's own words allow."""
    told = f"{found.label} {found.column} {quote}"
    money = bool(found.currency or found.scale != 1) and not found.numeral.percent
    wrong = (
        (said.unit == "%" and money)
        or (said.unit not in ("", "%") and found.numeral.percent)
        or (said.unit == "x" and (money or found.numeral.percent))
        or ("share" in said.unit and not re.search(r"(?i)shares?\b|\beps\b|per unit|stock", told))
    )
    if wrong:
        raise ToolError(
            f"{said.value} is not in {said.unit!r} by its source: “{_short(quote)}”.",
            "Leave the unit out: it is read from the source.",
        )


def _is_dollar(found: Printed, wanted: str) -> bool:
    """A plain dollar sign is taken for the American; a source may mean another one."""
    return found.currency == "USD" and wanted in ("AUD", "CAD", "HKD", "NZD", "SGD", "TWD")


def _short(quote: str) -> str:
    flat = " ".join(quote.split())
    return flat if len(flat) <= 160 else flat[:159] + "…"
