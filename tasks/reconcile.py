"""What should agree in a record: totals with their parts, dates with each other, currencies.

The schema is anybody's, so fields are known by their names. A rule that doesn't find its fields
says nothing; one that does and disagrees gives a sentence for the exceptions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

_TOLERANCE = 0.01
"""Money: rounding of each line may add up to a cent or two."""
_TOTAL = re.compile(r"(?i)(^|_)(grand_?total|total(_amount)?|amount_due|total_due|gross)$")
_NET = re.compile(r"(?i)(^|_)(sub_?total|net(_amount|_total)?)$")
_TAX = re.compile(r"(?i)(^|_)(tax|vat|gst|sales_tax)(_amount|_total)?$")
_LINE = re.compile(r"(?i)(^|_)(amount|total|line_total|net|price_total)$")
_ISSUED = re.compile(r"(?i)(issue|invoice|statement|order)_?date$|^date$")
_DUE = re.compile(r"(?i)(due|payment)_?date$")
_START = re.compile(r"(?i)(start|from|begin)(_?date)?$")
_END = re.compile(r"(?i)(end|to|until)(_?date)?$")
_CURRENCY = re.compile(r"(?i)currency(_code)?$")


def disagreements(record: dict[str, Any]) -> list[str]:
    """What does not add up in a record, as sentences."""
    return [*_totals(record), *_dates(record), *_currencies(record)]


def _field(record: dict[str, Any], pattern: re.Pattern[str], kind: type) -> tuple[str, Any] | None:
    kinds = (int, float) if kind is float else (kind,)
    for name, value in record.items():
        if pattern.search(name) and isinstance(value, kinds) and not isinstance(value, bool):
            return name, value
    return None


def _totals(record: dict[str, Any]) -> Iterable[str]:
    total, net, tax = (_field(record, pattern, float) for pattern in (_TOTAL, _NET, _TAX))
    if total and net and tax and abs(net[1] + tax[1] - total[1]) > 2 * _TOLERANCE:
        yield (
            f"{net[0]} {net[1]:,.2f} and {tax[0]} {tax[1]:,.2f} make {net[1] + tax[1]:,.2f}, "
            f"but {total[0]} is {total[1]:,.2f}"
        )
    for name, value in record.items():
        if not isinstance(value, list) or not value or not all(isinstance(v, dict) for v in value):
            continue
        lines = [_field(row, _LINE, float) for row in value]
        amounts = [line[1] for line in lines if line]
        wholes = [whole for whole in (net, total) if whole]
        if len(amounts) != len(value) or not wholes:
            continue
        added, most = sum(amounts), _TOLERANCE * (len(amounts) + 1)
        if all(abs(added - whole[1]) > most for whole in wholes):
            named = " or ".join(f"{whole[0]} {whole[1]:,.2f}" for whole in wholes)
            yield f"the {len(amounts)} {name} add up to {added:,.2f}, not to {named}"


def _dates(record: dict[str, Any]) -> Iterable[str]:
    for first, last in ((_ISSUED, _DUE), (_START, _END)):
        before, after = _field(record, first, str), _field(record, last, str)
        dated = before and after and _is_date(before[1]) and _is_date(after[1])
        if before and after and dated and before[1][:10] > after[1][:10]:
            yield f"{after[0]} {after[1]} is before {before[0]} {before[1]}"


def _is_date(text: str) -> bool:
    return bool(re.match(r"\d{4}-\d\d-\d\d", text))


def _currencies(value: Any) -> Iterable[str]:
    found: Counter[str] = Counter()

    def walk(item: Any) -> None:
        if isinstance(item, dict):
            for name, inner in item.items():
                if _CURRENCY.search(name) and isinstance(inner, str) and inner:
                    found[inner] += 1
                walk(inner)
        elif isinstance(item, list):
            for inner in item:
                walk(inner)

    walk(value)
    if len(found) > 1:
        yield f"several currencies: {', '.join(sorted(found))}"
