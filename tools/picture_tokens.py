"""What a picture costs a model, in tokens: estimates for the context budget.

The server's count in its usage is the truth. Rules of the vendors' pages, November 2026: Anthropic
counts squares of 28 pixels, OpenAI squares of 32 times a factor, or tiles of 512, by model.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil


@dataclass(frozen=True)
class _Patches:
    """Squares of 32 pixels, at most ``most``, times ``factor``."""

    factor: float
    most: int


@dataclass(frozen=True)
class _Tiles:
    """Tiles of 512 pixels at ``tile`` tokens each, on top of ``base``."""

    base: int
    tile: int


# The longest fitting prefix of a model's name counts.
_OPENAI: dict[str, _Patches | _Tiles] = {
    "gpt-4o": _Tiles(85, 170),
    "gpt-4o-mini": _Tiles(2833, 5667),
    "gpt-4.1": _Tiles(85, 170),
    "gpt-4.1-mini": _Patches(1.62, 1536),
    "gpt-4.1-nano": _Patches(2.46, 1536),
    "o1": _Tiles(75, 150),
    "o3": _Tiles(75, 150),
    "o4-mini": _Patches(1.72, 1536),
    "gpt-5": _Tiles(70, 140),
    "gpt-5-mini": _Patches(1.62, 1536),
    "gpt-5-nano": _Patches(2.46, 1536),
    "gpt-5.4": _Patches(1.2, 2500),
}
_UNKNOWN = _Patches(1.2, 2500)


def anthropic_tokens(width: int, height: int, *, high: bool = False) -> int:
    """Tokens of a picture of so many pixels: squares of 28 after the server has fitted it.

    It fits into 1,568 pixels a side and 1,568 tokens; on models of high resolution (``high``)
    into 2,576 pixels and 4,784 tokens.
    """
    side, most = (2576, 4784) if high else (1568, 1568)
    longest = max(width, height)
    for length in range(min(longest, side), 0, -1):
        tokens = _squares(width * length / longest, height * length / longest, 28)
        if tokens <= most:
            return tokens
    return 1


def openai_tokens(width: int, height: int, model: str) -> int:
    """Tokens of a picture at detail ``high``; an unknown model counts as the newest known one."""
    fitting = [name for name in _OPENAI if model.startswith(name)]
    rule = _OPENAI[max(fitting, key=len)] if fitting else _UNKNOWN
    scale = min(1.0, 2048 / max(width, height))
    width, height = round(width * scale), round(height * scale)
    if isinstance(rule, _Tiles):
        scale = min(1.0, 768 / min(width, height))
        return rule.base + rule.tile * _squares(width * scale, height * scale, 512)
    squares = _squares(width, height, 32)
    if squares > rule.most:
        # Scaled to the bound, then down to whole squares of one side.
        scale = (rule.most / (width * height)) ** 0.5
        across, down = width * scale, height * scale
        whole = min(max(1, int(across)) / across, max(1, int(down)) / down)
        squares = min(rule.most, _squares(across * whole, down * whole, 1))
    return ceil(squares * rule.factor)


def _squares(width: float, height: float, side: int) -> int:
    # A hair's breadth over a square's edge is rounding, not a further square.
    return max(1, ceil(width / side - 1e-6)) * max(1, ceil(height / side - 1e-6))
