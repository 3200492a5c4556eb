"""What should agree in a record: totals with their parts, dates with each other, currencies.

The schema is anybody's, so fields are known by their names (`field_names`), in whatever object
they stand. A rule that doesn't find its fields says nothing; one that does and disagrees gives a
sentence for the exceptions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

from deskwork.tasks import field_names as names

TOLERANCE = 0.01
"""Money: rounding of each line may add up to a cent or two."""
_START = re.compile(r"(^| )(start|from|begin|von|beginn|du|desde|inizio)( date| datum)?$")
_END = re.compile(r"(^| )(end|to|until|bis|ende|au|hasta|fine)( date| datum)?$")
_CURRENCY = re.compile(r"(^| )(currency( code)?|wahrung|devise|moneda|valuta|divisa)$")
_OUT = re.compile(
    r"(?i)^(d|dr|db|s|-|debit\w*|soll\w*|withdraw\w*|out\w*|payment|fee|charge|cargo"
    r"|debe|dare|ausgang|belastung|lastschrift|af)$"
)

_AMOUNT = re.compile(r"-?(\d{1,3}([., ']\d{3})*|\d+)[.,]\d\d")
"""A text that is an amount: it has its cents, so that a number of a document is none."""

Named = tuple[str, float]


def disagreements(record: dict[str, Any]) -> list[str]:
    """What does not add up in a record, as sentences."""
    return [*_sums(record), *_statement(record), *_dates(record), *_currencies(record)]


def number_in(record: dict[str, Any], meaning: tuple[str, ...]) -> Named | None:
    """The field of a record that bears the best name of a meaning and holds a number."""
    found = [
        (place, name, value)
        for name, text in record.items()
        if (value := amount_of(text)) is not None
        and (place := names.rank(_last(name), meaning)) >= 0
    ]
    return min(found)[1:] if found else None


def amount_of(value: Any) -> float | None:
    """A number, also one that a schema keeps as text (``"1,234.50"``); None for anything else."""
    if isinstance(value, str) and _AMOUNT.fullmatch(value.strip()):
        digits = re.sub(r"[^\d.,-]", "", value)
        mark = max(digits.rfind("."), digits.rfind(","))
        whole, cents = (digits[:mark], digits[mark + 1 :]) if mark >= 0 else (digits, "0")
        return float(re.sub(r"[.,]", "", whole) + "." + cents)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return None


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def flat(record: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """A record's fields with those of the objects in it, under names such as ``totals.net``."""
    found: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            found |= flat(value, f"{prefix}{name}.")
        else:
            found[prefix + name] = value
    return found


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in a record that is no row of a list, the record first."""
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _objects(inner)


def lists_in(record: dict[str, Any]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """(name, rows) of the lists of objects in a record, those of objects in it too."""
    for name, value in flat(record).items():
        if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
            yield name, value


def _sums(record: dict[str, Any]) -> Iterable[str]:
    whole = flat(record)
    # An object with a sum of its own is looked at alone; else its parts stand in several.
    parts = [part for part in _objects(record) if _wrong_total(part) is not None]
    for sentence in (_wrong_total(part) for part in parts or [whole]):
        if sentence:
            yield sentence
    for name, rows in lists_in(record):
        for number, row in enumerate(rows):
            if sentence := _wrong_total(row):
                yield f"{name} {number + 1}: {sentence}"
        if names.OTHER_LISTS.search(names.words_of(_last(name))):
            continue
        lines = [number_in(flat(row), names.LINE) for row in rows]
        amounts = [line[1] for line in lines if line]
        found = [number_in(whole, meaning) for meaning in (names.NET, names.GROSS)]
        wholes = [one for one in found if one]
        if len(amounts) != len(rows) or not wholes:
            continue
        added, most = sum(amounts), TOLERANCE * (len(amounts) + 1)
        if all(abs(added - total - more) > most for _, total in wholes for more in _extras(whole)):
            named = " or ".join(f"{one[0]} {one[1]:,.2f}" for one in wholes)
            yield f"the {len(amounts)} {name} add up to {added:,.2f}, not to {named}"


def _wrong_total(record: dict[str, Any]) -> str | None:
    """A sentence where net and tax don't make the total, "" where they do; None without all."""
    net, total = number_in(record, names.NET), number_in(record, names.GROSS)
    taxes = [
        (name, value)
        for name, text in record.items()
        if _is_tax(_last(name)) and (value := amount_of(text)) is not None
    ]
    if not (net and total and taxes) or net[0] == total[0]:
        return None
    added = [sum(tax for _, tax in taxes), *(tax for _, tax in taxes)]
    for tax, more in product(added, _extras(record)):
        if abs(net[1] + tax + more - total[1]) <= 2 * TOLERANCE:
            return ""
    named = " and ".join(f"{name} {tax:,.2f}" for name, tax in taxes)
    return (
        f"{net[0]} {net[1]:,.2f} and {named} make {net[1] + added[0]:,.2f}, "
        f"but {total[0]} is {total[1]:,.2f}"
    )


