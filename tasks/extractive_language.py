"""Whether a question is in English, which is all that the built-in answerer takes apart."""

from __future__ import annotations

import re

_ENGLISH = """
the of how what which why who where when did does do is are were has have had their its for and
to by with from between since how much many
"""
_OTHERS = """
der die das den dem des und wie hoch war waren von im für welche welcher welches warum wird nicht
le la les du et quel quelle quels quelles est était sont pour dans pourquoi combien comment
el los las cuál cuáles fue fueron por qué cómo cuánto para según una
il lo gli quale quali è sono perché quanto qual foi são como em
het een van waarom hoe hoeveel welk zijn och vad hur är på av det
"""
_IN_ENGLISH = frozenset(_ENGLISH.split())
_ELSEWHERE = frozenset(_OTHERS.split()) - _IN_ENGLISH


def is_english(question: str) -> bool:
    """False for a question with more small words of another language, or in another script."""
    words = re.findall(r"[^\W\d_]+", question.lower())
    if not words:
        return True
    latin = sum(all(letter < "\u0250" for letter in word) for word in words)
    if latin < len(words) / 2:
        return False
    here = sum(word in _IN_ENGLISH for word in words)
    return sum(word in _ELSEWHERE for word in words) <= here
