"""Tables without rules: lines of a label and figures, the figures brought under their columns.

Statements in filings have no upright lines. Their figures end at the same place from row to row,
so columns are told by right edges, and an empty cell doesn't shift the ones after it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from deskwork.tools.documents import Box
from deskwork.tools.readers.pdf_words import Word

_NUMBER = re.compile(
    r"[-–−+(]*[$€£¥₹]?[-–−+(]*\d[\d.,'’]*\d?[)%*†x]*|[$€£¥₹]?[—–-]+[%)]?|\.\.\.|n/?[am]", re.I
)
_SIGN = re.compile(r"[$€£¥₹(]+|[A-Z]{3}\$?")  # stands before its number
_GAP = 0.75  # of a word's height: a wider gap is between columns, a narrower one between words
_EDGE = 7.0  # points by which right edges of one column differ at most
_LEAST_ROWS = 3
_BETWEEN = 3  # lines without figures that may stand between rows: headings of a section
_HEADERS = 4  # lines above the first row that may be its header


@dataclass
class _Cell:
    text: str
    left: float
    right: float

    @property
    def is_number(self) -> bool:
        text = self.text.replace(" ", "")
        # "1." begins an item of a list.
        return _NUMBER.fullmatch(text) is not None and not re.fullmatch(r"\d{1,2}\.", text)


def aligned_tables(
    words: Sequence[Word], taken: Sequence[Box]
) -> list[tuple[tuple[str, ...], ...]]:
    """The rows of each table, from the top down. ``taken`` are places of tables found already."""
    lines = _lines(words, taken)
    tables = []
    start = 0
    while start < len(lines):
        if not _is_row(lines[start]):
            start += 1
            continue
        end = last = start
        count = 0
        while end < len(lines) and end - last <= _BETWEEN:
            if _is_row(lines[end]):
                last = end
                count += 1
            end += 1
        if count >= _LEAST_ROWS:
            above = lines[max(0, start - _HEADERS) : start]
            rows = _table(above, lines[start : last + 1])
            if rows:
                tables.append(rows)
        start = last + 1
    return tables


def _lines(words: Sequence[Word], taken: Sequence[Box]) -> list[list[_Cell]]:
    lines: list[list[_Cell]] = []
    number = -1
    before: Word | None = None
    for word in words:
        if any(
            box[0] <= word.box[0] <= box[2] and box[1] <= word.box[1] <= box[3] for box in taken
        ):
            continue
        if word.line != number or before is None:
            lines.append([])
            number = word.line
        line = lines[-1]
        left, _, right, _ = word.box
        gap = left - line[-1].right if line else 0.0
        high = min(word.box[3] - word.box[1], 14.0)
        if line and (-high < gap <= _GAP * high or _SIGN.fullmatch(line[-1].text)):
            line[-1].text += f" {word.text}"
            line[-1].right = right
        elif line and word.text in (")", "%", ")%"):
            line[-1].text += word.text
        else:
            line.append(_Cell(word.text, left, right))
        before = word
    return [sorted(line, key=lambda cell: cell.left) for line in lines if line]


def _is_row(line: list[_Cell]) -> bool:
    return len(line) > 1 and any(cell.is_number for cell in line[1:])


def _table(
    above: list[list[_Cell]], lines: list[list[_Cell]]
) -> tuple[tuple[str, ...], ...] | None:
    edges = _columns([cell.right for line in lines for cell in line[1:] if cell.is_number])
    if not edges:
        return None
    numbers = [cell.left for line in lines for cell in line[1:] if cell.is_number]
    rows = [_row(line, edges, min(numbers)) for line in lines]
    header: list[tuple[str, ...]] = []
    for line in reversed(above):
        # A header stands over the figures; a sentence begins at the left and runs through.
        if len(line) == 1 and line[0].left < min(numbers) - 20:
            break
        header.insert(0, _row(line, edges, min(numbers)))
    return (*header, *rows)


def _columns(rights: list[float]) -> list[float]:
    """The right edge of each column, from the left; a lone figure makes none."""
    groups: list[list[float]] = []
    for right in sorted(rights):
        if groups and right - groups[-1][-1] <= _EDGE:
            groups[-1].append(right)
        else:
            groups.append([right])
    least = 2 if len(rights) > 4 else 1
    return [max(group) for group in groups if len(group) >= least]


def _row(line: list[_Cell], edges: list[float], first: float) -> tuple[str, ...]:
    cells = [""] * (len(edges) + 1)
    for cell in line:
        if not cell.is_number and cell.left < first - 2 * _EDGE:
            at = 0
        else:
            near = min(range(len(edges)), key=lambda index: abs(edges[index] - cell.right))
            at = near + 1
        cells[at] = f"{cells[at]} {cell.text}".strip()
    return tuple(cells)
