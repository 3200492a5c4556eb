"""The lines of a page that a search result shows: those that answer the question most."""

from __future__ import annotations

import re

from deskwork.tools.questions import parse, stem, tokenize, years

_CHARACTERS = 320


def snippet(text: str, query: str, limit: int = _CHARACTERS) -> str:
    """Up to three neighbouring lines with most of the query's terms, rows with figures first.

    Lines are joined by " / ", each with its white space folded: the snippet is one line.
    """
    terms = terms_of(query)
    lines = [" ".join(line.split()) for line in text.split("\n")]
    lines = [line for line in lines if line]
    if not lines:
        return ""
    values = [_value(line, terms) for line in lines]
    best = max(
        range(len(lines)),
        key=lambda i: (values[i] + 0.4 * sum(values[max(0, i - 1) : i + 2]), -i),
    )
    shown = lines[best]
    for neighbour in (best + 1, best - 1):
        if 0 <= neighbour < len(lines) and len(shown) + len(lines[neighbour]) + 3 <= limit:
            pair = (shown, lines[neighbour]) if neighbour > best else (lines[neighbour], shown)
            shown = " / ".join(pair)
    if len(shown) > limit:
        shown = _window(shown, terms, limit)
    return shown


def terms_of(query: str) -> list[tuple[frozenset[str], float]]:
    """Each alternative of the query's groups as a set of stems, with its weight."""
    terms: dict[frozenset[str], float] = {}
    for group in parse(query).groups:
        for phrase in re.findall(r'"([^"]+)"', group.match):
            terms[frozenset(stem(word) for word in tokenize(phrase))] = group.weight
    for year in years(query):
        terms[frozenset([str(year)])] = 0.3
    return list(terms.items())


def _value(line: str, terms: list[tuple[frozenset[str], float]]) -> float:
    stems = {stem(word) for word in tokenize(line)}
    value: float = sum(weight * float(len(term) ** 0.5) for term, weight in terms if term <= stems)
    # A row whose label is asked for and that has figures is what a question about figures wants.
    return value * (1.5 if len(re.findall(r"\d[\d,.]*", line)) >= 2 else 1.0)


def _window(line: str, terms: list[tuple[frozenset[str], float]], limit: int) -> str:
    """The part of a long line around its first matching word, cut at words."""
    wanted = {word for term, _ in terms for word in term}
    at = next(
        (
            match.start()
            for match in re.finditer(r"[^\W_]+", line)
            if stem(match[0].lower()) in wanted
        ),
        0,
    )
    start = max(0, min(at - limit // 4, len(line) - limit))
    part = line[start : start + limit]
    if start:
        part = "…" + part.partition(" ")[2]
    if start + limit < len(line):
        part = part.rpartition(" ")[0] + "…"
    return part
