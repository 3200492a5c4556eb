"""Fonts whose map to Unicode says other than the page shows."""

from __future__ import annotations

import string

import pytest

from deskwork.tools.readers import read_bytes
from tests.tools.made import lying_pdf

LINES = [
    "Quarterly results of the example company, in millions",
    "Net sales 1,577 1,373 1,420",
    "Operating income 246 890 357 and waxy jumps",
]
SHIFTED = dict(zip(string.ascii_lowercase, string.ascii_lowercase[1:] + "a", strict=True))
TURNED = dict(zip("0123456789", "1234567890", strict=True))


def test_an_honest_font_is_believed() -> None:
    (page,) = read_bytes(lying_pdf(LINES, {}), "honest.pdf").pages
    assert page.text.splitlines() == LINES
    assert page.warnings == ()
    assert not page.pictures


@pytest.mark.parametrize(
    ("says", "shown"),
    [
        pytest.param({"1": "7", "7": "1"}, "7,511", id="two digits swapped"),
        pytest.param({"5": "8", "8": "5", "3": "6", "6": "3"}, "1,877", id="four digits"),
        pytest.param(TURNED, "2,688", id="every digit"),
        pytest.param(SHIFTED, "Nfu", id="letters shifted"),
    ],
)
def test_a_font_that_lies_is_told_and_its_page_offered(says: dict[str, str], shown: str) -> None:
    (page,) = read_bytes(lying_pdf(LINES, says), "lying.pdf").pages
    assert shown in page.text
    (warning,) = page.warnings
    assert "don't look like what they are said to be" in warning
    assert [picture.name for picture in page.pictures] == ["the page"]


def test_ocr_reads_what_a_lying_font_shows() -> None:
    pytest.importorskip("rapidocr", reason="the OCR extra isn't installed")
    (page,) = read_bytes(lying_pdf(LINES, TURNED), "lying.pdf", ocr=True).pages
    assert "1,577" in page.text
    assert "2,688" not in page.text
