"""The columns of an HTML table: which cells stand over one another, whatever they span.

Filings lay tables out in many narrow columns: "$", the number and ")" in one each, blank ones
between, headings over several. Numbers that overlap are one column here; a heading stands in each
column it spans, so that every figure can be asked what is over it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from deskwork.tools.rows import is_figure

MAX_SPAN = 200
_SPACE = re.compile(r"[ \t\r\n\u00a0]+")
_OPENS = re.compile(r"[$€£¥(]|[$€£¥]\s*\(")
_CLOSES = re.compile(r"[)%]+")


@dataclass(frozen=True)
class Cell:
    """A cell's text and the columns of the grid it spans, ``end`` not among them."""

    text: str
    start: int
    end: int


def rows_of(table: Any) -> list[list[Cell]]:
    """The rows of an lxml table with what they hold; lone signs are joined to their number."""
    rows: list[list[Cell]] = []
    below: dict[int, int] = {}  # column → rows that a cell above still reaches into
    for row in table.iter("tr"):
        cells, at = list[Cell](), 0
        taken, below = below, {column: left - 1 for column, left in below.items() if left > 1}
        for cell in row.iter("td", "th"):
            while taken.get(at):
                at += 1
            wide = _span(cell.get("colspan"))
            if (deep := _span(cell.get("rowspan"))) > 1:
                below |= dict.fromkeys(range(at, at + wide), deep - 1)
            if text := _text(cell):
                cells.append(Cell(text, at, at + wide))
            at += wide
        if cells:
            rows.append(_joined(cells))
    return rows


def aligned(rows: Sequence[Sequence[Cell]]) -> list[tuple[str, ...]]:
    """The rows with a cell for each column, empty ones too; a spanning text stands in each."""
    columns = _columns(rows)
    return [_placed(row, columns) for row in rows]


def _span(told: str | None) -> int:
    return min(int(told), MAX_SPAN) if told and told.isdecimal() and int(told) else 1


def _text(cell: Any) -> str:
    parts = [cell.text or ""]
    for node in cell.iterdescendants():
        # Lines of a heading are told apart by a break alone: "June 30,<br>2025".
        parts += [" " if node.tag in ("br", "div", "p") else "", node.text or "", node.tail or ""]
    # What comes behind the cell is its row's.
    return _SPACE.sub(" ", "".join(parts)).strip()


def _joined(cells: Sequence[Cell]) -> list[Cell]:
    joined: list[Cell] = []
    for cell in cells:
        opens = joined and _OPENS.fullmatch(joined[-1].text)
        if opens or (joined and _CLOSES.fullmatch(cell.text)):
            joined[-1] = Cell(joined[-1].text + cell.text, joined[-1].start, cell.end)
        else:
            joined.append(cell)
    return joined


def _columns(rows: Sequence[Sequence[Cell]]) -> list[tuple[int, int]]:
    """The columns: what the figures of all rows overlap in, and the labels before and between."""
    figures = [(c.start, c.end) for row in rows for c in row[1:] if is_figure(c.text)]
    columns = _merged(figures)
    rest = [
        (c.start, c.end)
        for row in rows
        for c in row
        if not any(_overlap((c.start, c.end), column) for column in columns)
    ]
    return sorted([*columns, *_merged(rest)])


def _merged(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(set(ranges)):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _placed(row: Sequence[Cell], columns: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    placed = [""] * len(columns)
    for cell in row:
        own = [n for n, column in enumerate(columns) if _overlap((cell.start, cell.end), column)]
        # What begins where the labels do is a label or a title, however much it spans.
        for n in own[:1] if cell.start == 0 or is_figure(cell.text) else own:
            placed[n] = f"{placed[n]} {cell.text}".strip()
    return tuple(placed)


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]
