"""Image files: a page for each frame, with its picture; its text only by OCR."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from deskwork.tools.documents import Document, Page, PagePicture
from deskwork.tools.errors import BadFile
from deskwork.tools.readers import ocr
from deskwork.tools.readers.source import Source

LONGEST_SIDE = 1568  # pixels; models scale larger pictures down, so more would cost and not help
_MAX_FRAMES = 2_000
_MAX_PIXELS = 200_000_000  # of one frame: a scan of A2 at 600 dots an inch has 140 million
_FORMATS = ("PNG", "JPEG", "TIFF", "WEBP", "GIF", "BMP")
_EXIF_TURN = 0x0112


def read(source: Source) -> Document:
    """A page for each frame. Animations count as their first frame."""
    with _opened(source) as image:
        frames = _frames(image)
        if frames > _MAX_FRAMES:
            raise BadFile(f"{source.name} has {frames:,} frames; at most {_MAX_FRAMES:,} are read.")
        pages = [_page(image, index, source) for index in range(frames)]
        metadata: dict[str, Any] = {"format": image.format, "frames": frames}
        dots = image.info.get("dpi")
        if isinstance(dots, tuple) and len(dots) == 2:
            metadata["dpi"] = [round(float(dots[0])), round(float(dots[1]))]
    return Document(source.name, "image", tuple(pages), metadata)


def count(source: Source) -> int:
    """How many pages have a picture of their own."""
    with _opened(source) as image:
        return _frames(image)


def picture(source: Source, number: int) -> bytes:
    """The frame as PNG bytes, upright, its longest side at most `LONGEST_SIDE` pixels."""
    with _opened(source) as image:
        image.seek(number - 1)
        frame = upright(image)
        frame.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
        return png(frame)


def png(image: Any) -> bytes:
    """A Pillow image as PNG bytes in RGB."""
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def upright(image: Any) -> Any:
    """A copy in RGB on white, turned as the camera says it was held."""
    from PIL import Image, ImageOps

    turned = ImageOps.exif_transpose(image)
    if turned.mode in ("RGBA", "LA", "PA") or "transparency" in turned.info:
        layer = turned.convert("RGBA")
        ground = Image.new("RGBA", layer.size, "white")
        return Image.alpha_composite(ground, layer).convert("RGB")
    if turned.mode.startswith("I;16") or turned.mode == "I":
        return turned.point(lambda value: value / 256).convert("L").convert("RGB")
    return turned.convert("RGB")


def _page(image: Any, index: int, source: Source) -> Page:
    image.seek(index)
    if image.width * image.height > _MAX_PIXELS:
        raise BadFile(f"{source.name} has more than {_MAX_PIXELS:,} pixels.")
    size = (image.width, image.height)
    if image.getexif().get(_EXIF_TURN, 1) >= 5:  # held sideways: it is shown turned
        size = (image.height, image.width)
    shown = (PagePicture("the page", (0.0, 0.0, float(size[0]), float(size[1])), size),)
    if source.ocr:
        seen = ocr.read(upright(image), source.name)
        return Page(index + 1, seen.text, pictures=shown, warnings=seen.warnings, boxes=seen.boxes)
    image.load()  # a truncated file fails here, not when someone wants to look
    return Page(index + 1, "", pictures=shown, warnings=("This page is a picture: look at it.",))


def _frames(image: Any) -> int:
    return int(getattr(image, "n_frames", 1)) if image.format == "TIFF" else 1


@contextmanager
def _opened(source: Source) -> Iterator[Any]:
    from PIL import Image

    # Its own bound on pixels warns at half of ours and refuses at the same.
    Image.MAX_IMAGE_PIXELS = _MAX_PIXELS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            image = Image.open(io.BytesIO(source.data), formats=_FORMATS)
        except Image.DecompressionBombError:
            raise BadFile(f"{source.name} has more than {_MAX_PIXELS:,} pixels.") from None
        with image:
            yield image
