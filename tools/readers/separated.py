"""Comma, semicolon and tab separated tables, their rows kept as rows."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from deskwork.tools.documents import Document, Page, Table, markdown_row, paginate
from deskwork.tools.errors import BadFile
from deskwork.tools.readers.encodings import decode
from deskwork.tools.readers.source import Source


def read(source: Source) -> Document:
    """Every page begins with the header row, so that a number never loses its column's name."""
    text, encoding = decode(source.data)
    delimiter = _delimiter(text)
    # A cell may be longer than csv's default bound of 131,072 characters (notes, JSON).
    csv.field_size_limit(max(len(text), csv.field_size_limit()))
    reader = csv.reader(io.StringIO(text.replace("\x00", ""), newline=""), delimiter=delimiter)
    numbered = [
        (number, tuple(row))
        for number, row in enumerate(reader, 1)
        if any(cell.strip() for cell in row)
    ]
    rows = [row for _, row in numbered]
    numbers = [number for number, _ in numbered]
    if not rows:
        raise BadFile(f"{source.name} is empty: it holds no rows.")
    return Document(
        file=source.name,
        kind=source.kind,
        pages=pages_of(rows, numbers),
        metadata={"encoding": encoding, "delimiter": delimiter, "rows": len(rows)},
    )


def pages_of(rows: Sequence[tuple[str, ...]], numbers: Sequence[int]) -> tuple[Page, ...]:
    """Pages of a table whose first row is its heading; ``numbers`` are the rows' own."""
    head, *body = rows
    lines = [markdown_row(row) for row in body]
    pages: list[Page] = []
    start = 0
    for chunk in paginate(lines) or [""]:
        count = chunk.count("\n") + 1 if chunk else 0
        text_of_page = "\n".join(filter(None, [markdown_row(head), chunk]))
        places = (numbers[0], *numbers[start + 1 : start + 1 + count])
        table = Table((head, *body[start : start + count]), numbers=places)
        pages.append(Page(len(pages) + 1, text_of_page, tables=(table,)))
        start += count
    return tuple(pages)


def _delimiter(text: str) -> str:
    """The separator that splits the first lines into the same number of cells, more than one."""
    sample = [line for line in text.splitlines()[:20] if line.strip()]
    best, best_score = ",", 0.0
    for candidate in (",", ";", "\t", "|"):
        counts = [line.count(candidate) for line in sample]
        if not counts or not max(counts):
            continue
        commonest = max(set(counts), key=counts.count)
        score = commonest * counts.count(commonest) / len(counts)
        if score > best_score:
            best, best_score = candidate, score
    return best
