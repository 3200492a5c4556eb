"""Pixels of any kind brought to eight bits of red, green and blue, with transparency kept."""

from __future__ import annotations

from typing import Any


def plain(image: Any, *, keep_alpha: bool) -> Any:
    """A Pillow image as RGB, or as RGBA where it is transparent and that is to be kept."""
    if image.mode.startswith(("I", "F")):
        image = _eight_bits(image)
    return image.convert("RGBA" if keep_alpha and has_alpha(image) else "RGB")


def has_alpha(image: Any) -> bool:
    """True for a picture that can be seen through, by a channel or by one colour or entry."""
    return image.mode in ("RGBA", "RGBa", "LA", "La", "PA") or "transparency" in image.info


def flattened(image: Any) -> Any:
    """An RGBA picture on white paper."""
    from PIL import Image

    ground = Image.new("RGB", image.size, "white")
    ground.paste(image, mask=image.getchannel("A"))
    return ground


def _eight_bits(image: Any) -> Any:
    """Grey values of 16 or 32 bits or of fractions: a conversion alone would cut them at 255.

    Whole numbers up to 65,535 are 16 bits, as scanners and cameras write them; fractions up to 1
    are parts of white; anything else is stretched from its darkest to its lightest.
    """
    wide = image.convert("F")
    low, high = wide.getextrema()
    if image.mode == "F" and low >= 0 and high <= 1:
        low, high = 0.0, 1.0
    elif image.mode != "F" and low >= 0 and high <= 255 and image.mode == "I":
        low, high = 0.0, 255.0
    elif image.mode != "F" and low >= 0 and high <= 65535:
        low, high = 0.0, 65535.0
    scale = 255 / ((high - low) or 1)
    return wide.point(lambda value: value * scale - low * scale).convert("L")
