"""Which pages answer a question: BM25 for each concept of it, the filing's structure, the file.

Plain BM25 over a question's words drowns in its wording ("answer in USD millions") and misses
what filings call things. Here a question is first read as concepts (`vocabulary`), each a group
of alternative terms. FTS5's BM25 says how well a page speaks of each group; how rare a group is
is counted in the collection itself. Pages that are the primary statement on which the concepts'
lines stand are lifted (`statements`). Among several files, words of the question that stand in a
file's name or on its first page tell which one is meant.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections import defaultdict
from dataclasses import dataclass

from deskwork.tools.library_store import PAGES_PER_DOCUMENT
from deskwork.tools.naming import likely_files
from deskwork.tools.questions import Question, parse, tokenize
from deskwork.tools.vocabulary import CONCEPTS, STOP_WORDS

# Weights were set on general grounds and are not fitted to a question set; see
# benchmarks/retrieval.py for what they give.
_ASKED = {word for concept in CONCEPTS for phrase in concept.asked for word in phrase.split()}
STATEMENT_LIFT = 0.9  # a whole statement that the question asks for, against the best text match
FILE_WEIGHT = 0.75  # how much of a page's score depends on its file being the one meant
CORE_SHARE = 0.8  # files this likely, against the likeliest, are the ones a question is about


@dataclass(frozen=True)
class Ranked:
    """A page (by row id) with its score and text."""

    id: int
    score: float
    text: str


def rank(
    connection: sqlite3.Connection, query: str, names: dict[int, str], limit: int = 50
) -> list[Ranked]:
    """The best pages of the documents (id → file name), best first. Empty if nothing matches."""
    question = parse(query)
    likely = likely_files(connection, query, names) if len(names) > 1 else dict.fromkeys(names, 1.0)
    core = {document for document, share in likely.items() if share >= CORE_SHARE}
    scores = _text_scores(connection, question, names, core)
    if not scores:
        return []
    best = max(scores.values())
    scores = {page: score / best for page, score in scores.items()}
    if question.statements:
        for page, lift in _statement_lifts(connection, question, names).items():
            scores[page] = scores.get(page, 0.0) + STATEMENT_LIFT * lift
    for page in scores:
        share = likely[page // PAGES_PER_DOCUMENT]
        scores[page] *= 1 - FILE_WEIGHT + FILE_WEIGHT * share
    first = sorted(scores, key=lambda page: (-scores[page], page))[:limit]
    texts = dict(
        connection.execute(
            "SELECT id, text FROM pages WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(first),),
        )
    )
    return [Ranked(page, scores[page], texts[page]) for page in first]


def content_words(query: str) -> list[str]:
    """The words of a query that say what it is about, each once.

    Those of the vocabulary's concepts are left out: filings say them in other words.
    """
    return [
        word
        for word in dict.fromkeys(tokenize(query))
        if word not in STOP_WORDS and word not in _ASKED and len(word) > 3 and word.isalpha()
    ]


def unknown_words(connection: sqlite3.Connection, query: str, documents: list[int]) -> list[str]:
    """The content words of a query that stand on no page of these documents, in any form."""
    wanted = json.dumps(documents)
    return [
        word
        for word in content_words(query)
        if connection.execute(
            "SELECT 1 FROM page_words WHERE page_words MATCH ?"
            f" AND rowid / {PAGES_PER_DOCUMENT} IN (SELECT value FROM json_each(?)) LIMIT 1",
            (f'"{word}"', wanted),
        ).fetchone()
        is None
    ]


def _count(connection: sqlite3.Connection, documents: str) -> int:
    row = connection.execute(
        "SELECT total(pages) FROM documents WHERE id IN (SELECT value FROM json_each(?))",
        (documents,),
    ).fetchone()
    return int(row[0])


def _text_scores(
    connection: sqlite3.Connection, question: Question, names: dict[int, str], core: set[int]
) -> dict[int, float]:
    """For each page the sum over the groups it has, lifted by the share of groups it covers.

    How rare a group is, and what its best page is worth, is taken from the core files alone:
    what other companies write says nothing about which page of this one's filing is meant.
    """
    documents = json.dumps(sorted(names))
    total = _count(connection, json.dumps(sorted(core)))
    scores: dict[int, float] = defaultdict(float)
    covered: dict[int, float] = defaultdict(float)
    everything = 0.0
    for group in question.groups:
        rows = connection.execute(
            "SELECT rowid, -bm25(page_words) FROM page_words WHERE page_words MATCH ?"
            f" AND rowid / {PAGES_PER_DOCUMENT} IN (SELECT value FROM json_each(?))",
            (group.match, documents),
        ).fetchall()
        if not rows:
            continue
        # FTS5 counts rarity over the whole library; dividing by the best page's value leaves how
        # well a page speaks of the group, and the core files say how rare the group is.
        inside = [value for page, value in rows if page // PAGES_PER_DOCUMENT in core]
        rarity = group.weight * math.log(1 + (total - len(inside) + 0.5) / (len(inside) + 0.5))
        strongest = max(inside or [value for _, value in rows]) or 1.0
        everything += rarity
        for page, value in rows:
            scores[page] += rarity * (0.35 + 0.65 * min(1.0, value / strongest))
            covered[page] += rarity
    if not everything:
        return {}
    return {
        page: score * (0.5 + 0.5 * covered[page] / everything) for page, score in scores.items()
    }


def _statement_lifts(
    connection: sqlite3.Connection, question: Question, names: dict[int, str]
) -> dict[int, float]:
    """How much each page is one of the statements that the question asks for, from 0 to 1."""
    lifts: dict[int, float] = {}
    rows = connection.execute(
        "SELECT id, income, balance, cash FROM pages WHERE income + balance + cash > 0.2"
        f" AND id / {PAGES_PER_DOCUMENT} IN (SELECT value FROM json_each(?))",
        (json.dumps(sorted(names)),),
    )
    for page, *kinds in rows:
        traits = dict(zip(("income", "balance", "cash"), kinds, strict=True))
        lifts[page] = max(traits[kind] * weight for kind, weight in question.statements.items())
    return lifts
