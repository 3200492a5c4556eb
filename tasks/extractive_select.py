"""Which passages answer a question: the terms they share with it, weighed by rarity and page."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from deskwork.tasks.extractive_passages import Passage, passages_of
from deskwork.tasks.extractive_turns import FoundPage
from deskwork.tasks.extractive_wording import (
    CAUSE,
    CAUSES,
    CONCRETE,
    FOR_BOTH,
    INTRODUCES,
    LEANING,
    LEANS,
    NAMES_A_RISK,
    OF_PARTS,
    OF_POLICY,
    PARTS,
    POLICY,
    REFERS,
    SEVERAL,
    SUPPOSED,
    SUPPOSES,
    Kind,
    kind_of,
)
from deskwork.tools.questions import parse, stem, tokenize, years

QUOTES = 4
"""Passages in an answer, at most."""
ENOUGH = 0.3
"""The share of a question's weight that an answer must cover; less is no answer."""
ENOUGH_IN_ONE = 0.4
"""The share that the best passage must cover, where the question has words of its own alone."""
_NEXT = 0.9  # what a page counts against the one that the search put before it
_PLAIN = 0.5  # what a word counts against something that filings have names for
_OPENING = 6  # words
_STEM = 8  # letters; forms of a word differ behind them
_COVERED = 0.6  # what a term counts again once a chosen passage has it
_BY_ONE_WORD = 0.6  # a row whose long label shares one word with what is asked ("cost of sales")
_REFERRING = 0.8  # the same for a sentence that goes on about it ("The increase was due to")
_APART = 0.5  # words that stand apart, against the same words in a row
_NEAR = 0.3  # what a term counts in the heading, the columns or the sentence before


# Words that stand in questions of every kind.
_ASKING = "make made take took hold come came go went get got happen there tell"
_EMPTY = frozenset(_ASKING.split())


@dataclass(frozen=True)
class _Term:
    """Alternatives, each a run of stems; ``weight`` times ``rarity`` is what it counts."""

    runs: tuple[tuple[str, ...], ...]
    weight: float
    apart: bool = False  # the words may stand apart
    topic: bool = False  # it is what is asked about, not how or why
    cause: bool = False  # words in which a cause is given
    first: bool = False  # it names that itself; others are what it is computed from


@dataclass(frozen=True)
class _Candidate:
    passage: Passage
    prior: float
    before: str
    of_parts: bool = False  # a row on a page about segments, where the whole is asked for

    @cached_property
    def words(self) -> list[str]:
        return tokenize(self.passage.text)

    @cached_property
    def stems(self) -> list[str]:
        return [_stem(word) for word in self.words]

    @cached_property
    def label(self) -> list[str]:
        return [_stem(word) for word in tokenize(self.passage.label) if not word.isdigit()]

    @cached_property
    def context(self) -> list[str]:
        around = f"{self.passage.heading} {self.passage.columns} {self.before}"
        return [_stem(word) for word in tokenize(around)]


