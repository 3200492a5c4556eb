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

_LONGEST = 3_000  # pixels of the picture that is read; more takes longer and reads no better
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
    import numpy

    scale = min(1.0, _LONGEST / max(image.size))
    if scale < 1:
        image = image.resize((round(image.width * scale), round(image.height * scale)))
    found = _engine()(numpy.asarray(image)[:, :, ::-1])
    if found.txts is None:
        return Seen("", (), ("OCR found no text on this page.",))
    lines = [
        _Line(
            text,
            float(score),
            [(float(x) / scale, (image.height - float(y)) / scale) for x, y in corners],
        )
        for text, score, corners in zip(found.txts, found.scores, found.boxes, strict=True)
        if text.strip() and score >= _SURE
    ]
    rows = _rows(lines)
    words = [line for row in rows for line in row]
    if not words:
        return Seen("", (), ("OCR found no text on this page.",))
    text = "\n".join(" ".join(line.text for line in row) for row in rows)
    boxes = tuple(box for line in words for box in line.word_boxes())
    sure = sum(line.score for line in words) / len(words)
    return Seen(text, boxes, (f"The text was read from the picture by OCR ({sure:.0%} sure).",))


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
