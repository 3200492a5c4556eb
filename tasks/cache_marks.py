"""Cache marks on the messages protocol: spliced into a request's frozen bytes as it is sent.

A mark says "cache everything up to here". The server takes four: the last tool, the system text,
and two that move with the conversation's end. From a mark it looks back over 20 blocks for what
it cached earlier, so the two stand at most 20 blocks apart and together reach back over 40.
Marks don't count as bytes of the history; moving one changes no prefix.
"""

from __future__ import annotations

from collections.abc import Sequence

MARK = b',"cache_control":{"type":"ephemeral"}'
LOOK_BACK = 20
"""Content blocks that a server looks back from a mark (vendor's documentation, 2026)."""


class Marks:
    """Where marks may stand in a conversation's messages: at the ends of a user's blocks."""

    def __init__(self) -> None:
        self._blocks = 0
        self._ends: list[tuple[int, int]] = []

    def add(self, end: int, blocks: int, *, markable: bool) -> None:
        """Take an item of so many blocks that ends at a byte of the messages."""
        self._blocks += blocks
        if markable:
            self._ends.append((end, self._blocks))

    def offsets(self) -> list[int]:
        """The bytes before which the two moving marks go, in order."""
        if not self._ends:
            return []
        last, newest = self._ends[-1]
        first = last
        for end, blocks in reversed(self._ends):
            if newest - blocks > LOOK_BACK:
                break
            first = end
        return [end - 1 for end in ((first, last) if first != last else (last,))]


def marked(array: bytes) -> bytes:
    """A JSON array of objects with a mark in its last one."""
    return array[:-2] + MARK + array[-2:]


def spliced(pieces: Sequence[bytes], offsets: Sequence[int]) -> list[bytes]:
    """The pieces with a mark before each of these bytes; untouched pieces are not copied."""
    out: list[bytes] = []
    at, todo = 0, [*offsets]
    for piece in pieces:
        rest, begin = piece, at
        while todo and todo[0] < at + len(piece):
            cut = todo.pop(0) - begin
            out += [rest[:cut], MARK]
            rest, begin = rest[cut:], begin + cut
        out.append(rest)
        at += len(piece)
    return out


def without_marks(body: bytes) -> bytes:
    """A request's bytes as its history holds them."""
    return body.replace(MARK, b"")
