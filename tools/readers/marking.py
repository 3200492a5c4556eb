"""Marks the place of a quote on a page's picture: the words it is made of, by their boxes."""

from __future__ import annotations

from collections.abc import Sequence

from PIL import Image, ImageChops, ImageDraw

from deskwork.tools.documents import Box

_COLOUR = (255, 226, 122)
_ROOM = 1.5  # points around a line of words


def lines_of(words: Sequence[tuple[str, Box]], quote: str) -> list[Box]:
    """The boxes of the lines that a quote stands in, top to bottom; none if it isn't found.

    ``words`` are a page's in reading order. Letters and digits alone are compared, so that a row
    quoted with the separators of a table is found in the page's own words.
    """
    wanted = _letters(quote)
    if not wanted:
        return []
    text, owners = "", list[int]()
    for place, (word, _) in enumerate(words):
        letters = _letters(word)
        text += letters
        owners += [place] * len(letters)
    start = text.find(wanted)
    if start < 0:
        return []
    first, last = owners[start], owners[start + len(wanted) - 1]
    lines: list[Box] = []
    for _, box in words[first : last + 1]:
        if lines and _same_line(lines[-1], box):
            before = lines[-1]
            lines[-1] = (
                min(before[0], box[0]),
                min(before[1], box[1]),
                max(before[2], box[2]),
                max(before[3], box[3]),
            )
        else:
            lines.append(box)
    return lines


def mark(picture: Image.Image, size: tuple[float, float], boxes: Sequence[Box]) -> Image.Image:
    """The picture with these places in yellow, as by a highlighter.

    ``size`` is the page's in points; boxes count from its left and bottom edge.
    """
    across, up = picture.width / size[0], picture.height / size[1]
    paper = Image.new("RGB", picture.size, "white")
    pen = ImageDraw.Draw(paper)
    for left, bottom, right, top in boxes:
        corners = (
            (left - _ROOM) * across,
            (size[1] - top - _ROOM) * up,
            (right + _ROOM) * across,
            (size[1] - bottom + _ROOM) * up,
        )
        pen.rectangle(corners, fill=_COLOUR)
    return ImageChops.multiply(picture.convert("RGB"), paper)


def _letters(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def _same_line(line: Box, box: Box) -> bool:
    middle = (box[1] + box[3]) / 2
    return line[1] <= middle <= line[3] and box[0] >= line[0]
