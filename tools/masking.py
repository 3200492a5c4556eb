"""What others say, without the secret that they were sent: servers echo what they refuse."""

from __future__ import annotations

SHORTEST = 8
"""The beginning of a secret that is taken out too: long messages are cut, also through it."""


def masked(text: str, secret: str | None, name: str) -> str:
    """The text with ``[name]`` where the secret stood, or its beginning."""
    whole = secret or ""
    for end in range(len(whole), min(len(whole), SHORTEST) - 1, -1) if whole else ():
        text = text.replace(whole[:end], f"[{name}]")
    return text
