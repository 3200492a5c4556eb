"""Reading a question into groups of terms to look for, and the statements it asks for."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from itertools import pairwise

from deskwork.tools.vocabulary import CONCEPTS, STOP_WORDS, Concept

_YEAR = re.compile(r"(?:fy)?(?:19|20)\d\d|fy\d\d|q[1-4]")


@dataclass(frozen=True)
class Group:
    """Alternatives as an FTS5 expression, and how much they count."""

    match: str
    weight: float


@dataclass(frozen=True)
class Question:
    """``statements`` maps income, balance and cash to how strongly each is asked for (0 to 1)."""

    groups: tuple[Group, ...]
    statements: dict[str, float]
    years: tuple[int, ...]


@functools.lru_cache(maxsize=64)  # a search asks again for each result's snippet
def parse(query: str) -> Question:
    """Concepts first, longest phrase first; the words they leave are groups of their own."""
    tokens = tokenize(query)
    stems = [stem(token) for token in tokens]
    taken = [False] * len(tokens)
    groups: dict[str, float] = {}
    statements: dict[str, float] = {}
    elsewhere = False
    for concept, phrase in _BY_LENGTH:
        for at in _places(stems, phrase):
            if all(taken[at : at + len(phrase)]):
                continue
            for index in range(at, at + len(phrase)):
                taken[index] = True
            elsewhere = elsewhere or concept.elsewhere
            named = not concept.groups
            for kind in concept.statement:
                statements[kind] = max(statements.get(kind, 0.0), 1.0 if named else 0.7)
            # A page may also use the question's own words for it.
            own = (" ".join(tokens[at : at + len(phrase)]),)
            for number, terms in enumerate(concept.groups):
                match = " OR ".join(f'"{term}"' for term in terms + own * (number == 0))
                groups[match] = max(groups.get(match, 0.0), 1.0)
    # A question that names its statements means those, whatever else its words stand for.
    if any(weight == 1.0 for weight in statements.values()):
        statements = {k: w if w == 1.0 else w * 0.5 for k, w in statements.items()}
    elif elsewhere:
        statements = {k: w * 0.4 for k, w in statements.items()}
    left = [
        None if used or _says_nothing(token) else token
        for token, used in zip(tokens, taken, strict=True)
    ]
    for token, following in pairwise([*left, None]):
        if token:
            groups.setdefault(f'"{token}"', 0.8)
        if token and following and token != following:
            groups.setdefault(f'NEAR("{token}" "{following}", 5)', 0.8)
    for year in years(query):
        groups.setdefault(f'"{year}"', 0.3)
    if not groups:  # nothing but stop words: take them as they are
        groups = {f'"{token}"': 1.0 for token in tokens}
    return Question(
        tuple(Group(match, weight) for match, weight in groups.items()), statements, years(query)
    )


def _says_nothing(token: str) -> bool:
    short_number = token.isdigit() and len(token) < 3
    return token in STOP_WORDS or bool(_YEAR.fullmatch(token)) or short_number


def tokenize(text: str) -> list[str]:
    """Words as FTS5's tokenizer splits them, possessive endings dropped."""
    lowered = re.sub(r"[\u2019']s\b", "", text.lower())
    return re.findall(r"[^\W_]+", lowered)


def stem(word: str) -> str:
    """A rough stem, enough to match a question's words with the table's phrases."""
    for ending, instead in (("ies", "y"), ("sses", "ss"), ("s", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return word[: -len(ending)] + instead
    return word


def years(text: str) -> tuple[int, ...]:
    """The years that a question names, "FY18" and "FY2018" as 2018, in ascending order."""
    found = {int(year) for year in re.findall(r"(?<!\d)((?:19|20)\d\d)(?!\d)", text)}
    found |= {2000 + int(year) for year in re.findall(r"\bFY\s?[’']?(\d\d)\b", text, re.I)}
    return tuple(sorted(found))


def _places(stems: list[str], phrase: tuple[str, ...]) -> list[int]:
    last = len(stems) - len(phrase)
    return [at for at in range(last + 1) if tuple(stems[at : at + len(phrase)]) == phrase]


def _phrases() -> list[tuple[Concept, tuple[str, ...]]]:
    pairs = [
        (concept, tuple(stem(word) for word in tokenize(phrase)))
        for concept in CONCEPTS
        for phrase in concept.asked
    ]
    return sorted(pairs, key=lambda pair: -len(pair[1]))


_BY_LENGTH = _phrases()