def _is_tax(name: str) -> bool:
    if names.rank(name, names.TAX) >= 0:
        return True
    words, _, rate = names.words_of(name).rpartition(" ")  # `vat_19`: one tax of several
    return rate.isdigit() and words in names.TAX


def _extras(record: dict[str, Any]) -> list[float]:
    """What may stand between a sum and its total: postage added, discounts taken off, or both."""
    extras = [
        abs(value)
        for name, text in record.items()
        if names.rank(_last(name), names.EXTRA) >= 0 and (value := amount_of(text)) is not None
    ][:4]
    return [sum(parts) for parts in product(*((0.0, extra, -extra) for extra in extras))]


def _statement(record: dict[str, Any]) -> Iterable[str]:
    """Opening balance and transactions against the closing balance."""
    whole = flat(record)
    opening, closing = number_in(whole, names.OPENING), number_in(whole, names.CLOSING)
    if not opening or not closing:
        return
    for name, rows in lists_in(record):
        moved = [_moved(flat(row)) for row in rows]
        known = [amount for amount in moved if amount is not None]
        if len(known) != len(rows):
            continue
        added, most = sum(known), TOLERANCE * (len(known) + 1)
        # On a card's statement what is spent makes the balance larger.
        if all(abs(opening[1] + way * added - closing[1]) > most for way in (1, -1)):
            yield (
                f"{opening[0]} {opening[1]:,.2f} and the {len(known)} {name} of {added:,.2f} make "
                f"{opening[1] + added:,.2f}, but {closing[0]} is {closing[1]:,.2f}"
            )
        return


def _moved(row: dict[str, Any]) -> float | None:
    """What a transaction adds to the balance; None where that can't be told."""
    debit, credit = number_in(row, names.DEBIT), number_in(row, names.CREDIT)
    if debit or credit:
        return (abs(credit[1]) if credit else 0.0) - (abs(debit[1]) if debit else 0.0)
    amount = number_in(row, names.LINE)
    if amount is None:
        return None
    for name, value in row.items():
        typed = isinstance(value, str) and names.rank(_last(name), names.TYPES) >= 0
        if typed and amount[1] > 0 and _OUT.match(str(value).strip()):
            return -amount[1]
    return amount[1]


def _dates(record: dict[str, Any]) -> Iterable[str]:
    dated = {
        name: value
        for name, value in flat(record).items()
        if isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\d", value)
    }
    pairs = [
        (
            [n for n in dated if names.rank(_last(n), names.ISSUED) >= 0],
            [n for n in dated if names.rank(_last(n), names.DUE) >= 0],
        ),
        (
            [n for n in dated if _START.search(names.words_of(_last(n)))],
            [n for n in dated if _END.search(names.words_of(_last(n)))],
        ),
    ]
    for before, after in pairs:
        if before and after and dated[before[0]][:10] > dated[after[0]][:10]:
            yield f"{after[0]} {dated[after[0]]} is before {before[0]} {dated[before[0]]}"


def _currencies(value: Any) -> Iterable[str]:
    found: Counter[str] = Counter()

    def walk(item: Any) -> None:
        if isinstance(item, dict):
            for name, inner in item.items():
                if _CURRENCY.search(names.words_of(name)) and isinstance(inner, str) and inner:
                    found[inner] += 1
                walk(inner)
        elif isinstance(item, list):
            for inner in item:
                walk(inner)

    walk(value)
    if len(found) > 1:
        yield f"several currencies: {', '.join(sorted(found))}"
