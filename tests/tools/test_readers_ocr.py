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
