"""Pictures made fit for a model: upright, within the size that servers accept, encoded once.

A picture that fits already is passed on byte for byte; any other is encoded again by fixed
settings, so that the same bytes in give the same bytes out and stay under one content hash.
"""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass
from typing import Any

from deskwork.tools.errors import BadFile

LONGEST_SIDE = 1568  # pixels; larger pictures are scaled down by the servers anyway
MOST_BYTES = int(3.75 * 1024 * 1024)  # 5 MiB as base64, which is what servers bound
_MOST_PIXELS = 100_000_000
_MEDIA_TYPES = {
    "PNG": "image/png",
    "JPEG": "image/jpeg",
    "WEBP": "image/webp",
    "GIF": "image/gif",
}
_ORIENTATION = 0x0112


@dataclass(frozen=True)
class Picture:
    """Encoded picture bytes; width and height in pixels, as shown upright."""

    data: bytes
    media_type: str
    width: int
    height: int


def fit(data: bytes, name: str = "The picture") -> Picture:
    """A picture within the limits. The kind is told from the bytes.

    Raises `BadFile` with a sentence when it is empty, of no known kind, broken, or too large to
    be unpacked safely.
    """
    from PIL import Image, UnidentifiedImageError

    # Pillow warns on standard error from 89 million pixels on; here the bound is an error's.
    warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)
    if not data:
        raise BadFile(f"{name} is empty (0 bytes).")
    try:
        with Image.open(io.BytesIO(data)) as image:
            if image.width * image.height > _MOST_PIXELS:
                raise BadFile(
                    f"{name} has {image.width} x {image.height} pixels, too many to unpack."
                )
            image.load()
            return _fitted(image, data)
    except BadFile:
        raise
    except UnidentifiedImageError:
        raise BadFile(f"{name} is not a picture of a known kind.") from None
    except Image.DecompressionBombError:
        raise BadFile(f"{name} has too many pixels to unpack.") from None
    except Exception as error:
        detail = " ".join(str(error).split())[:100] or type(error).__name__
        raise BadFile(f"{name} is broken: it can't be decoded ({detail}).") from error


def _fitted(image: Any, data: bytes) -> Picture:
    from PIL import ImageOps

    turned = image.getexif().get(_ORIENTATION, 1) not in (0, 1)
    small = max(image.size) <= LONGEST_SIDE and len(data) <= MOST_BYTES
    if small and not turned and image.format in _MEDIA_TYPES:
        return Picture(data, _MEDIA_TYPES[image.format], image.width, image.height)
    lossy = image.format in ("JPEG", "MPO")
    upright = ImageOps.exif_transpose(image)
    upright = upright.convert("RGBA" if not lossy and _has_alpha(upright) else "RGB")
    upright.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    if not lossy:
        buffer = io.BytesIO()
        upright.save(buffer, "PNG")
        if buffer.tell() <= MOST_BYTES:
            return Picture(buffer.getvalue(), "image/png", upright.width, upright.height)
    return _as_jpeg(upright)


def _as_jpeg(image: Any) -> Picture:
    """At quality 90, and lower only where 90 is too large; transparency becomes white."""
    from PIL import Image

    if image.mode == "RGBA":
        ground = Image.new("RGB", image.size, "white")
        ground.paste(image, mask=image.getchannel("A"))
        image = ground
    for quality in (90, 80, 65, 50):
        buffer = io.BytesIO()
        image.save(buffer, "JPEG", quality=quality)
        if buffer.tell() <= MOST_BYTES:
            break
    return Picture(buffer.getvalue(), "image/jpeg", image.width, image.height)


def _has_alpha(image: Any) -> bool:
    return image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info
