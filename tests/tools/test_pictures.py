import io
import random
import struct
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from deskwork.tools.errors import BadFile
from deskwork.tools.pictures import LONGEST_SIDE, MOST_BYTES, fit


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def claiming(width: int, height: int) -> bytes:
    """A PNG whose header says it is larger than its data."""
    data = bytearray(encoded(Image.new("1", (8, 8)), "PNG"))
    data[16:24] = struct.pack(">II", width, height)
    data[29:33] = struct.pack(">I", zlib.crc32(data[12:29]))
    return bytes(data)


@pytest.mark.parametrize(
    ("kind", "media"),
    [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("WEBP", "image/webp"), ("GIF", "image/gif")],
)
def test_a_picture_that_fits_is_kept_byte_for_byte(kind: str, media: str) -> None:
    data = encoded(Image.new("RGB", (300, 200), "red"), kind)
    picture = fit(data)
    assert picture.data == data
    assert (picture.media_type, picture.width, picture.height) == (media, 300, 200)


def test_a_large_picture_is_scaled_always_to_the_same_bytes() -> None:
    data = encoded(Image.radial_gradient("L").resize((3136, 1000)), "PNG")
    picture = fit(data)
    assert (picture.width, picture.height) == (LONGEST_SIDE, 500)
    assert picture == fit(data)


def test_a_turned_photo_is_set_upright() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned clockwise
    photo = Image.new("RGB", (200, 100), "blue")
    photo.paste("red", (0, 0, 20, 100))
    picture = fit(encoded(photo, "JPEG", exif=exif))
    assert (picture.width, picture.height) == (100, 200)
    shown = Image.open(io.BytesIO(picture.data)).convert("RGB")
    red, _, blue = shown.getpixel((50, 5))  # type: ignore[misc]
    assert red > 200 > blue


def test_other_kinds_are_encoded_again() -> None:
    assert fit(encoded(Image.new("RGB", (50, 40)), "BMP")).media_type == "image/png"
    assert fit(encoded(Image.new("CMYK", (50, 40)), "TIFF")).media_type == "image/png"


def test_bytes_stay_under_the_limit() -> None:
    noise = Image.frombytes("RGB", (1500, 1500), random.Random(1).randbytes(1500 * 1500 * 3))
    data = encoded(noise, "PNG")
    assert len(data) > MOST_BYTES
    picture = fit(data)
    assert len(picture.data) <= MOST_BYTES
    assert picture.media_type == "image/jpeg"


def test_bombs_and_broken_pictures_are_refused_with_a_sentence() -> None:
    with pytest.raises(BadFile, match=r"scan\.png has 20000 x 8000 pixels"):
        fit(claiming(20_000, 8_000), "scan.png")
    with pytest.raises(BadFile, match="too many pixels"):
        fit(claiming(60_000, 60_000))
    with pytest.raises(BadFile, match="is empty"):
        fit(b"")
    with pytest.raises(BadFile, match="not a picture of a known kind"):
        fit(b"GIF but no picture")
    with pytest.raises(BadFile, match="is broken"):
        fit(encoded(Image.new("RGB", (300, 200)), "PNG")[:-60])


@settings(deadline=None)  # the first example imports every decoder
@given(st.sampled_from([b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", b"RIFF"]), st.binary())
def test_garbage_is_a_bad_file(head: bytes, tail: bytes) -> None:
    with pytest.raises(BadFile):
        fit(head + tail)
