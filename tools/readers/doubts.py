"""Whether a page's text layer can be what the page shows.

A font without a map to Unicode gives its own numbers as letters: the page shows "Phone", the text
layer says '"7+%-'. Such text has too many signs, or too few vowels for any Latin language.
"""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W\d_]+")
_LATIN = re.compile(r"[A-Za-zÀ-ɏ]{4,}")
_VOWEL = re.compile(r"[aeiouyAEIOUYÀ-ÖØ-öø-ɏ]")
_PRIVATE = re.compile("[\ue000-\uf8ff\ufffd\u0080-\u009f]")
_DIGIT = re.compile(r"\d")
# Signs that texts with few letters are full of for good reason: figures, rules, lists, leaders.
_FIGURES = re.compile(r"[\d\s.,()$€£¥%+\-–—/:*•·|_=<>#&'’“”√☐☒✓×]")


def is_doubtful(text: str, unmapped: float = 0.0) -> bool:
    """True when the text can't be language or figures. ``unmapped`` is the share of characters
    for which pdfium says that the font has no map."""
    dense = "".join(text.split())
    if len(dense) < 3:
        return False
    if unmapped > 0.2 or len(_PRIVATE.findall(dense)) > 0.1 * len(dense):
        return True
    letters = sum(map(len, _WORD.findall(dense)))
    signs = len(dense) - letters - len(_FIGURES.findall(dense))
    digits = len(_DIGIT.findall(dense))
    if letters + digits < 0.3 * len(dense) and signs > 0.1 * len(dense):
        return True
    # About two letters of five are vowels in any Latin language, one of four in tickers.
    words = "".join(_LATIN.findall(text))
    return len(words) >= 40 and len(_VOWEL.findall(words)) < 0.2 * len(words)
