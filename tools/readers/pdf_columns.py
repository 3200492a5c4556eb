"""Columns of prose that a PDF draws row by row: read one after another, not across.

Most files draw a column as a whole, and pdfium gives it so. Where one line of text runs over a
white band that many lines share, with prose on both sides of it, the lines are parted there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from deskwork.tools.readers.pdf_words import Word

_WIDE = 1.2  # of a word's height: a gap as wide may be a band between columns
_LEAST_LINES = 6
_LEAST_WORDS = 3.5  # on either side on average: cells of tables hold fewer
_PROSE = re.compile(r"[^\W\d_]{2}")
_MOST_COLUMNS = 4

Line = list[Word]


def in_columns(words: Sequence[Word]) -> list[Word] | None:
    """The words in reading order with new line numbers, or None where they are so already."""
    lines: list[Line] = []
    for word in words:
        if not lines or lines[-1][0].line != word.line:
            lines.append([])
        lines[-1].append(word)
    ordered = _parted(lines, _MOST_COLUMNS)
    if ordered is lines:
        return None
    return [word._replace(line=number) for number, line in enumerate(ordered) for word in line]


def text_of(words: Sequence[Word]) -> str:
    """The words as text, a line for each line of theirs."""
    lines: list[list[str]] = []
    number = -1
    for word in words:
        if word.line != number:
            lines.append([])
            number = word.line
        lines[-1].append(word.text)
    return "\n".join(" ".join(line) for line in lines)


def _parted(lines: list[Line], columns: int) -> list[Line]:
    band = _band(lines) if columns > 1 else None
    if band is None:
        return lines
    ordered: list[Line] = []
    left: list[Line] = []
    right: list[Line] = []
    for line in [*lines, None]:
        if line is None or any(word.box[0] < band < word.box[2] for word in line):
            ordered += [*left, *_parted(right, columns - 1)]
            left, right = [], []
            if line is not None:
                ordered.append(line)
            continue
        sides = ([w for w in line if w.box[2] <= band], [w for w in line if w.box[0] >= band])
        left += [sides[0]] if sides[0] else []
        right += [sides[1]] if sides[1] else []
    return ordered


def _band(lines: list[Line]) -> float | None:
    """Where the first band between columns lies, from the left edge."""
    gaps: list[tuple[float, float, int, int, int, int]] = []
    for line in lines:
        prose = [bool(_PROSE.search(word.text)) for word in line]
        for at in range(1, len(line)):
            start, end = line[at - 1].box[2], line[at].box[0]
            high = line[at].box[3] - line[at].box[1]
            if end - start > _WIDE * high:
                gaps.append((start, end, at, len(line) - at, sum(prose[:at]), sum(prose[at:])))
    for middle in sorted({round((gap[0] + gap[1]) / 2) for gap in gaps}):
        over = [gap for gap in gaps if gap[0] <= middle <= gap[1]]
        if len(over) < max(_LEAST_LINES, 0.3 * len(lines)):
            continue
        befores, afters = sum(gap[2] for gap in over), sum(gap[3] for gap in over)
        if min(befores, afters) < _LEAST_WORDS * len(over):
            continue
        if sum(gap[4] for gap in over) > 0.75 * befores and (
            sum(gap[5] for gap in over) > 0.75 * afters
        ):
            return float(middle)
    return None
