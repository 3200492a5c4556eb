"""The built-in answerer's tables: rows under a head that names the fields of a line or a record.

A table stands on the page as Markdown rows, or as lines of plain text in which a row's cells
follow each other with no mark between them, as PDF pages have them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from deskwork.tasks import field_names
from deskwork.tasks.extractive_fields import Shown, is_column, label_of, typed

_RULE = re.compile(r"\|?[\s:|-]*-[\s:|-]*\|?")
_ONE_WORD = ("number", "integer", "boolean")


@dataclass(frozen=True)
class Row:
    """A row's values by field, and the evidence that all of them have."""

    values: dict[str, Any]
    evidence: dict[str, Any]


def rows_in(pages: Sequence[Shown], fields: dict[str, dict[str, Any]], least: int) -> list[Row]:
    """The rows of the first table whose head names at least ``least`` of the fields.

    A table with the same head goes on with it, on the same page or a later one.
    """
    head: tuple[str, ...] = ()
    rows: list[Row] = []
    for page in pages:
        tables = list(_marked(page, fields, least)) or list(_plain(page, fields, least))
        for columns, body in tables:
            found = list(_rows(page, fields, columns, body))
            if found and head in ((), columns):
                head = columns
                rows += found
    return rows


Body = list[tuple[str, list[str]]]
"""(line as it stands on the page, its cells) of each row below a head."""


def _marked(
    page: Shown, fields: dict[str, dict[str, Any]], least: int
) -> Iterator[tuple[tuple[str, ...], Body]]:
    """(a field or "" for each column, rows) of the tables that stand there in Markdown rows."""
    own = {_key(line): line.strip() for line in page.text.splitlines()}
    columns: tuple[str, ...] = ()
    body: Body = []
    # Where the text has the rows itself, its tables are the same once more.
    marked = any(line.lstrip().startswith("|") for line in page.text.splitlines())
    lines = page.text if marked else page.tables
    for line in [*lines.splitlines(), ""]:
        if _RULE.fullmatch(line.strip()) and "|" in line:
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        named = _columns(cells, fields) if "|" in line else ()
        if len(set(named) - {""}) >= max(least, 1) or "|" not in line:
            if columns and body:
                yield columns, body
            columns, body = named, []
        elif columns and (shown := own.get(_key(line))):
            body.append((shown, cells))


def _columns(cells: Sequence[str], fields: dict[str, dict[str, Any]]) -> tuple[str, ...]:
    named: list[str] = []
    for cell in cells:
        exact = [f for f in fields if f not in named and label_of(f).fullmatch(cell.strip("*: "))]
        close = exact or [f for f in fields if f not in named and is_column(f, cell)]
        named.append(close[0] if close else "")
    return tuple(named)


def _plain(
    page: Shown, fields: dict[str, dict[str, Any]], least: int
) -> Iterator[tuple[tuple[str, ...], Body]]:
    """The same for tables of plain text; their rows end at the first line that is none."""
    lines = page.text.splitlines()
    for at, line in enumerate(lines):
        columns = () if "|" in line else _head(line, fields)
        if len(columns) < max(least, 2):
            continue
        body: Body = []
        for row in lines[at + 1 :]:
            cells = _cells(row, columns, fields)
            if cells:
                body.append((row.strip(), cells))
            elif row.strip():
                break
        if body:
            yield columns, body


def _head(line: str, fields: dict[str, dict[str, Any]]) -> tuple[str, ...]:
    """The fields that a line consists of, in its order; none where it holds other words."""
    wide = re.split(r"\s{2,}|\t", line.strip())
    if len(wide) > 1 and all(_columns(wide, fields)):
        return _columns(wide, fields)
    spots: list[tuple[int, int, str]] = []
    for field in sorted(fields, key=len, reverse=True):
        for match in label_of(field).finditer(line):
            if all(match.end() <= start or match.start() >= end for start, end, _ in spots):
                spots.append((match.start(), match.end(), field))
                break
    rest = line
    for start, end, _ in spots:
        rest = rest[:start] + " " * (end - start) + rest[end:]
    return () if rest.strip() else tuple(field for _, _, field in sorted(spots))


def _cells(line: str, columns: Sequence[str], fields: dict[str, dict[str, Any]]) -> list[str]:
    """A row's cells; none where the line does not fall into them."""
    line = re.sub(r"([€$£¥])\s+(?=[\d-])", r"\1", line.strip())
    wide = re.split(r"\s{2,}|\t", line)
    words = wide if len(wide) == len(columns) else line.split()
    if len(words) > len(columns):
        texts = [at for at, field in enumerate(columns) if not _is_one_word(fields[field])]
        if len(texts) != 1:
            return []
        after = len(columns) - texts[0] - 1
        end = len(words) - after
        middle = " ".join(words[texts[0] : end])
        words = [*words[: texts[0]], middle, *words[end:]]
    if len(words) != len(columns):
        return []
    for word, name in zip(words, columns, strict=True):
        plain = re.fullmatch(r"[-+(]?[A-Z]{0,3}[€$£¥]?[-+]?[\d.,']+[%)]?-?[A-Z€$£¥]{0,3}", word)
        if fields[name].get("type") in ("number", "integer") and not plain:
            return []
        if typed(word, fields[name]) is None:
            return []
    return words


def _is_one_word(field: dict[str, Any]) -> bool:
    return field.get("type") in _ONE_WORD or field.get("format") == "date"


def _rows(
    page: Shown, fields: dict[str, dict[str, Any]], columns: Sequence[str], body: Body
) -> Iterator[Row]:
    named = [(at, field) for at, field in enumerate(columns) if field]
    fullest = 0
    for line, cells in body:
        values = {
            field: value
            for at, field in named
            if at < len(cells) and (value := typed(cells[at], fields[field])) is not None
        }
        # A row with fewer cells than the head is beside the table: `| Net | 422.00 |` in a sheet.
        if len(cells) <= named[-1][0] or len(values) * 2 < len(named):
            if fullest:
                break
            continue
        if len(values) < fullest and field_names.NO_LINE.search(line):
            continue
        fullest = max(fullest, len(values))
        yield Row(values, {"page": page.number, "quote": line})


def _key(line: str) -> str:
    return "".join(letter for letter in line if letter.isalnum() or letter in "+-").casefold()