def select(
    question: str,
    pages: Mapping[tuple[str, int], str],
    found: Sequence[FoundPage],
    refused: set[tuple[object, object]],
    *,
    most_pages: int,
    keep: float,
    other_form: float,
) -> list[Passage]:
    """The passages to cite, best first; none if nothing covers enough of the question.

    A further passage must bring ``keep`` of what the best one brings; a sentence beside rows, or a
    row beside sentences, counts ``other_form``.
    """
    terms = _terms(question, {page.file for page in found})
    best = max((page.score for page in found), default=0.0) or 1.0
    parts = set[tuple[str, int]]()
    if not PARTS.search(question):
        parts = {at for at, text in pages.items() if len(PARTS.findall(text)) >= SEVERAL}
    candidates = [
        _Candidate(
            passage,
            (max(0.0, page.score) / best) * _NEXT**rank,
            before,
            passage.is_row and (page.file, page.number) in parts,
        )
        for rank, page in enumerate(found)
        for before, passage in _with_before(
            passages_of(page.file, page.number, pages.get((page.file, page.number), ""))
        )
        if (passage.file, passage.text) not in refused
    ]
    if not candidates or not terms:
        return []
    matches = [{n for n, term in enumerate(terms) if _has(c.stems, term)} for c in candidates]
    near = [{n for n, term in enumerate(terms) if _has(c.context, term)} for c in candidates]
    counts = [sum(n in match for match in matches) for n in range(len(terms))]
    worth = [
        term.weight * math.log(1 + len(candidates) / (count + 5))
        for term, count in zip(terms, counts, strict=True)
    ]
    named_topics = {n for n, term in enumerate(terms) if term.topic and term.first}
    topics = {n for n, term in enumerate(terms) if term.topic}
    asked_years = {str(year) for year in years(question)}
    kind = kind_of(question)
    if kind.causes > 1.0 and named_topics:
        topics = named_topics  # a reason must be given for what is asked, not for its parts
    if kind is FOR_BOTH:
        worth = [w * (CAUSE if t.cause else 1.0) for w, t in zip(worth, terms, strict=True)]
    chosen: list[int] = []
    covered: set[int] = set()
    first = 0.0
    while len(chosen) < QUOTES:
        used = {(candidates[i].passage.file, candidates[i].passage.page) for i in chosen}
        forms = {candidates[i].passage.is_row for i in chosen}
        values = [
            (
                (other_form if forms == {not c.passage.is_row} else 1.0)
                * _value(c, matches[i], near[i], covered, terms, worth, asked_years, kind),
                -i,
            )
            for i, c in enumerate(candidates)
            if i not in chosen
            and _on_topic(c, matches[i], terms, topics)
            and (len(used) < most_pages or (c.passage.file, c.passage.page) in used)
            and not any(_repeats(c, candidates[j]) for j in chosen)
        ]
        if not values:
            break
        value, negative = max(values)
        first = first or value
        if value <= 0 or value < keep * first:
            break
        chosen.append(-negative)
        covered |= matches[-negative]
    around = set().union(*(near[i] for i in chosen)) if chosen else set()
    if sum(worth[n] for n in covered | around) < ENOUGH * sum(worth):
        return []
    named = any(terms[n].weight >= 1.0 for n in covered | around)
    leading = matches[chosen[0]] | near[chosen[0]]
    if not named and sum(worth[n] for n in leading) < ENOUGH_IN_ONE * sum(worth):
        return []
    return [candidates[i].passage for i in chosen]


def _value(
    candidate: _Candidate,
    match: set[int],
    near: set[int],
    covered: set[int],
    terms: Sequence[_Term],
    worth: Sequence[float],
    asked_years: set[str],
    kind: Kind,
) -> float:
    passage = candidate.passage
    if not passage.is_row and INTRODUCES.search(passage.text):
        return 0.0
    if passage.text.endswith(":"):
        return 0.0
    gain = sum(worth[n] * (_COVERED if n in covered else 1.0) for n in match)
    share = _REFERRING if REFERS.match(passage.text) else _NEAR
    gain += sum(share * worth[n] for n in near - match)
    if not match and (passage.is_row or not passage.opens):
        return 0.0
    if passage.is_row:
        named = sum(
            max((len(run) for run in terms[n].runs if _stands(candidate.label, run)), default=0)
            for n in match
            if not terms[n].apart
        )
        gain *= 0.3 + 0.9 * min(1.0, named / max(1, len(candidate.label)))
        if candidate.of_parts:
            gain *= OF_PARTS
        if named <= 1 and len(candidate.label) > 2:
            gain *= _BY_ONE_WORD
        gain *= kind.rows * (1.15 if passage.figures > 1 else 1.0)
        if asked_years:
            gain *= 1.2 if asked_years & set(tokenize(passage.columns)) else 0.9
    else:
        gain /= 1 + max(0, len(candidate.stems) - 35) / 60
        if asked_years:
            gain *= 1.25 if asked_years & set(candidate.words) else 0.9
        if CAUSES.search(passage.text):
            gain *= kind.causes
        if kind.risks and NAMES_A_RISK.search(passage.text):
            gain *= CONCRETE
        if kind.risks and LEANS.match(passage.text):
            gain *= LEANING
        if kind.causes > 1.0 and not kind.risks and SUPPOSES.search(passage.text):
            gain *= SUPPOSED
        if POLICY.search(passage.text):
            gain *= OF_POLICY
        gain *= kind.with_figure if re.search(r"\d", passage.text) else kind.without
    return gain * (0.35 + 0.65 * candidate.prior)


