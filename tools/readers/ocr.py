"""Reading the text of a picture, by rapidocr, which is an extra: ``pip install 'deskwork[ocr]'``.

Its models come in its wheel, so nothing is fetched. A page takes 3 to 60 seconds on one core.
"""

from __future__ import annotations

import functools
import importlib.util
from dataclasses import dataclass
from typing import Any

from deskwork.tools.documents import Box
from deskwork.tools.errors import BadFile
from deskwork.tools.readers.pdf_columns import in_columns, text_of
from deskwork.tools.readers.pdf_words import Word

_LONGEST = 3_000  # pixels of the picture that is read; more takes longer and reads no better
_VOTES = 7  # lines that are asked whether they are upside down
_SURE = 0.5  # below this confidence a line is left out


@dataclass(frozen=True)
class Seen:
    """What was read: lines in reading order, a box for each word (in the picture's pixels, from
    its left and bottom edge), and how sure the reading is."""

    text: str
    boxes: tuple[Box, ...]
    warnings: tuple[str, ...]


def installed() -> bool:
    """Whether the extra is there."""
    return all(importlib.util.find_spec(name) for name in ("rapidocr", "onnxruntime"))


def read(image: Any, name: str) -> Seen:
    """The text of a Pillow image in RGB. Raises `BadFile` where the extra isn't installed."""
    if not installed():
        raise BadFile(
            f"{name} can't be read by OCR: OCR is not installed.",
            "Install it with: pip install 'deskwork[ocr]'.",
        )
    scale = min(1.0, _LONGEST / max(image.size))
    if scale < 1:
        image = image.resize((round(image.width * scale), round(image.height * scale)))
    found, turned = _turned_upright(image)
    upright_height = image.width if turned in (90, 270) else image.height
    if found.txts is None:
        return Seen("", (), ("OCR found no text on this page.",))
    lines = [
        _Line(
            text,
            float(score),
            [(float(x) / scale, (upright_height - float(y)) / scale) for x, y in corners],
        )
        for text, score, corners in zip(found.txts, found.scores, found.boxes, strict=True)
        if text.strip() and score >= _SURE
    ]
    if not lines:
        return Seen("", (), ("OCR found no text on this page.",))
    words = [
        Word(word, number, box)
        for number, row in enumerate(_rows(lines))
        for line in row
        for word, box in zip(line.text.split(), line.word_boxes(), strict=True)
    ]
    words = in_columns(words) or words
    text = text_of(words)
    size = (image.width / scale, image.height / scale)
    boxes = tuple(_as_given(word.box, turned, size) for word in words)
    sure = sum(line.score for line in lines) / len(lines)
    told = [f"The text was read from the picture by OCR ({sure:.0%} sure)."]
    if turned:
        told.append(
            f"The text doesn't stand upright: it was turned by {turned} degrees to be read."
        )
    return Seen(text, boxes, tuple(told))


def _turned_upright(image: Any) -> tuple[Any, int]:
    """What is read of the picture once its text is upright, and by how much it was turned
    (degrees, against the clock)."""
    found, turned = _read(image), 0
    if found.boxes is not None and _lies(found):
        turned = 90
        image = image.rotate(90, expand=True)
        found = _read(image)
    if found.boxes is not None and _stands_on_its_head(image, found):
        turned += 180
        found = _read(image.rotate(180, expand=True))
    return found, turned


def _read(image: Any) -> Any:
    # What one call leaves out stays out for the next, so all are named each time.
    return _engine()(_pixels(image), use_det=True, use_cls=True, use_rec=True)


def _pixels(image: Any) -> Any:
    import numpy

    return numpy.ascontiguousarray(numpy.asarray(image)[:, :, ::-1])


def _lies(found: Any) -> bool:
    """Whether most lines are higher than wide."""
    tall = 0
    for corners in found.boxes:
        (left, low), (right, high) = corners.min(axis=0), corners.max(axis=0)
        tall += (high - low) > 1.5 * (right - left)
    return bool(tall > 0.5 * len(found.boxes))


def _stands_on_its_head(image: Any, found: Any) -> bool:
    """Whether the longest lines are upside down; the reading of a line turns it silently."""
    longest = sorted(zip(found.boxes, found.txts, strict=True), key=lambda line: -len(line[1]))
    votes = []
    for corners, _ in longest[:_VOTES]:
        (left, low), (right, high) = corners.min(axis=0), corners.max(axis=0)
        piece = image.crop((max(0, int(left)), max(0, int(low)), int(right), int(high)))
        if min(piece.size) > 3:
            seen = _engine()(_pixels(piece), use_det=False, use_cls=True, use_rec=False)
            votes += [label == "180" for label, _ in seen.cls_res]
    return bool(sum(votes) > 0.5 * max(1, len(votes)))


def _as_given(box: Box, turned: int, size: tuple[float, float]) -> Box:
    """The box in the picture as it was before it was turned; ``size`` is that picture's."""
    left, bottom, right, top = box
    wide, high = size
    if turned == 90:
        return (bottom, high - right, top, high - left)
    if turned == 180:
        return (wide - right, high - top, wide - left, high - bottom)
    if turned == 270:
        return (wide - top, left, wide - bottom, right)
    return box


@dataclass(frozen=True)
class _Line:
    text: str
    score: float
    corners: list[tuple[float, float]]

    @property
    def box(self) -> Box:
        across = [x for x, _ in self.corners]
        up = [y for _, y in self.corners]
        return (min(across), min(up), max(across), max(up))

    def word_boxes(self) -> list[Box]:
        """The line's box cut at its words, as if all letters were equally wide."""
        left, bottom, right, top = self.box
        each = (right - left) / max(1, len(self.text))
        boxes: list[Box] = []
        at = 0
        for word in self.text.split():
            at = self.text.index(word, at)
            boxes.append((left + at * each, bottom, left + (at + len(word)) * each, top))
            at += len(word)
        return boxes


def _rows(lines: list[_Line]) -> list[list[_Line]]:
    """Lines that stand side by side, so that a label and its number are on one line of text."""
    rows: list[list[_Line]] = []
    for line in sorted(lines, key=lambda line: -(line.box[1] + line.box[3])):
        middle = (line.box[1] + line.box[3]) / 2
        if rows and rows[-1][0].box[1] < middle < rows[-1][0].box[3]:
            rows[-1].append(line)
        else:
            rows.append([line])
    return [sorted(row, key=lambda line: line.box[0]) for row in rows]


@functools.cache
def _engine() -> Any:
    import logging

    from rapidocr import RapidOCR

    logging.getLogger("RapidOCR").setLevel(logging.ERROR)
    return RapidOCR()
