"""The words of a PDF page: their text in pdfium's order, their boxes, and which can't be seen."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from deskwork.tools.documents import Box
from deskwork.tools.readers import pdf_calls as calls
from deskwork.tools.readers.pdf_glyphs import Fonts

# pdfium marks a hyphen at a line's end, where the word goes on, with one of these.
_MARKS = str.maketrans({"\x02": "\u00ad", "\ufffe": "\u00ad", "\x00": None})
_WORD = re.compile(r"\S+")
_INVISIBLE = 3  # the render mode that draws nothing
_SAMPLE = 60  # words whose direction is looked at
_SMALLEST = 1.5  # points; what is lower can't be read by a person


class Word(NamedTuple):
    """A word, the number of its line from 0, and its box on the page as it is shown."""

    text: str
    line: int
    box: Box
    hidden: str = ""  # why it can't be seen: "invisible", "white", "tiny" or "off the page"
    font: str = ""  # its name in the file


@dataclass(frozen=True)
class Frame:
    """How a page is shown: what pdfium's coordinates start from, and by what it is turned."""

    left: float
    bottom: float
    width: float  # before it is turned
    height: float
    turned: int  # degrees, clockwise

    def box(self, left: float, bottom: float, right: float, top: float) -> Box:
        """The box as it is shown, in points from the left and bottom edge."""
        l, b, r, t = left - self.left, bottom - self.bottom, right - self.left, top - self.bottom  # noqa: E741
        if self.turned == 0:
            return (round(l, 1), round(b, 1), round(r, 1), round(t, 1))
        if self.turned == 90:
            l, b, r, t = b, self.width - r, t, self.width - l  # noqa: E741
        elif self.turned == 180:
            l, b, r, t = self.width - r, self.height - t, self.width - l, self.height - b  # noqa: E741
        elif self.turned == 270:
            l, b, r, t = self.height - t, l, self.height - b, r  # noqa: E741
        return (round(l, 1), round(b, 1), round(r, 1), round(t, 1))

    def shows(self, box: Box) -> bool:
        """Whether any of the box is on the page."""
        across = self.height if self.turned in (90, 270) else self.width
        up = self.width if self.turned in (90, 270) else self.height
        return box[2] > 0 and box[3] > 0 and box[0] < across and box[1] < up


def frame_of(page: Any) -> Frame:
    """The frame of an open page."""
    left, bottom, right, top = page.get_cropbox()
    return Frame(left, bottom, right - left, top - bottom, page.get_rotation())


def words_of(
    text_page: Any, raw_text: str, frame: Frame, fonts: Fonts | None = None
) -> tuple[list[Word], str, float]:
    """The words, the text that they are the words of, and the share of them that runs sideways.

    ``fonts`` is given the places of glyphs that it still wants to see.
    """
    text = raw_text.replace("\r\n", " \n").replace("\r", "\n")
    page = calls.address(text_page.raw)
    # Characters that have no Unicode are in pdfium's count but not in its text.
    direct = text_page.count_chars() == len(text)
    room, look = calls.Floats(4), _Look(page)
    words: list[Word] = []
    sideways = looked = 0
    line = line_end = 0
    for match in _WORD.finditer(text):
        shown = match.group().translate(_MARKS)
        first, last = match.start(), match.end() - 1
        if first >= line_end:
            line += text.count("\n", line_end, first)
            line_end = first
        if not shown:
            continue
        if not direct:
            first, last = calls.char_at_text(page, first), calls.char_at_text(page, last)
        calls.loose_box(page, first, room.at[0])
        left, top, right, bottom = room.values
        if last != first:
            calls.loose_box(page, last, room.at[0])
            left, right = min(left, room.values[0]), max(right, room.values[2])
            bottom, top = min(bottom, room.values[3]), max(top, room.values[1])
        box = frame.box(left, bottom, right, top)
        hidden = look.hidden(first)
        if not hidden and box[2] > box[0]:
            if not frame.shows(box):
                hidden = "off the page"
            elif min(box[3] - box[1], box[2] - box[0]) < _SMALLEST and len(shown) > 1:
                hidden = "tiny"
        words.append(Word(shown, line, box, hidden, look.font))
        if fonts and not hidden and direct and box[2] - box[0] > box[3] - box[1]:
            _show(page, first, shown, look.font, frame, fonts, room)
        if len(shown) > 1 and looked < _SAMPLE:
            looked += 1
            angle = calls.char_angle(page, first)
            sideways += 1.2 < angle < 1.9 or 4.3 < angle < 5.1
    clean = "\n".join(part.rstrip() for part in text.translate(_MARKS).split("\n")).strip()
    return words, clean, sideways / looked if looked else 0.0


def _show(
    page: int, first: int, word: str, font: str, frame: Frame, fonts: Fonts, room: calls.Floats
) -> None:
    """Give the places of a word's glyphs that tell something new of its font."""
    for at, letter in enumerate(word):
        if fonts.wants(font, letter):
            calls.loose_box(page, first + at, room.at[0])
            left, top, right, bottom = room.values
            fonts.take(font, letter, frame.box(left, bottom, right, top))


class _Look:
    """Why words can't be seen, asked once for each text object: most hold several words."""

    def __init__(self, page: int) -> None:
        self._page = page
        self._colour = calls.Numbers(4)
        self._item, self._hidden = 0, ""
        self._names: dict[int, str] = {}
        self.font = ""

    def hidden(self, index: int) -> str:
        """Why the character with this number can't be seen, empty where it can."""
        item = calls.char_object(self._page, index)
        if item != self._item:
            self._item, self._hidden = item, self._why(item) if item else ""
            self.font = self._name(item) if item else ""
        return self._hidden

    def _name(self, item: int) -> str:
        # Addresses are used again once a page is closed, so that only names tell fonts apart.
        font = calls.object_font(item) or 0
        if font not in self._names:
            self._names[font] = calls.name_of(font) if font else ""
        return self._names[font]

    def _why(self, item: int) -> str:
        if calls.render_mode(item) == _INVISIBLE:
            return "invisible"
        if calls.fill_color(item, *self._colour.at):
            red, green, blue, opaque = self._colour.values
            if opaque == 0:
                return "invisible"
            if min(red, green, blue) >= 250:
                return "white"
        return ""
