"""Pictures made fit for a model: upright, within the size that servers accept, encoded once.

A picture that fits already is passed on byte for byte; any other is encoded again by fixed
settings, so that the same bytes in give the same bytes out and stay under one content hash. The
kind is told from the bytes, never from a name.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from deskwork.tools.errors import BadFile
from deskwork.tools.pixels import flattened, has_alpha, plain

LONGEST_SIDE = 1568  # pixels; larger pictures are scaled down by the servers anyway
MOST_BYTES = int(3.75 * 1024 * 1024)  # 5 MiB as base64, which is what servers bound
MOST_PAGES = 20
"""Pages of one file that become pictures; with more, servers bound each one's size further."""

_MOST_PIXELS = 100_000_000
# WebP is not among them: llama.cpp can't read it.
_KEPT = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif"}
_KEPT_MODES = ("1", "L", "LA", "P", "RGB", "RGBA")
_LOSSY = ("JPEG", "MPO")
_ORIENTATION = 0x0112
_HEIC = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")


@dataclass(frozen=True)
class Picture:
    """Encoded picture bytes; width and height in pixels, as shown upright."""

    data: bytes
    media_type: str
    width: int
    height: int


@dataclass(frozen=True)
class Pages:
    """The pictures of one file, in order; ``note`` says what was left out, or nothing."""

    pictures: tuple[Picture, ...]
    note: str = ""


def fit(data: bytes, name: str = "The picture") -> Picture:
    """The first picture of a file, within the limits. Raises as `fit_pages`."""
    return fit_pages(data, name, most=1).pictures[0]


def fit_pages(data: bytes, name: str = "The picture", most: int = MOST_PAGES) -> Pages:
    """The pictures of a file: every page of a TIFF up to ``most``, else the one or first picture.

    Raises `BadFile` with a sentence when it is empty, of a kind that can't be read, broken, or
    too large to be unpacked safely.
    """
    from PIL import Image, UnidentifiedImageError

    # Pillow warns on standard error from 89 million pixels on; here the bound is an error's.
    warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)
    if not data:
        raise BadFile(f"{name} is empty (0 bytes).")
    try:
        with Image.open(io.BytesIO(data)) as image:
            count = getattr(image, "n_frames", 1)
            pages = count if image.format == "TIFF" else 1
            pictures = tuple(_pages(image, data, name, min(pages, most), moving=count > pages))
            return Pages(pictures, _note(image.format, name, count, len(pictures)))
    except BadFile:
        raise
    except UnidentifiedImageError:
        raise BadFile(f"{name} is {_unknown(data)}.", _hint(data)) from None
    except Image.DecompressionBombError:
        raise BadFile(f"{name} has too many pixels to unpack.") from None
    except Exception as error:
        detail = " ".join(str(error).split())[:100] or type(error).__name__
        raise BadFile(f"{name} is broken: it can't be decoded ({detail}).") from error


def _pages(image: Any, data: bytes, name: str, count: int, *, moving: bool) -> Iterator[Picture]:
    for number in range(count):
        if number:
            image.seek(number)
        if image.width * image.height > _MOST_PIXELS:
            raise BadFile(f"{name} has {image.width} x {image.height} pixels, too many to unpack.")
        image.load()
        yield _fitted(image, data, moving=moving)


def _note(kind: str | None, name: str, count: int, taken: int) -> str:
    if count == taken or kind == "MPO":  # a photo's second picture is the same one, smaller
        return ""
    if kind == "TIFF":
        return f"{name} has {count} pages; only the first {taken} are shown."
    return f"{name} is animated ({count} pictures); only the first is shown."


def _unknown(data: bytes) -> str:
    if _is_heic(data):
        return "a HEIC picture, which can't be read here"
    return "not a picture of a known kind"


def _hint(data: bytes) -> str:
    return "Save it as JPEG or PNG and give that file." if _is_heic(data) else ""


def _is_heic(data: bytes) -> bool:
    return data[4:8] == b"ftyp" and data[8:12] in _HEIC


def _fitted(image: Any, data: bytes, *, moving: bool) -> Picture:
    from PIL import ImageOps

    turned = image.getexif().get(_ORIENTATION, 1) not in (0, 1)
    small = max(image.size) <= LONGEST_SIDE and len(data) <= MOST_BYTES
    usual = image.format in _KEPT and image.mode in _KEPT_MODES and not moving
    if small and usual and not turned:
        return Picture(data, _KEPT[image.format], image.width, image.height)
    lossy = image.format in _LOSSY
    upright = plain(ImageOps.exif_transpose(image), keep_alpha=not lossy)
    upright.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    if not lossy:
        buffer = io.BytesIO()
        upright.save(buffer, "PNG")
        if buffer.tell() <= MOST_BYTES:
            return Picture(buffer.getvalue(), "image/png", upright.width, upright.height)
    return _as_jpeg(flattened(upright) if has_alpha(upright) else upright)


def _as_jpeg(image: Any) -> Picture:
    """At quality 90, and lower only where 90 is too large."""
    for quality in (90, 80, 65, 50):
        buffer = io.BytesIO()
        image.save(buffer, "JPEG", quality=quality)
        if buffer.tell() <= MOST_BYTES:
            break
    return Picture(buffer.getvalue(), "image/jpeg", image.width, image.height)
