"""The facts of inline XBRL: what a filing's figures are, with scale and sign applied.

On the page a fact may read "(15)" in a table "in millions": the tag holds 15, its ``scale`` is 6,
its ``sign`` is "-", and the brackets stand outside it. The fact is -15000000.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from deskwork.tools.documents import Page, Table, markdown_row, paginate

HEADER = ("concept", "period", "about", "unit", "value")
_NIL = "(nil)"
_MAX_SCALE = 30
# The formats of the transformation registry that write a number in words or with a dash.
_ZERO = re.compile(r"zero|nocontent|fixed-zero", re.I)
_COMMA = re.compile(r"comma[-]?decimal|numcomma", re.I)


@dataclass(frozen=True)
class Fact:
    """One number: ``about`` holds the members of its dimensions, "" for the whole company."""

    concept: str
    period: str
    about: str
    unit: str
    value: str

    @property
    def row(self) -> tuple[str, ...]:
        """The fact under `HEADER`."""
        return (self.concept, self.period, self.about, self.unit, self.value)


def facts(root: Any) -> list[Fact]:
    """Every ``ix:nonFraction`` of a page, in document order."""
    contexts = dict(_named(root, "context"))
    units = {key: _unit(node) for key, node in _named(root, "unit")}
    found = []
    for node in _of(root, "nonfraction"):
        context = contexts.get(node.get("contextref") or node.get("contextRef") or "")
        period, about = _context(context) if context is not None else ("", "")
        unit = units.get(node.get("unitref") or node.get("unitRef") or "", "")
        found.append(Fact(node.get("name") or "", period, about, unit, number(node)))
    return found


def number(node: Any) -> str:
    """The value of a tag as a plain decimal number; its text where it is no number."""
    if any(name.lower().endswith("nil") and value == "true" for name, value in node.items()):
        return _NIL
    text = " ".join(node.text_content().split())
    form = node.get("format") or ""
    if _ZERO.search(form):
        return "0"
    return scaled(text, node.get("scale") or "0", node.get("sign") or "", _COMMA.search(form))


def scaled(text: str, scale: str, sign: str, comma: object = None) -> str:
    """ "15" with scale "6" and sign "-" as "-15000000"; ``comma`` if it separates decimals."""
    plain = text.replace("\u00a0", "").replace(" ", "")
    plain = plain.replace(".", "").replace(",", ".") if comma else plain.replace(",", "")
    try:
        power = int(scale)
        value = Decimal(plain.strip("()$€£"))
    except (ValueError, InvalidOperation):
        return "0" if plain in ("—", "–", "-") else text
    if abs(power) > _MAX_SCALE or not value.is_finite() or abs(value.adjusted()) > 100:
        return text
    value = value.scaleb(power)
    if sign == "-":
        value = -value
    shown = format(value, "f")
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def fact_pages(found: list[Fact], first: int) -> list[Page]:
    """Pages with the facts as a table, each beginning with its header."""
    pages: list[Page] = []
    start = 0
    for chunk in paginate([markdown_row(fact.row) for fact in found]):
        count = chunk.count("\n") + 1
        rows = tuple(fact.row for fact in found[start : start + count])
        start += count
        title = "Inline XBRL facts"
        text = f"{title}, scale and sign applied:\n{markdown_row(HEADER)}\n{chunk}"
        table = Table((HEADER, *rows), title)
        pages.append(Page(first + len(pages), text, (table,), title=title))
    return pages


def _local(node: Any) -> str:
    """The tag without prefix or namespace, in small letters: HTML parsers keep ``ix:`` in it."""
    tag = node.tag if isinstance(node.tag, str) else ""
    return tag.rpartition("}")[2].rpartition(":")[2].lower()


def _of(root: Any, name: str) -> Iterator[Any]:
    for node in root.iter():
        if isinstance(node.tag, str) and node.tag.lower().endswith(name) and _local(node) == name:
            yield node


def _named(root: Any, name: str) -> Iterator[tuple[str, Any]]:
    for node in _of(root, name):
        key = node.get("id")
        if key:
            yield key, node


def _unit(node: Any) -> str:
    measures = [" ".join(part.text_content().split()) for part in _of(node, "measure")]
    return "/".join(measure.rpartition(":")[2] for measure in measures)


def _context(node: Any) -> tuple[str, str]:
    dates = {
        name: " ".join(part.text_content().split())
        for name in ("startdate", "enddate", "instant")
        for part in _of(node, name)
    }
    if "instant" in dates:
        period = dates["instant"]
    else:
        period = f"{dates.get('startdate', '')} to {dates.get('enddate', '')}"
    members = [" ".join(part.text_content().split()) for part in _of(node, "explicitmember")]
    return period, ", ".join(member.rpartition(":")[2] for member in members)
