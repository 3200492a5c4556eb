"""Whether fonts show what their text layer says: glyphs on the page's picture are compared.

A font's map to Unicode can be wrong on purpose or by a converter's fault, and the text is then
language all the same: digits swapped, letters shifted. A few glyphs of each font are cut out of
the picture and compared with the same letters in fonts that are known. In an honest font nearly
all resemble their letter more than most others; in a lying one hardly any does.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from deskwork.tools.documents import Box

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_FACES = ("DejaVuSans", "DejaVuSans-Bold", "DejaVuSerif", "STIXGeneral", "STIXGeneralItalic")
_SIDE = 16  # pixels of a glyph as it is compared
_SCALE = 4.0  # of the page's picture, in pixels a point
_ENOUGH = 12  # different letters that tell about a font
_ENOUGH_DIGITS = 5
_MOST = 30  # letters of one font
_NEAR = 8  # ranks among all letters that count as alike
_CLEARLY = 0.15  # more like another digit than its own: 2 in 640 of honest fonts
_HONEST = 0.5  # share of the glyphs that must be alike; honest fonts have .8 to 1
_HONEST_DIGITS = 0.81  # two that are swapped are enough
_RENDERS = 12  # pages of one file that are drawn for this
_SMALLEST = 5.0  # points of height: smaller glyphs tell nothing
_INK = 110  # how much darker or lighter than the ground a pixel must be


@dataclass
class _Glyphs:
    """The letters of a font, or its digits: which were seen, and whether they are alike."""

    enough: int
    honest: float
    waiting: dict[str, Box] = field(default_factory=dict)
    alike: dict[str, bool] = field(default_factory=dict)

    def would_tell(self) -> bool:
        return bool(self.waiting) and len(self.alike) + len(self.waiting) >= self.enough

    def lie(self) -> bool | None:
        """None while it can't be told."""
        if len(self.alike) < self.enough:
            return None
        return sum(self.alike.values()) < self.honest * len(self.alike)


@dataclass
class Fonts:
    """What is known of the fonts of a file, by their names in it."""

    _letters: dict[str, _Glyphs] = field(default_factory=dict)
    _digits: dict[str, _Glyphs] = field(default_factory=dict)
    _renders: int = 0

    def wants(self, font: str, letter: str) -> bool:
        """Whether a glyph of this letter would tell something new of the font."""
        if letter not in _LETTERS:
            return False
        known = self._glyphs(font, letter)
        seen = len(known.alike) + len(known.waiting)
        return seen < _MOST and letter not in known.alike and letter not in known.waiting

    def take(self, font: str, letter: str, box: Box) -> None:
        """Keep the place of a glyph on the present page."""
        if box[3] - box[1] >= _SMALLEST:
            self._glyphs(font, letter).waiting[letter] = box

    def judge(self, page: Any) -> None:
        """Compare what was kept of this page with its picture, where it is enough to tell."""
        waiting = [known for known in self._all() if known.waiting]
        worth = any(known.would_tell() and known.lie() is None for known in waiting)
        if worth and self._renders < _RENDERS:
            self._renders += 1
            picture = page.render(scale=_SCALE).to_pil().convert("L")
            for known in waiting:
                for letter, box in known.waiting.items():
                    glyph = _glyph(picture, box)
                    if glyph is not None:
                        known.alike[letter] = _is_alike(glyph, letter)
        for known in waiting:
            known.waiting.clear()

    def lying(self, font: str, word: str) -> bool:
        """Whether a word in this font may show other than it says."""
        letters, digits = self._letters.get(font), self._digits.get(font)
        if letters and letters.lie():
            return True
        return bool(digits and digits.lie()) and any(letter.isdigit() for letter in word)

    def _glyphs(self, font: str, letter: str) -> _Glyphs:
        if letter.isdigit():
            return self._digits.setdefault(font, _Glyphs(_ENOUGH_DIGITS, _HONEST_DIGITS))
        return self._letters.setdefault(font, _Glyphs(_ENOUGH, _HONEST))

    def _all(self) -> list[_Glyphs]:
        return [*self._letters.values(), *self._digits.values()]


def _glyph(picture: Image.Image, box: Box) -> Any:
    """A glyph cut out of the picture of a page, as it is compared; None where there is no ink."""
    left, bottom, right, top = box
    high = picture.height
    place = (
        round(left * _SCALE),
        round(high - top * _SCALE),
        round(right * _SCALE),
        round(high - bottom * _SCALE),
    )
    if place[2] - place[0] < 4 or place[3] - place[1] < 8:
        return None
    return _normal(picture.crop(place))


def _normal(image: Image.Image) -> Any:
    """The ink alone, at one size, with its shape (width over height) as a last number."""
    import numpy

    pixels = numpy.asarray(image, dtype=numpy.int16)
    ground = int(numpy.median(numpy.concatenate([pixels[0], pixels[-1]])))
    ink = numpy.abs(pixels - ground)
    dark = ink > _INK
    rows = numpy.flatnonzero(dark.any(axis=1))
    columns = numpy.flatnonzero(dark.any(axis=0))
    if len(rows) < 4 or not len(columns):
        return None
    cut = ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].clip(0, 255)
    small = Image.fromarray(cut.astype(numpy.uint8)).resize((_SIDE, _SIDE), Image.Resampling.BOX)
    flat = numpy.asarray(small, dtype=numpy.float32).ravel()
    flat = flat - flat.mean()
    length = float(numpy.linalg.norm(flat)) or 1.0
    shape = min(3.0, cut.shape[1] / cut.shape[0])
    return numpy.append(flat / length, shape)


def _is_alike(glyph: Any, letter: str) -> bool:
    """Whether a letter is among those most like its glyph, whatever its case; whether a digit
    isn't clearly less like it than another digit.
    """
    import numpy

    letters, references = _references()
    likeness = references[:, :-1] @ glyph[:-1] - 0.6 * numpy.abs(references[:, -1] - glyph[-1])
    best: dict[str, float] = {}
    for name, value in zip(letters, likeness, strict=True):
        folded = _FOLDED.get(name, name.lower())
        if not letter.isdigit() or name.isdigit():
            best[folded] = max(best.get(folded, -9.0), float(value))
    own = best[_FOLDED.get(letter, letter.lower())]
    if letter.isdigit():
        return max(best.values()) - own < _CLEARLY
    return sum(value > own for value in best.values()) < _NEAR


# Letters that many fonts draw alike.
_FOLDED = {"I": "l", "i": "l", "O": "o"}


@functools.cache
def _references() -> tuple[list[str], Any]:
    """Every letter in every known face: their names, and a row of numbers for each."""
    import numpy

    letters: list[str] = []
    rows: list[Any] = []
    for face in _faces():
        for letter in _LETTERS:
            image = Image.new("L", (120, 120), 255)
            ImageDraw.Draw(image).text((30, 20), letter, fill=0, font=face)
            row = _normal(image)
            if row is not None:
                letters.append(letter)
                rows.append(row)
    return letters, numpy.stack(rows)


def _faces() -> Iterator[Any]:
    yield ImageFont.load_default(60)
    found = importlib.util.find_spec("matplotlib")  # not imported: its fonts are files
    folder = Path(found.origin).parent / "mpl-data/fonts/ttf" if found and found.origin else None
    for name in _FACES if folder else ():
        assert folder is not None
        path = folder / f"{name}.ttf"
        if path.exists():
            yield ImageFont.truetype(str(path), 60)
