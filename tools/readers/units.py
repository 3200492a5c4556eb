"""What titles say of unit and scale: "shares in Thousands, $ in Millions", "(₹ in crores)"."""

from __future__ import annotations

import re
from collections.abc import Iterable

_SCALE = (
    r"(?:hundreds|thousands?|millions?|billions?|trillions?|crores?|lakhs?|lacs|mn|bn|000s?|'000s?"
    r"|tausend|mio\.?|millionen|mrd\.?|milliarden|milliers|milliards)"
)
_MONEY = (
    r"(?:U\.?S\.? ?dollars?|dollars?|euros?|pounds|rupees|yen|francs|USD|EUR|GBP|CHF|JPY|INR|CNY"
    r"|RMB|CAD|AUD|SEK|NOK|DKK|US\$|Rs\.?|[$€£¥₹])"
)
_PHRASE = re.compile(
    rf"(?:{_MONEY}|shares|amounts?|figures|tabular amounts|values|dollars)?\s*"
    rf"\b(?:in|of)\s+(?:{_MONEY}\s+)?{_SCALE}(?:\s+of\s+{_MONEY}\b|\s+{_MONEY})?(?!\w)"
    rf"|(?:{_MONEY})\s?(?:{_SCALE}|'?000s?|m|k|bn|mm)\b"
    rf"|\b(?:in|en)\s+(?:{_SCALE}\s+)?{_MONEY}(?![\w$])"
    rf"|\({_SCALE}(?:\s+of\s+{_MONEY}\b)?(?=[\s,;)])",
    re.I,
)
_LONGEST = 300  # characters of a line that may be a title


def unit_of(lines: Iterable[str]) -> str:
    """The phrases of the first line that has any, joined by commas; "" where none has."""
    for line in lines:
        if len(line) > _LONGEST:
            continue
        found = [" ".join(match.group().strip("(").split()) for match in _PHRASE.finditer(line)]
        # "increase of millions" in a sentence is no unit: "of" needs money before it.
        kept = [phrase for phrase in found if not phrase.lower().startswith("of ")]
        if kept:
            return ", ".join(dict.fromkeys(kept))
    return ""
