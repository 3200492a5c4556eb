import io
import random
import struct
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from deskwork.tools.errors import BadFile
from deskwork.tools.pictures import LONGEST_SIDE, MOST_BYTES, MOST_PAGES, fit, fit_pages


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
    [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("GIF", "image/gif")],
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


def colours(*names: str) -> list[Image.Image]:
    return [Image.new("RGB", (40, 30), name) for name in names]


def shown(data: bytes) -> Image.Image:
    """What a server that knows nothing but plain pictures decodes."""
    image = Image.open(io.BytesIO(data))
    assert image.format in ("PNG", "JPEG", "GIF")
    return image


def colour(data: bytes, at: tuple[int, int] = (5, 5)) -> tuple[int, ...]:
    pixel = shown(data).convert("RGBA").getpixel(at)
    assert isinstance(pixel, tuple)
    return pixel


def test_every_page_of_a_tiff_is_a_picture() -> None:
    first, *more = colours("red", "lime", "blue")
    data = encoded(first, "TIFF", save_all=True, append_images=more)
    pages = fit_pages(data, "scan.tif")
    assert [colour(page.data)[:3] for page in pages.pictures] == [
        (255, 0, 0),
        (0, 255, 0),
        (0, 0, 255),
    ]
    assert pages.note == ""
    assert fit(data) == pages.pictures[0]


def test_a_long_tiff_is_shown_in_part_and_says_so() -> None:
    first, *more = [Image.new("L", (8, 8), number) for number in range(MOST_PAGES + 5)]
    pages = fit_pages(encoded(first, "TIFF", save_all=True, append_images=more), "scan.tif")
    assert len(pages.pictures) == MOST_PAGES
    assert pages.note == "scan.tif has 25 pages; only the first 20 are shown."


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG"])
def test_the_first_picture_of_an_animation(kind: str) -> None:
    first, *more = colours("red", "lime")
    data = encoded(first, kind, save_all=True, append_images=more, lossless=True)
    (picture,), note = (pages := fit_pages(data, "moving.gif")).pictures, pages.note
    assert note == "moving.gif is animated (2 pictures); only the first is shown."
    assert picture.media_type == "image/png"
    assert getattr(shown(picture.data), "n_frames", 1) == 1
    assert colour(picture.data)[:3] == (255, 0, 0)


def test_webp_is_encoded_again_since_some_servers_do_not_read_it() -> None:
    data = encoded(Image.new("RGBA", (30, 20), (255, 0, 0, 128)), "WEBP", lossless=True)
    picture = fit(data)
    assert picture.media_type == "image/png"
    assert colour(picture.data) == (255, 0, 0, 128)
    assert fit(data) == picture


def test_the_kind_is_told_from_the_bytes() -> None:
    photo = encoded(Image.new("RGB", (30, 20), "red"), "JPEG")
    assert fit(photo, "photo.png").media_type == "image/jpeg"


@pytest.mark.parametrize(
    ("image", "kind", "expected"),
    [
        (Image.new("CMYK", (20, 20), (0, 255, 255, 0)), "JPEG", (255, 0, 0, 255)),
        (Image.new("I;16", (20, 20), 32768), "PNG", (127, 127, 127, 255)),
        (Image.new("I;16", (20, 20), 65535), "TIFF", (255, 255, 255, 255)),
        (Image.new("F", (20, 20), 0.5), "TIFF", (127, 127, 127, 255)),
        (Image.new("I", (20, 20), 200), "TIFF", (200, 200, 200, 255)),
        (Image.new("1", (20, 20), 1), "TIFF", (255, 255, 255, 255)),
        (Image.new("LA", (20, 20), (80, 60)), "TIFF", (80, 80, 80, 60)),
    ],
)
def test_every_kind_of_pixel_keeps_its_look(
    image: Image.Image, kind: str, expected: tuple[int, ...]
) -> None:
    picture = fit(encoded(image, kind))
    assert shown(picture.data).mode in ("RGB", "RGBA")
    seen = colour(picture.data)
    assert all(abs(a - b) <= 2 for a, b in zip(seen, expected, strict=True)), seen


def test_a_transparent_palette_stays_transparent_when_scaled() -> None:
    image = Image.new("P", (3136, 20), 1)
    image.putpalette([0, 0, 0, 255, 0, 0])
    image.paste(0, (0, 0, 1568, 20))
    picture = fit(encoded(image, "PNG", transparency=0))
    assert picture.width == LONGEST_SIDE
    assert colour(picture.data, (5, 5))[3] == 0
    assert colour(picture.data, (1500, 5)) == (255, 0, 0, 255)


def test_transparency_becomes_white_where_only_jpeg_is_small_enough() -> None:
    noise = Image.frombytes("RGB", (1400, 1400), random.Random(1).randbytes(1400 * 1400 * 3))
    noise.putalpha(Image.linear_gradient("L").resize((1400, 1400)).point(lambda v: 255 * (v > 99)))
    picture = fit(encoded(noise, "PNG"))
    assert picture.media_type == "image/jpeg"
    assert min(colour(picture.data, (700, 20))[:3]) > 245


def test_a_page_that_is_cut_off_and_a_kind_that_is_not_read_are_named() -> None:
    first, *more = [Image.radial_gradient("L") for _ in range(3)]
    data = encoded(first, "TIFF", save_all=True, append_images=more)
    with pytest.raises(BadFile, match=r"scan\.tif is broken"):
        fit_pages(data[:-40_000], "scan.tif")
    heic = struct.pack(">I", 24) + b"ftypheic" + b"\0\0\0\0mif1heic" + bytes(50)
    with pytest.raises(BadFile, match=r"photo\.heic is a HEIC picture.*Save it as JPEG or PNG"):
        fit(heic, "photo.heic")


def test_a_bomb_behind_the_first_page_is_refused() -> None:
    first = Image.new("1", (8, 8))
    data = encoded(first, "TIFF", save_all=True, append_images=[Image.new("1", (20_000, 8_000))])
    with pytest.raises(BadFile, match=r"scan\.tif has 20000 x 8000 pixels"):
        fit_pages(data, "scan.tif")
