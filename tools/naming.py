"""Which file a question means: its company and year, looked for in names and on first pages."""

from __future__ import annotations

import math
import re
import sqlite3

from deskwork.tools.library_store import PAGES_PER_DOCUMENT
from deskwork.tools.questions import tokenize, years
from deskwork.tools.vocabulary import STOP_WORDS

_LEAD_PAGES = 2
_LEAD_CHARACTERS = 6_000


def likely_files(
    connection: sqlite3.Connection, query: str, names: dict[int, str]
) -> dict[int, float]:
    """For each document id, from 0 to 1, how likely it is meant; all 1 if nothing tells."""
    leads = {document: _lead(connection, document) for document in names}
    found = _named(query, names, leads)
    asked = years(query)
    scores = {}
    for document, name in names.items():
        score = found.get(document, 0.0)
        if asked:
            score += 0.6 * _year_match(asked, name, leads[document])
        score += 0.3 * _token_match(query, name)
        scores[document] = score
    best = max(scores.values(), default=0.0)
    if best <= 0:
        return dict.fromkeys(names, 1.0)
    return {document: score / best for document, score in scores.items()}


def _lead(connection: sqlite3.Connection, document: int) -> str:
    first = document * PAGES_PER_DOCUMENT
    rows = connection.execute(
        "SELECT text FROM pages WHERE id > ? AND id <= ? ORDER BY id", (first, first + _LEAD_PAGES)
    )
    return "\n".join(row[0] for row in rows)[:_LEAD_CHARACTERS].lower()


def _named(query: str, names: dict[int, str], leads: dict[int, str]) -> dict[int, float]:
    """The share of the question's naming words that stand in a file's name or first pages.

    A word names if it stands with some files and not with others; the rarer, the more it says.
    """
    asked = [
        token
        for token in dict.fromkeys(tokenize(query))
        if token not in STOP_WORDS and len(token) > 1
    ]
    asked = [token for token in asked if not re.fullmatch(r"(fy)?\d+|q\d", token)]
    compact = {document: re.sub(r"[^a-z0-9]", "", name.lower()) for document, name in names.items()}
    lead_words = {document: set(tokenize(lead)) for document, lead in leads.items()}
    scores: dict[int, float] = dict.fromkeys(names, 0.0)
    total = 0.0
    for token in asked:
        in_name = {
            document
            for document, name in compact.items()
            if (token in name if len(token) > 2 else name.startswith(token))
        }
        in_lead = {d for d in names if token in lead_words[d]}
        either = in_name | in_lead
        if not either or len(either) == len(names):
            continue
        rarity = math.log(len(names) / len(either)) * (1.0 if in_name else 0.4)
        total += rarity
        for document in either:
            scores[document] += rarity * (1.0 if document in in_name else 0.7)
    return {document: score / total for document, score in scores.items()} if total else {}


def _year_match(asked: tuple[int, ...], name: str, lead: str) -> float:
    """1 if the file is of the latest year asked for; less if it is of the next, or another."""
    latest = asked[-1]
    in_name = years(re.sub(r"[_\W]", " ", name)) or tuple(
        int(year) for year in re.findall(r"(?:19|20)\d\d", name)
    )
    found = in_name or years(lead)
    if not found:
        return 0.5
    if latest in found:
        return 1.0
    # A filing shows the two years before its own as well.
    if any(latest < year <= latest + 2 for year in found):
        return 0.4
    return 0.0


def _token_match(query: str, name: str) -> float:
    """Whether the question and the name share a quarter or a form ("Q2", "10-K", "8-K")."""
    pattern = r"q[1-4]|10-?[kq]|8-?k|20-?f|earnings|annual report|proxy"
    asked = {match.replace("-", "") for match in re.findall(pattern, query.lower())}
    given = {match.replace("-", "") for match in re.findall(pattern, name.lower())}
    return 1.0 if asked & given else 0.0
