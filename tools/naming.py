"""Which file a question means: its company and year, looked for in names and on first pages."""

from __future__ import annotations

import functools
import math
import re
import sqlite3
from collections.abc import Iterable

from deskwork.tools.library_store import PAGES_PER_DOCUMENT
from deskwork.tools.questions import tokenize, years
from deskwork.tools.vocabulary import CONCEPTS, STOP_WORDS

_LEAD_CHARACTERS = 3_000  # of the first page: a cover, with the company's name and the period


def likely_files(
    connection: sqlite3.Connection, query: str, names: dict[int, str]
) -> dict[int, float]:
    """For each document id, from 0 to 1, how likely it is meant; all 1 if nothing tells."""

    @functools.cache
    def lead(document: int) -> str:
        return _lead(connection, document)

    asked = years(query)
    found = _in_names(query, names)
    surely = bool(found)
    found = found or _in_leads(query, {document: lead(document) for document in names})
    scores = {}
    for document, name in names.items():
        told = _years_in_name(name) or (years(lead(document)) if asked else ())
        period = 0.6 * _year_match(asked, told) if asked else 0.0
        period += 0.3 * _form_match(query, name)
        if surely:
            # Once a company is told, the right year of another company is no help.
            scores[document] = found[document] * (1 + period)
        else:
            scores[document] = (1 + found.get(document, 0.0)) * (0.5 + period)
    best = max(scores.values(), default=0.0)
    if best <= 0:
        return dict.fromkeys(names, 1.0)
    return {document: score / best for document, score in scores.items()}


def _lead(connection: sqlite3.Connection, document: int) -> str:
    row = connection.execute(
        "SELECT substr(text, 1, ?) FROM pages WHERE id = ?",
        (_LEAD_CHARACTERS, document * PAGES_PER_DOCUMENT + 1),
    ).fetchone()
    return str(row[0]).lower() if row else ""


def _in_names(query: str, names: dict[int, str]) -> dict[int, float]:
    """The share of the question's naming words that stand in each file's name; {} if none does.

    A word names if it stands with some files and not with others; the rarer, the more it says.
    """
    compact = {document: re.sub(r"[^a-z0-9]", "", name.lower()) for document, name in names.items()}
    return _shares(
        {
            token: {
                document
                for document, name in compact.items()
                # Very short names ("3m") must stand at the beginning.
                if (token in name if len(token) > 2 else name.startswith(token))
            }
            for token in _naming_words(query)
        },
        names,
    )


def _in_leads(query: str, leads: dict[int, str]) -> dict[int, float]:
    """The same for first pages, for files whose names tell nothing ("10k.pdf").

    Covers have many words that questions have too: only words that the question writes with a
    capital, and that no concept of the vocabulary uses, count here.
    """
    capitals = {token.lower() for token in re.findall(r"\b[A-Z0-9]\w+", query)}
    spoken = {word for concept in CONCEPTS for phrase in concept.asked for word in phrase.split()}
    tokens = [token for token in _naming_words(query) if token in capitals and token not in spoken]
    words = {document: set(tokenize(lead)) for document, lead in leads.items()}
    where = {token: {d for d, lead in words.items() if token in lead} for token in tokens}
    return _shares(where, leads)


def _naming_words(query: str) -> list[str]:
    return [
        token
        for token in dict.fromkeys(tokenize(query))
        if token not in STOP_WORDS and len(token) > 1 and not re.fullmatch(r"(fy)?\d+|q\d", token)
    ]


def _shares(where: dict[str, set[int]], documents: Iterable[int]) -> dict[int, float]:
    every = list(documents)
    rarities = {
        token: math.log(len(every) / len(found))
        for token, found in where.items()
        if 0 < len(found) < len(every)
    }
    total = sum(rarities.values())
    if not total:
        return {}
    return {
        document: sum(rarity for token, rarity in rarities.items() if document in where[token])
        / total
        for document in every
    }


def _years_in_name(name: str) -> tuple[int, ...]:
    return tuple(int(year) for year in re.findall(r"(?<!\d)(?:19|20)\d\d(?!\d)", name))


def _year_match(asked: tuple[int, ...], told: tuple[int, ...]) -> float:
    """1 if a file tells the latest year asked for; less if it is of a later year, or tells none."""
    latest = asked[-1]
    if not told:
        return 0.5
    if latest in told:
        return 1.0
    # A filing shows the two years before its own as well.
    return 0.4 if any(latest < year <= latest + 2 for year in told) else 0.0


def _form_match(query: str, name: str) -> float:
    """Whether the question and the name share a quarter or a form ("Q2", "10-K", "8-K")."""
    pattern = r"q[1-4]|10-?[kq]|8-?k|20-?f|earnings|annual report|proxy"
    asked = {match.replace("-", "") for match in re.findall(pattern, query.lower())}
    given = {match.replace("-", "") for match in re.findall(pattern, name.lower())}
    return 1.0 if asked & given else 0.0
