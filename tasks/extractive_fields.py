"""The built-in answerer's extraction: values that stand behind the labels a schema asks for.

No language model: a field is found where the page has its name as a label, a list where a table
has the fields' names as columns. What isn't found is left out, for a person to see.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from deskwork.tasks.schema import resolved

_PAGE = re.compile(r"^## Page (\d+)\n\n", re.M)
_DATE_FORMS = ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%B %d, %Y", "%d %B %Y", "%b %d, %Y")
_DATE = re.compile(
    r"\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{4}"
    r"|[A-Z][a-z]+ \d{1,2}, \d{4}|\d{1,2} [A-Z][a-z]+ \d{4}"
)
_NUMBER = re.compile(r"-?\(?\d[\d,.' ]*\d\)?|-?\d")
_SAME = {"number": "no|nr|num|#", "amount": "sum", "vat": "tax", "tax": "vat"}
_BOOLEANS = {"yes": True, "true": True, "no": False, "false": False}
_FILLERS = {"the", "of", "and"}


def extraction(brief: str) -> str:
    """The answer to an extraction's opening: one document, its record and its evidence."""
    schema = json.loads(brief.partition("```json\n")[2].partition("\n```")[0])
    pages = _pages(brief)
    record: dict[str, Any] = {}
    evidence: dict[str, dict[str, Any]] = {}
    for name, field in schema.get("properties", {}).items():
        field = resolved(field, schema)
        if field.get("type") == "array":
            rows = _table(name, resolved(field.get("items", {}), schema), pages, evidence)
            if rows:
                record[name] = rows
            continue
        found = _value(name, field, pages)
        if found:
            record[name], evidence[f"/{name}"] = found
    if not record:
        return '{"documents": []}'
    kind = str(schema.get("title", "document")).lower()
    documents = [
        {"kind": kind, "pages": [n for n, _ in pages], "record": record, "evidence": evidence}
    ]
    return json.dumps({"documents": documents}, ensure_ascii=False)


def _pages(brief: str) -> list[tuple[int, str]]:
    parts = _PAGE.split(brief)[1:]
    return [(int(number), text) for number, text in zip(parts[::2], parts[1::2], strict=True)]


def _words(name: str) -> list[str]:
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " ").replace("-", " ")
    return [word for word in spaced.lower().split() if word not in _FILLERS]


def _label(name: str) -> re.Pattern[str]:
    """A field's name as a page may print it: `Invoice No.` for invoice_number."""
    forms = [
        f"(?:{re.escape(word)}|{_SAME[word]})" if word in _SAME else re.escape(word)
        for word in _words(name)
    ]
    return re.compile(r"(?i)(?<![\w])" + r"[\s._-]*".join(forms) + r"\.?(?![\w])")


def _value(
    name: str, field: dict[str, Any], pages: Sequence[tuple[int, str]]
) -> tuple[Any, dict[str, Any]] | None:
    label = _label(name)
    for number, text in pages:
        for line in text.splitlines():
            match = label.search(line)
            if match is None:
                continue
            value = _typed(line[match.end() :], field)
            if value is not None:
                return value, {"page": number, "quote": line.strip()}
    return None


def _typed(text: str, field: dict[str, Any]) -> Any:
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
        return {"yes": True, "true": True, "no": False, "false": False}.get(
            text[:5].strip().lower()
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


def _table(
    name: str,
    item: dict[str, Any],
    pages: Sequence[tuple[int, str]],
    evidence: dict[str, dict[str, Any]],
) -> list[dict[str, Any]]:
    """The rows of the first table whose head names at least half of the item's fields."""
    fields = item.get("properties", {})
    for number, text in pages:
        for head, lines in _tables(text):
            columns = {
                field: at
                for field in fields
                for at, cell in enumerate(head)
                if _label(field).fullmatch(cell.strip())
            }
            if not fields or len(columns) * 2 < len(fields):
                continue
            rows: list[dict[str, Any]] = []
            for line in lines:
                cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
                row = {
                    field: value
                    for field, at in columns.items()
                    if at < len(cells) and (value := _typed(cells[at], fields[field])) is not None
                }
                if len(row) * 2 >= len(columns):
                    for field in row:
                        place = {"page": number, "quote": line.strip()}
                        evidence[f"/{name}/{len(rows)}/{field}"] = place
                    rows.append(row)
            return rows
    return []


def _tables(text: str) -> Iterator[tuple[list[str], list[str]]]:
    """(cells of the head, lines of the body) of each Markdown table of a page."""
    lines = text.splitlines()
    for at, line in enumerate(lines[1:], 1):
        if re.fullmatch(r"\|?[\s:|-]*-[\s:|-]*\|?", line.strip()) and "|" in lines[at - 1]:
            body = []
            for row in lines[at + 1 :]:
                if "|" not in row:
                    break
                body.append(row)
            yield lines[at - 1].strip().strip("|").split("|"), body
