import io

import pytest
from PIL import Image, ImageDraw, ImageFont, ImageOps

from deskwork.tools.readers import ocr, read_bytes

pytestmark = pytest.mark.skipif(not ocr.installed(), reason="pip install 'deskwork[ocr]'")
LINES = ("Invoice number 4711", "Net amount 842.60", "Payable within thirty days")


def scan() -> Image.Image:
    image = Image.new("RGB", (900, 500), "white")
    font = ImageFont.load_default(40)
    for number, line in enumerate(LINES):
        ImageDraw.Draw(image).text((60, 60 + 120 * number), line, "black", font)
    return image


@pytest.mark.parametrize("turned", [0, 90, 180, 270])
def test_a_scan_is_read_however_it_lies(turned: int) -> None:
    image = scan().rotate(turned, expand=True)
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    page = read_bytes(buffer.getvalue(), "scan.png", ocr=True).pages[0]
    assert page.text.split("\n") == list(LINES)
    assert any("turned by" in warning for warning in page.warnings) == bool(turned)
    # The boxes lie on the ink of the picture as it was given, and leave none over.
    assert len(page.boxes) == len(page.text.split())
    ink = ImageOps.invert(image.convert("L"))
    for left, bottom, right, top in page.boxes:
        area = (int(left) - 12, int(ink.height - top) - 12, int(right) + 12)
        ink.paste(0, (*area, int(ink.height - bottom) + 12))
    most = ink.getextrema()[1]
    assert isinstance(most, (int, float))
    assert most < 100


def test_columns_of_a_scan_are_read_one_after_another() -> None:
    text = (
        "the company grew in every region it serves and expects to keep on growing next year as "
        "new plants open while older lines are closed and their people are trained for other work"
    )
    prose = text.split()
    left = [" ".join(prose[at : at + 4]) for at in range(0, 32, 4)]
    right = [" ".join(reversed(prose[at : at + 4])) for at in range(0, 32, 4)]
    image = Image.new("RGB", (1500, 900), "white")
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(34)
    for number, (first, second) in enumerate(zip(left, right, strict=True)):
        pen.text((60, 60 + 90 * number), first, "black", font)
        pen.text((860, 60 + 90 * number), second, "black", font)
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    page = read_bytes(buffer.getvalue(), "scan.png", ocr=True).pages[0]
    assert page.text.split("\n") == [*left, *right]
    assert len(page.boxes) == len(page.text.split())


def test_labels_and_figures_of_a_scan_stay_on_one_line() -> None:
    image = Image.new("RGB", (1200, 900), "white")
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(34)
    rows = [("Net sales", "842.60"), ("Cost of goods", "512.10"), ("Gross profit", "330.50")] * 3
    for number, (label, figure) in enumerate(rows):
        pen.text((60, 60 + 90 * number), label, "black", font)
        pen.text((800, 60 + 90 * number), figure, "black", font)
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    page = read_bytes(buffer.getvalue(), "scan.png", ocr=True).pages[0]
    assert page.text.split("\n") == [f"{label} {figure}" for label, figure in rows]
