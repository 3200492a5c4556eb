"""Rows of tables as they are asked for: a label, and each figure under its column's heading."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from deskwork.tools.documents import Table
from deskwork.tools.questions import stem, tokenize
from deskwork.tools.snippets import terms_of

MOST_ROWS = 5_000
"""Rows of one table that are looked through."""
_FIGURE = re.compile(
    r"[-(\u2212\s]*[$€£¥]?\s*\(?\s*(?:\d[\d.,' \u00a0]*|[-\u2013\u2014])\s*%?\)?\s*%?"
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_TELLS = re.compile(r"(?i)(?:19|20)\d\d|\b(?:months?|weeks?|quarters?|years?) ended\b")
_HEADINGS = 8
"""Rows at the top of a table that may be headings."""


@dataclass(frozen=True)
class Cell:
    """A figure of a row: its column's heading, its text, and its name in a workbook or ""."""

    column: str
    value: str
    cell: str = ""


@dataclass(frozen=True)
class Row:
    """A row of a table, with the table's title and what it says of unit and scale."""

    table: str
    unit: str
    label: str
    cells: tuple[Cell, ...]

    def __str__(self) -> str:
        """One line: ``label | 2018: (1,577) [B7] | 2017: (1,373) [C7] ($ in millions)``."""
        parts = [" ".join(self.label.split()) or "(no label)"]
        for cell in self.cells:
            named = f" [{cell.cell}]" if cell.cell else ""
            head = f"{cell.column}: " if cell.column else ""
            parts.append(f"{head}{' '.join(cell.value.split())}{named}")
        return " | ".join(parts) + (f" ({self.unit})" if self.unit else "")

    def as_json(self) -> dict[str, Any]:
        """Plain values: ``table``, ``unit``, ``label``, ``cells`` of ``column, value, cell``."""
        return asdict(self)


def is_figure(text: str) -> bool:
    """Whether a cell holds a figure, or a dash for none, and nothing else."""
    return bool(_FIGURE.fullmatch(text.strip()))


def headings(table: Table) -> int:
    """How many rows at the top are headings: those before the first with a label and a figure."""
    for number, row in enumerate(table.rows[:_HEADINGS]):
        figures = [cell.strip() for cell in row[1:] if cell.strip() and is_figure(cell)]
        if any(not _YEAR.fullmatch(cell) for cell in figures):
            return number
    return min(1, len(table.rows))


def row_at(table: Table, number: int) -> Row:
    """A row by its place in the table, each figure under its heading."""
    row = table.rows[number]
    first = next((place for place, cell in enumerate(row) if is_figure(cell)), len(row))
    # A year or a number may be the label itself, where nothing stands before it.
    first = max(first, 1)
    cells = [
        Cell(heading_over(table, number, place), cell, table.cell_name(number, place))
        for place, cell in enumerate(row)
        if place >= first and cell.strip()
    ]
    label = " ".join(" ".join(row[:first]).split())
    return Row(table.title, table.unit, label, tuple(cells))


def heading_over(table: Table, number: int, place: int) -> str:
    """What the headings of a table say over a cell of its row ``number``.

    A row of headings may lack the label's cell, and one cell of it may stand over several columns.
    """
    width = len(table.rows[number])
    parts = (_over(cells, width, place) for cells in table.rows[: headings(table)])
    return " ".join(dict.fromkeys(part for part in parts if part))


def _over(cells: Sequence[str], width: int, place: int) -> str:
    columns = width - 1
    if len(cells) < width and columns % len(cells) == 0 and all(map(_TELLS.search, cells)):
        return cells[(place - 1) // (columns // len(cells))].strip() if place else ""
    return cells[place].strip() if place < len(cells) else ""


def named_row(tables: Sequence[Table], cell: str) -> Row | None:
    """The row that a cell of a workbook stands in, with that cell alone; None if it is empty."""
    for table in tables:
        for number, row in enumerate(table.rows if table.numbers else ()):
            if not cell.endswith(str(table.numbers[number])):
                continue
            for column, value in enumerate(row):
                if table.cell_name(number, column) == cell and value.strip():
                    found = Cell(heading_over(table, number, column), value, cell)
                    label = "" if column == 0 else " ".join(row[0].split())
                    return Row(table.title, table.unit, label, (found,))
    return None


def best_row(tables: Sequence[Table], query: str) -> Row | None:
    """The row with figures that answers a question best, or None where none speaks of it."""
    # A year stands in the headings, not in a label.
    terms = [(words, weight) for words, weight in terms_of(query) if not _YEAR.match(min(words))]
    asked = {stem(word) for word in tokenize(query)}
    best: tuple[float, Table, int] | None = None
    for table in tables:
        top = headings(table)
        for number, row in enumerate(table.rows[top:MOST_ROWS], top):
            if not any(is_figure(cell) for cell in row[1:]):
                continue
            label = " ".join(cell for cell in row if not is_figure(cell))
            said = [stem(word) for word in tokenize(label)]
            fits = [weight * len(words) ** 0.5 for words, weight in terms if words <= set(said)]
            value = max(fits, default=0.0)
            if value > 0:
                # What the question itself says counts more than what filings say for it, and of
                # two rows with the same words the one that says nothing else is meant.
                value += 4 * sum(word in asked for word in said) / (len(said) + 1)
            if value > 0 and (best is None or value > best[0]):
                best = (value, table, number)
    return row_at(best[1], best[2]) if best else None
