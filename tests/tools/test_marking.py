"""The place of a quote on a page's picture."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from deskwork.tools.documents import Box
from deskwork.tools.readers.marking import lines_of, mark

WORDS: list[tuple[str, Box]] = [
    ("Net", (10, 80, 30, 90)),
    ("sales", (32, 80, 60, 90)),
    ("$", (62, 80, 66, 90)),
    ("842.6", (68, 80, 95, 90)),
    ("million", (10, 60, 45, 70)),
    ("more", (47, 60, 70, 70)),
]


def test_the_lines_of_a_quote() -> None:
    assert lines_of(WORDS, "sales | $842.6 | million") == [(32, 80, 95, 90), (10, 60, 45, 70)]
    assert lines_of(WORDS, "Net SALES") == [(10, 80, 60, 90)]
    assert lines_of(WORDS, "gross profit") == []
    assert lines_of(WORDS, "|") == []
    assert lines_of([], "sales") == []


@given(st.integers(0, 5), st.integers(0, 5))
def test_any_run_of_words_is_found(first: int, last: int) -> None:
    first, last = min(first, last), max(first, last)
    quote = " ".join(word for word, _ in WORDS[first : last + 1])
    if quote == "$":
        return
    boxes = lines_of(WORDS, quote)
    assert 1 <= len(boxes) <= 2
    assert boxes[-1][2] >= WORDS[last][1][2] - 30


def test_the_mark_stands_at_its_place() -> None:
    marked = mark(Image.new("RGB", (200, 200), "white"), (100, 100), [(10, 80, 30, 90)])
    assert marked.getpixel((40, 30)) == (255, 226, 122)  # 20 points from the left, 85 from below
    assert marked.getpixel((40, 170)) == (255, 255, 255)
    ink = mark(Image.new("RGB", (10, 10), "black"), (10, 10), [(0, 0, 10, 10)])
    assert ink.getpixel((5, 5)) == (0, 0, 0)
