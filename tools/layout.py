"""Where things stand on a page: its tables, and the box or the cells of a passage.

Tables and word boxes are stored packed, apart from the text, and are read only where a place is
asked for.
"""

from __future__ import annotations

import json
import re
import zlib
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from deskwork.tools.documents import Box, Page, Table, markdown_row

_FINENESS = 10  # parts of a point: what is stored of a box


@dataclass(frozen=True)
class Place:
    """Where a passage stands: its ``box`` in points from the page's left and bottom edge as it is
    shown, or its ``cell`` in a workbook (``Sheet1!B7`` or ``Sheet1!A7:C7``); None and "" if
    neither is known.
    """

    box: Box | None = None
    cell: str = ""


def packed(page: Page) -> tuple[bytes | None, bytes | None]:
    """A page's tables and word boxes, as they are stored."""
    tables = boxes = None
    if page.tables:
        value = [table.to_json() for table in page.tables]
        tables = zlib.compress(json.dumps(value, ensure_ascii=False).encode(), 1)
    if page.boxes:
        numbers = (round(edge * _FINENESS) for box in page.boxes for edge in box)
        boxes = zlib.compress(array("i", numbers).tobytes(), 1)
    return tables, boxes


def tables_of(stored: bytes | None) -> list[Table]:
    """The tables of a page, as they were read."""
    if stored is None:
        return []
    return [Table.from_json(value) for value in json.loads(zlib.decompress(stored))]


def boxes_of(stored: bytes | None) -> list[Box]:
    """The boxes of a page's first words, in order."""
    if stored is None:
        return []
    numbers = array("i")
    numbers.frombytes(zlib.decompress(stored))
    edges = [number / _FINENESS for number in numbers]
    return [
        (edges[at], edges[at + 1], edges[at + 2], edges[at + 3]) for at in range(0, len(edges), 4)
    ]


def place_of(
    text: str, start: int, end: int, title: str, tables: Sequence[Table], boxes: Sequence[Box]
) -> Place:
    """The place of a passage, ``start`` to ``end`` in a page's text."""
    if boxes:
        return Place(box=_box(text, start, end, boxes))
    if tables and tables[0].numbers:
        return Place(cell=_cells(text, start, end, title, tables[0]))
    return Place()


def _box(text: str, start: int, end: int, boxes: Sequence[Box]) -> Box | None:
    first = len(text[:start].split())
    if start and not text[start - 1].isspace() and first:
        first -= 1  # the passage begins inside a word
    inside = boxes[first : first + len(text[start:end].split())]
    if not inside:
        return None
    return (
        min(box[0] for box in inside),
        min(box[1] for box in inside),
        max(box[2] for box in inside),
        max(box[3] for box in inside),
    )


def _cells(text: str, start: int, end: int, title: str, table: Table) -> str:
    """The cells that a passage touches; "" for one beside the rows (a comment, a name)."""
    at = text.find("\n") + 1 if text.startswith("Sheet: ") else 0
    names: list[str] = []
    for number, row in enumerate(table.rows):
        line_end = at + len(markdown_row(row))
        if line_end > start and at < end:
            spans = _spans(text[at:line_end], at)
            names += [
                table.cell_name(number, column)
                for column, (left, right) in enumerate(spans)
                if left < end and right > start and text[left:right].strip()
            ]
        at = line_end + 1
        if at >= end:
            break
    if not names:
        return ""
    sheet = f"{title}!" if title else ""
    return sheet + (names[0] if len(names) == 1 else f"{names[0]}:{names[-1]}")


def _spans(line: str, at: int) -> list[tuple[int, int]]:
    """Where each cell of a Markdown row stands."""
    bars = [match.start() for match in re.finditer(r"(?<!\\)\|", line)]
    return [(at + a + 1, at + b) for a, b in pairwise(bars)]
