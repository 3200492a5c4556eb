"""Finding a quote in a page: what may differ in writing is folded away, what it says is not.

Folded: runs of white space, soft hyphens and invisible marks, curly and straight quotes, dash
kinds, ligatures and other compatibility forms (NFKD). Not folded: letters' case, digits, signs
and punctuation. A figure must match whole: ``577`` is not found in ``1,577``.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

_SINGLE = "\u2018\u2019\u201a\u201b\u2032\u02bc`\u00b4"
_DOUBLE = "\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb"
_DROPPED = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff\u200e\u200f")
_SOFT_HYPHEN = "\u00ad"


@dataclass(frozen=True)
class Folded:
    """Folded text, and for each of its characters the offset of its source in the original."""

    text: str
    offsets: tuple[int, ...]


def fold(text: str, *, soft_hyphen: str = "") -> Folded:
    """Fold a text for comparing. ``soft_hyphen`` is what a soft hyphen becomes.

    (PDF readers report a hyphen at a line's end as soft, whether the word has one or not.)
    """
    out: list[str] = []
    offsets: list[int] = []
    index = 0
    while index < len(text):
        start = index
        char = text[index]
        index += 1
        if char.isascii() and (index == len(text) or text[index].isascii()):
            piece = "'" if char == "`" else char
        else:
            # A letter and its combining marks fold together, so that both forms of é are one.
            while index < len(text) and unicodedata.combining(text[index]):
                index += 1
            piece = _fold_cluster(text[start:index], soft_hyphen)
        for part in piece:
            if part.isspace():
                if not out or out[-1] == " ":
                    continue
                part = " "
            out.append(part)
            offsets.append(start)
    while out and out[-1] == " ":
        out.pop()
        offsets.pop()
    return Folded("".join(out), tuple(offsets))


def _fold_cluster(cluster: str, soft_hyphen: str) -> str:
    first = cluster[0]
    if first == _SOFT_HYPHEN:
        return soft_hyphen
    if first in _DROPPED:
        return ""
    if first in _SINGLE:
        return "'"
    if first in _DOUBLE:
        return '"'
    folded = unicodedata.normalize("NFKD", cluster)
    return "".join(
        "-" if part == "\u2212" or unicodedata.category(part) == "Pd" else part
        for part in folded
        if part not in _DROPPED
    )


@dataclass(frozen=True)
class Place:
    """Where a quote stands: ``start`` and ``end`` are offsets in the page's own text."""

    start: int
    end: int
    folded: str


def too_short(quote: str) -> bool:
    """Whether a quote says too little to be evidence: fewer than 12 letters and no digit.

    A character of Chinese, Japanese or Korean says as much as three letters.
    """
    folded = fold(quote).text
    if any(char.isdigit() for char in folded):
        return len(folded) < 3
    return sum(3 if unicodedata.east_asian_width(char) in "WF" else 1 for char in folded) < 12


def is_line(text: str, quote: str) -> bool:
    """Whether a quote is a whole line of a text, so that it can be told from every other."""
    wanted = fold(quote).text
    return bool(wanted) and any(fold(line).text == wanted for line in text.splitlines())


def may_hold(text: str, quote: str) -> bool:
    """Whether a page is worth looking through: it has the quote's longest plain word.

    Folding a whole filing to look for one quote takes a third of a second; this takes none.
    """
    plain = max(re.findall(r"[A-Za-z0-9]+", fold(quote).text), key=len, default="")
    invisible = dict.fromkeys(map(ord, _DROPPED))
    return plain in unicodedata.normalize("NFKD", text).translate(invisible)


@lru_cache(maxsize=4)
def _page(text: str, soft_hyphen: str) -> Folded:
    """A page folded once for all the quotes that are looked for on it."""
    return fold(text, soft_hyphen=soft_hyphen)


def find(text: str, quote: str) -> Place | None:
    """The first place where the quote stands in the text, whole words and whole figures only."""
    wanted = fold(quote).text
    if not wanted:
        return None
    forms = ("", "-") if _SOFT_HYPHEN in text else ("",)
    for form in forms:
        page = _page(text, form)
        at = page.text.find(wanted)
        while at >= 0:
            end = at + len(wanted)
            if _is_whole(page.text, at, end):
                start = page.offsets[at]
                # A character that folds into several (… into ...) is taken whole.
                while end < len(page.offsets) and page.offsets[end] == page.offsets[end - 1]:
                    end += 1
                last = page.offsets[end] if end < len(page.offsets) else len(text)
                own = text[start:last].rstrip()
                return Place(start, start + len(own), wanted)
            at = page.text.find(wanted, at + 1)
    return None


def _is_whole(text: str, start: int, end: int) -> bool:
    """Neither end cuts a word or a figure in two."""
    if start and text[start].isalnum():
        if text[start - 1].isalnum():
            return False
        if text[start].isdigit() and re.search(r"\d[.,]$", text[max(0, start - 2) : start]):
            return False
    if end < len(text) and text[end - 1].isalnum():
        if text[end].isalnum():
            return False
        if text[end - 1].isdigit() and re.match(r"[.,]\d", text[end : end + 2]):
            return False
    return True


def closest(text: str, quote: str, limit: int = 240) -> str:
    """The passage of the text that shares most words with the quote, or "" if none does."""
    words = re.findall(r"\w+", fold(quote).text.lower())
    if not words:
        return ""
    spans = [(match.group().lower(), match.span()) for match in re.finditer(r"\w+", text)]
    wanted = Counter(words)
    window: Counter[str] = Counter()
    best, best_at, shared = 0, 0, 0
    for index, (word, _) in enumerate(spans):
        window[word] += 1
        shared += window[word] <= wanted[word]
        if index >= len(words):
            old = spans[index - len(words)][0]
            shared -= window[old] <= wanted[old]
            window[old] -= 1
        if shared > best:
            best, best_at = shared, max(0, index - len(words) + 1)
    if best * 3 < len(words):
        return ""
    start = spans[best_at][1][0]
    end = spans[min(best_at + len(words), len(spans)) - 1][1][1]
    return " ".join(text[start:end].split())[:limit]
