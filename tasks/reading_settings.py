"""How files are read: the table ``[reading]`` of ``deskwork.toml``, and ``passwords``."""

from __future__ import annotations

from typing import Any

from deskwork.tools.errors import WrongUse
from deskwork.tools.readers import Limits, Reading


def read_reading(rows: dict[str, Any], passwords: Any) -> Reading:
    """The table ``[reading]`` and the list ``passwords``. Raises `WrongUse` for a wrong form."""
    if not isinstance(passwords, list) or not all(isinstance(word, str) for word in passwords):
        raise WrongUse(
            "`passwords` in deskwork.toml is no list of texts.", 'Write passwords = ["...", "..."].'
        )
    by_ocr = rows.get("ocr", False)
    try:
        limits = Limits(**{key: value for key, value in rows.items() if key != "ocr"})
        wrong = any(type(value) is bool or value <= 0 for value in vars(limits).values())
    except TypeError:
        wrong = True
    if wrong or not isinstance(by_ocr, bool):
        raise WrongUse(
            "The table [reading] in deskwork.toml is not of the right form.",
            f"It holds {', '.join(vars(Limits()))}, each a number above 0 for one file, and "
            "`ocr`, true or false.",
        )
    return Reading(tuple(passwords), limits, by_ocr)