def _on_topic(
    candidate: _Candidate, match: set[int], terms: Sequence[_Term], topics: set[int]
) -> bool:
    """Whether a passage is about a topic by its own words or by what stands around it.

    The latter counts only for rows, for the first sentence under a heading, and for a sentence
    that goes on about the one before it.
    """
    if not topics or topics & match:
        return True
    passage = candidate.passage
    around = passage.heading if passage.is_row or passage.opens else ""
    if passage.is_row:
        around += f" {passage.columns}"
    if REFERS.match(passage.text):
        around += f" {candidate.before}"
    stems = [_stem(word) for word in tokenize(around)]
    return any(_has(stems, terms[n]) for n in topics)


def opens_with(topic: str, text: str) -> bool:
    """Whether a passage names a topic in its first words, and so is about it."""
    terms = [term for term in _terms(topic, set()) if not term.cause]
    stems = [_stem(word) for word in tokenize(text)][:_OPENING]
    return any(_has(stems, term) for term in terms)


def _with_before(passages: Sequence[Passage]) -> list[tuple[str, Passage]]:
    """Each passage with the sentence before it, which says what it speaks of."""
    texts = ["", *("" if passage.is_row else passage.text for passage in passages)]
    return list(zip(texts, passages, strict=False))


def _terms(question: str, files: set[str]) -> list[_Term]:
    """The question's groups as runs of stems; names of files say nothing about a passage."""
    names = re.sub(r"[^a-z0-9]", "", " ".join(files).lower())
    asked = f" {' '.join(tokenize(question))} "
    terms = []
    for group in parse(question).groups:
        phrases = re.findall(r'"([^"]+)"', group.match)
        apart = group.match.startswith("NEAR")
        runs = tuple(tuple(_stem(w) for w in tokenize(phrase)) for phrase in phrases)
        if apart:
            runs = (tuple(word for run in runs for word in run),)
        words = [word for run in runs for word in run]
        if any(word in names for phrase in phrases[:1] for word in [phrase.lower()]) and (
            len(phrases) == 1 or apart
        ):
            continue
        if words and not set(phrases) <= _EMPTY:
            weight = group.weight * (1.0 if len(runs) > 1 else _PLAIN)
            first = any(f" {phrase} " in asked for phrase in phrases)
            cause = bool(CAUSES.search(" ".join(phrases)))
            topic = len(runs) > 1 and not apart and not cause
            terms.append(
                _Term(runs, weight * (_APART if apart else 1.0), apart, topic, cause, first)
            )
            # Filings also say it in another order: "repurchased 2.2 million of its shares".
            if several := tuple(run for run in runs if len(run) > 1 and not apart):
                terms.append(_Term(several, weight * _APART, apart=True))
    return terms


def _stem(word: str) -> str:
    """A word's stem, cut so that forms of one word meet."""
    if word.isdigit():
        return word
    short = re.sub(r"(?<=\w{3})([b-df-hj-np-tv-z])\1(?:ed|ing)$", r"\1", stem(word))
    return re.sub(r"(?<=\w{4})(?:ed|ing)$", "", short)[:_STEM]


def _has(stems: Sequence[str], term: _Term) -> bool:
    if term.apart:
        return any(set(run) <= set(stems) for run in term.runs)
    return any(_stands(stems, run) for run in term.runs)


def _stands(stems: Sequence[str], run: tuple[str, ...]) -> bool:
    if len(run) == 1:
        return run[0] in stems
    return any(
        tuple(stems[at : at + len(run)]) == run and (not at or stems[at - 1] != "non")
        for at in range(len(stems) - len(run) + 1)
    )


def _repeats(one: _Candidate, other: _Candidate) -> bool:
    """The same words again, on another page or as part of the other."""
    a, b = one.passage.text, other.passage.text
    return a in b or b in a
