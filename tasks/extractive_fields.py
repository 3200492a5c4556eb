"""The built-in answerer's fields: values that stand behind the labels a schema asks for.

No language model: a field is found where the page has its name as a label, and typed as the
schema says. What isn't found is left out, for a person to see.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from deskwork.tasks import field_names

_DATE_FORMS = ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%B %d, %Y", "%d %B %Y", "%b %d, %Y")
_DATE = re.compile(
    r"\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{4}"
    r"|[A-Z][a-z]+ \d{1,2}, \d{4}|\d{1,2} [A-Z][a-z]+ \d{4}"
)
_NUMBER = re.compile(r"-?\(?\d[\d,.' ]*\d\)?|-?\d")
_SAME = {"number": "no|nr|num|#", "amount": "sum", "vat": "tax", "tax": "vat"}
_FILLERS = {"the", "of", "and"}
_MEANINGS = (field_names.QUANTITY, field_names.PRICE, field_names.LINE)


@dataclass(frozen=True)
class Shown:
    """A page as the request shows it; ``tables`` are its tables' rows below the text, if any.

    ``title`` names the attachment that the page belongs to, "" for the file's own.
    """

    number: int
    title: str
    text: str
    tables: str = ""


def _words(name: str) -> list[str]:
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " ").replace("-", " ")
    return [word for word in spaced.lower().split() if word not in _FILLERS]


def label_of(name: str) -> re.Pattern[str]:
    """A field's name as a page may print it: `Invoice No.` for invoice_number."""
    forms = [
        f"(?:{re.escape(word)}|{_SAME[word]})" if word in _SAME else re.escape(word)
        for word in _words(name)
    ]
    return re.compile(r"(?i)(?<![\w])" + r"[\s._-]*".join(forms) + r"\.?(?![\w])")


def is_column(field: str, cell: str) -> bool:
    """Whether a column's head names a field, in its own words or in others for the same."""
    words = cell.strip().strip("*:")
    if label_of(field).fullmatch(words):
        return True
    pairs = ((field_names.rank(field, m), field_names.rank(words, m)) for m in _MEANINGS)
    return any(own >= 0 and other >= 0 for own, other in pairs)


def value_of(
    name: str, field: dict[str, Any], pages: Sequence[Shown]
) -> tuple[Any, dict[str, Any]] | None:
    """A field's value and its evidence: behind a line's first words, else anywhere in a line."""
    label = label_of(name)
    for first in (True, False):
        for page in pages:
            for line in page.text.splitlines():
                match = label.search(line)
                if match is None or (first and line[: match.start()].strip(" |*#-")):
                    continue
                value = typed(line[match.end() :], field)
                if value is not None:
                    return value, {"page": page.number, "quote": line.strip()}
    return None


def typed(text: str, field: dict[str, Any]) -> Any:
    """The value at the start of a text, of the field's type; None where none stands there."""
    text = re.sub(r"^(?:[\s:|#=]|-\s)*(?=[\w(£$€-])", "", text)
    if choices := field.get("enum"):
        return next((c for c in choices if str(c).lower() in text.lower()[:60]), None)
    kind = field.get("type")
    if kind in ("number", "integer"):
        return _number(text, whole=kind == "integer")
    if field.get("format") == "date":
        return _date(text)
    if kind == "boolean":
        found = re.match(r"[a-z]+", text.lower())
        return {"yes": True, "true": True, "no": False, "false": False}.get(
            found.group() if found else ""
        )
    value = re.split(r"\s{2,}|\s*\|\s*|\t", text.strip())[0].strip(" :|")
    return value or None


def _number(text: str, *, whole: bool) -> int | float | None:
    match = _NUMBER.search(text[:40])
    if match is None:
        return None
    digits = re.sub(r"[ ']", "", match.group())
    negative = digits.startswith(("-", "(")) or digits.endswith(")")
    digits = digits.strip("-()").rstrip(".,")
    point = max(digits.rfind("."), digits.rfind(","))
    if point >= 0 and len(digits) - point - 1 != 3:
        digits = re.sub(r"[.,]", "", digits[:point]) + "." + digits[point + 1 :]
    else:
        digits = re.sub(r"[.,]", "", digits)
    value = -float(digits) if negative else float(digits)
    if whole:
        return int(value) if value == int(value) else None
    return value


def _date(text: str) -> str | None:
    match = _DATE.search(text[:40])
    for form in _DATE_FORMS if match else ():
        try:
            return datetime.strptime(match.group(), form).date().isoformat()  # type: ignore[union-attr]
        except ValueError:
            continue
    return None
