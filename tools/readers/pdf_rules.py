"""Tables drawn with rules: from the lines on a page to cells, as pdfplumber's default finds them.

Lines are brought together where they lie within a few points, crossed with each other, and the
smallest rectangles between crossings are the cells. Cells that touch are a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from deskwork.tools.documents import Box
from deskwork.tools.readers import pdf_calls as calls
from deskwork.tools.readers.pdf_words import Frame, Word

NEAR = 3.0  # points: lines this close are one, ends this close meet
_SHORTEST = 3.0
_MAX_POINTS = 4_000  # crossings on one page; more are a drawing or a map
_MAX_SEGMENTS = 2_000  # of one path
_MOVE = 2  # pdfium's type of a segment that only moves the pen; 1 is a curve

Line = tuple[float, float, float]
"""Where a line lies, where it begins and ends: for an upright one x, lowest y, highest y."""
Point = tuple[float, float]


def lines_of(item: int, frame: Frame, room: calls.Floats) -> tuple[list[Line], list[Line]]:
    """The level and the upright lines of a path object: thin ones as such, boxes by their sides."""
    level: list[Line] = []
    upright: list[Line] = []
    count = calls.count_segments(item)
    if 5 < count <= _MAX_SEGMENTS:
        boxes = _segments(item, count)
    else:
        calls.object_bounds(item, *room.at[:4])
        left, bottom, right, top = room.values[:4]
        boxes = [(left, bottom, right, top)]
    for box in boxes:
        left, bottom, right, top = frame.box(*box)
        wide, high = right - left, top - bottom
        if high <= NEAR and wide > _SHORTEST:
            level.append(((bottom + top) / 2, left, right))
        elif wide <= NEAR and high > _SHORTEST:
            upright.append(((left + right) / 2, bottom, top))
        elif wide > _SHORTEST and high > _SHORTEST and count > 2:
            level += [(bottom, left, right), (top, left, right)]
            upright += [(left, bottom, top), (right, bottom, top)]
    return level, upright


def _segments(item: int, count: int) -> list[Box]:
    """The straight pieces of a path, each as a box without width or height."""
    matrix, at = calls.Floats(6), calls.Floats(2)
    calls.object_matrix(item, matrix.at[0])
    a, b, c, d, e, f = matrix.values
    boxes: list[Box] = []
    start = pen = (0.0, 0.0)
    for index in range(count):
        segment = calls.get_segment(item, index)
        calls.segment_point(segment, at.at[0], at.at[1])
        x, y = at.values
        point = (a * x + c * y + e, b * x + d * y + f)
        kind = calls.segment_type(segment)
        if kind == _MOVE:
            start = point
        elif kind == 0:
            boxes.append(_box(pen, point))
        pen = point
        if calls.segment_closes(segment):
            boxes.append(_box(pen, start))
    return boxes


def _box(one: Point, other: Point) -> Box:
    return (
        min(one[0], other[0]), min(one[1], other[1]), max(one[0], other[0]), max(one[1], other[1])
    )  # fmt: skip


def ruled_tables(
    level: Sequence[Line], upright: Sequence[Line], words: Iterable[Word]
) -> list[tuple[tuple[tuple[str, ...], ...], Box]]:
    """Rows and box of each table of at least two rows and two columns, from the top down."""
    tables = []
    placed = [
        ((word.box[0] + word.box[2]) / 2, (word.box[1] + word.box[3]) / 2, word.text)
        for word in words
    ]
    for cells in _touching(cells_of(joined(level), joined(upright))):
        lefts = sorted({cell[0] for cell in cells})
        tops = sorted({cell[3] for cell in cells}, reverse=True)
        if len(lefts) < 2 or len(tops) < 2:
            continue
        rows = [[""] * len(lefts) for _ in tops]
        box = (
            lefts[0], min(cell[1] for cell in cells), max(cell[2] for cell in cells), tops[0]
        )  # fmt: skip
        inside = [word for word in placed if box[0] <= word[0] <= box[2]]
        for cell in cells:
            held = [
                text for x, y, text in inside if cell[0] <= x < cell[2] and cell[1] <= y < cell[3]
            ]
            rows[tops.index(cell[3])][lefts.index(cell[0])] = " ".join(held)
        if sum(any(row) for row in rows) >= 2:
            tables.append((tuple(map(tuple, rows)), box))
    return sorted(tables, key=lambda table: -table[1][3])


def joined(lines: Sequence[Line]) -> list[Line]:
    """Lines that lie within `NEAR` of each other brought to one place, and end to end made one."""
    snapped: list[Line] = []
    group: list[Line] = []
    for line in sorted(lines):
        if group and line[0] - group[-1][0] > NEAR:
            snapped += _level(group)
            group = []
        group.append(line)
    if group:
        snapped += _level(group)
    return snapped


def _level(group: list[Line]) -> list[Line]:
    at = sum(line[0] for line in group) / len(group)
    merged: list[Line] = []
    for _, start, end in sorted(group, key=lambda line: line[1]):
        if merged and start <= merged[-1][2] + NEAR:
            merged[-1] = (at, merged[-1][1], max(merged[-1][2], end))
        else:
            merged.append((at, start, end))
    return merged


def cells_of(level: Sequence[Line], upright: Sequence[Line]) -> list[Box]:
    """The smallest rectangles whose corners are crossings and whose sides are drawn."""
    points: dict[Point, tuple[int, int]] = {}
    for v, (x, low, high) in enumerate(upright):
        for h, (y, left, right) in enumerate(level):
            if left - NEAR <= x <= right + NEAR and low - NEAR <= y <= high + NEAR:
                points[(x, y)] = (v, h)
    if len(points) > _MAX_POINTS:
        return []
    columns: dict[float, list[float]] = {}
    rows: dict[float, list[float]] = {}
    for x, y in points:
        columns.setdefault(x, []).append(y)
        rows.setdefault(y, []).append(x)
    for ys in columns.values():
        ys.sort(reverse=True)
    for xs in rows.values():
        xs.sort()
    cells = []
    for (x, y), (v, h) in points.items():
        below = [other for other in columns[x] if other < y and points[(x, other)][0] == v]
        onward = [other for other in rows[y] if other > x and points[(other, y)][1] == h]
        cell = _smallest(points, (x, y), below, onward)
        if cell:
            cells.append(cell)
    return cells


def _smallest(
    points: dict[Point, tuple[int, int]], at: Point, below: list[float], right: list[float]
) -> Box | None:
    x, y = at
    for low in below:
        for far in right:
            corner = points.get((far, low))
            if corner and corner[0] == points[(far, y)][0] and corner[1] == points[(x, low)][1]:
                return (x, low, far, y)
    return None


def _touching(cells: list[Box]) -> list[list[Box]]:
    """Cells grouped by shared corners."""
    owner: dict[Point, int] = {}
    parent = list(range(len(cells)))

    def root(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    for index, (left, bottom, right, top) in enumerate(cells):
        for corner in ((left, bottom), (left, top), (right, bottom), (right, top)):
            other = owner.setdefault(corner, index)
            parent[root(index)] = root(other)
    groups: dict[int, list[Box]] = {}
    for index, cell in enumerate(cells):
        groups.setdefault(root(index), []).append(cell)
    return list(groups.values())


def objects_of(page: Any, frame: Frame) -> tuple[list[Box], list[Line], list[Line]]:
    """The boxes of a page's pictures and its lines, in one pass over its objects."""
    handle = calls.address(page.raw)
    room = calls.Floats(4)
    pictures: list[Box] = []
    level: list[Line] = []
    upright: list[Line] = []
    for index in range(calls.count_objects(handle)):
        item = calls.get_object(handle, index)
        kind = calls.object_type(item)
        if kind == 2:
            flat, high = lines_of(item, frame, room)
            level += flat
            upright += high
        elif kind == 3:
            calls.object_bounds(item, *room.at)
            pictures.append(frame.box(*room.values))
    return pictures, level, upright
