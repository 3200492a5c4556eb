"""What of a fetched document is shown first: the main text, in the words of the library's pages.

The library holds the whole page as its reader reads it, and quotes are checked there. So the main
text only chooses among its lines: what is shown can be cited as it stands. Tables stay.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

LEFT_OUT = "[…]"
_ENOUGH = 400  # characters of main text below which it isn't trusted to be one
_MARK = re.compile(r"[\W_]+")


@dataclass(frozen=True)
class Shown:
    """One page's text as it is shown, and whether lines of it were left out."""

    number: int
    text: str
    trimmed: bool = False


def first_pages(pages: Sequence[tuple[int, str]], main: str, characters: int) -> list[Shown]:
    """The first pages (number, text) up to so many characters, trimmed to the main text.

    At least one page is given, cut where it is longer. Pages without any main text are left out
    as long as others have some.
    """
    shown: list[Shown] = []
    left = characters
    for number, text in pages:
        page = _trimmed(number, text, main)
        if not page.text:
            continue
        if len(page.text) > left:
            if not shown:
                shown.append(Shown(number, page.text[:left].rsplit("\n", 1)[0], True))
            break
        shown.append(page)
        left -= len(page.text)
    return shown or [Shown(number, text[:characters]) for number, text in pages[:1]]


def _trimmed(number: int, text: str, main: str) -> Shown:
    if len(main) < _ENOUGH:
        return Shown(number, text)
    wanted = _folded(main)
    kept: list[str] = []
    trimmed = False
    for line in text.split("\n"):
        if line.startswith("|") or _is_main(line, wanted):
            kept.append(line)
            continue
        trimmed = trimmed or bool(line.strip())
        if line.strip() and (not kept or kept[-1] != LEFT_OUT):
            kept.append(LEFT_OUT)
    if all(line == LEFT_OUT or not line.strip() for line in kept):
        return Shown(number, "", True)
    return Shown(number, "\n".join(kept), trimmed)


def _is_main(line: str, wanted: str) -> bool:
    folded = _folded(line)
    if not folded:
        return False
    if folded in wanted:
        return True
    # The reader's paragraph may hold what the main text splits: most of it must be there.
    parts = [_folded(part) for part in re.split(r"(?<=[.!?;:])\s+", line) if len(part) > 20]
    found = sum(len(part) for part in parts if part in wanted)
    return bool(parts) and found * 2 > len(folded)


def _folded(text: str) -> str:
    return _MARK.sub(" ", text.casefold()).strip()
