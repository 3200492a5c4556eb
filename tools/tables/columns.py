"""Columns of a printed table: a name for SQL, and numbers where cells print numbers.

``(1,577)`` becomes -1577, ``$ 5,363`` 5363, ``12.5%`` 12.5 and a dash nothing. The numbers are as
printed: what the table says of unit and scale is told beside it, never multiplied in.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from deskwork.tools.numerals import decimal_mark, numerals
from deskwork.tools.rows import is_figure

_PLAIN = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,2})?")
_DASH = re.compile(r"[-\u2212\u2013\u2014\s$€£¥%()]*")
_LONGEST_NAME = 48
_DIGITS = 38  # that a DECIMAL holds
_RESERVED = frozenset(
    re.findall(
        r"\w+",
        "all analyse analyze and any array as asc both case cast check collate column constraint "
        "create default deferrable desc describe distinct do else end except false fetch for "
        "foreign from group having in initially intersect into lambda lateral leading limit not "
        "null offset on only or order pivot placing primary qualify references returning select "
        "show some summarize symmetric table then to trailing true union unique unpivot using "
        "variadic when where window with",
    )
)


@dataclass(frozen=True)
class Column:
    """A column in SQL. ``kind`` is its SQL type; ``values`` are texts, None for nothing."""

    name: str
    kind: str
    values: tuple[str | None, ...]


def columns_of(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[Column]:
    """The columns under these headings; one of numbers has its text beside it as ``NAME_text``,
    unless the numbers are printed plainly.
    """
    mark = decimal_mark(" ".join(cell for row in rows[:2_000] for cell in row))
    taken = {"_row", "_page"}
    found: list[Column] = []
    for place, heading in enumerate(headings):
        texts = [row[place].strip() if place < len(row) else "" for row in rows]
        # What stands in brackets over the labels is the table's unit, no name.
        unnamed = place == 0 and heading.startswith("(")
        otherwise = "label" if place == 0 else f"column_{place + 1}"
        name = free_name("" if unnamed else heading, taken, otherwise)
        numbers = [printed_number(text, mark) for text in texts]
        if not _is_numeric(texts, numbers):
            found.append(Column(name, "VARCHAR", tuple(text or None for text in texts)))
            continue
        values = tuple(None if number is None else format(number, "f") for number in numbers)
        found.append(Column(name, _decimal_type(numbers), values))
        if any(text != (value or "") for text, value in zip(texts, values, strict=True)):
            beside = free_name(f"{name}_text", taken, name)
            found.append(Column(beside, "VARCHAR", tuple(text or None for text in texts)))
    return found


def printed_number(text: str, mark: str = "") -> Decimal | None:
    """The number that a cell prints and nothing else, signed, without its scale; or None."""
    if not text or len(text) > 60:
        return None
    if mark != "," and _PLAIN.fullmatch(text):
        return Decimal(text)
    if not is_figure(text) or _DASH.fullmatch(text):
        return None
    found = list(numerals(text, mark))
    if len(found) != 1:
        return None
    value = found[0].readings[0]
    return -value if found[0].negative else value


def slug(text: str, otherwise: str) -> str:
    """A name that needs no quotes in SQL: lower case, no word that SQL reserves."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    name = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")[:_LONGEST_NAME].strip("_") or otherwise
    if name[0].isdigit():
        name = f"y{name}" if re.match(r"(?:19|20)\d\d(?!\d)", name) else f"c_{name}"
    return f"{name}_" if name in _RESERVED else name


def free_name(text: str, taken: set[str], otherwise: str) -> str:
    """A `slug` that isn't taken yet, and now is."""
    base = name = slug(text, otherwise)
    number = 2
    while name in taken:
        name = f"{base}_{number}"
        number += 1
    taken.add(name)
    return name


def _is_numeric(texts: Sequence[str], numbers: Sequence[Decimal | None]) -> bool:
    filled = sum(1 for text in texts if not _DASH.fullmatch(text))
    count = sum(number is not None for number in numbers)
    return count > 0 and 2 * count >= filled


def _decimal_type(numbers: Iterable[Decimal | None]) -> str:
    whole, part = 1, 0
    for number in numbers:
        if number is not None:
            digits = format(abs(number), "f").partition(".")
            whole, part = max(whole, len(digits[0])), max(part, len(digits[2]))
    # Room in front for sums; what doesn't fit is a float.
    return f"DECIMAL({_DIGITS}, {part})" if part <= 10 and whole + part <= 30 else "DOUBLE"
