"""Which passages answer a question: the terms they share with it, weighed by rarity and page."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from deskwork.tasks.extractive_passages import Passage, passages_of
from deskwork.tasks.extractive_turns import FoundPage
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
class _Kind:
    """How much rows of tables, sentences that give a cause, and those with a figure count."""

    rows: float = 1.0
    causes: float = 1.0
    with_figure: float = 1.1
    without: float = 0.95
    risks: bool = False


_FOR_FIGURES = _Kind(rows=1.6)
_FOR_AMOUNTS = _Kind(rows=1.6, with_figure=1.3, without=0.8)
_FOR_REASONS = _Kind(rows=0.4, causes=1.4)
_CAUSE = 0.3  # what words of a cause count where figures are asked for as well
_FOR_BOTH = _Kind(rows=1.5, causes=1.3)
_REASONS = re.compile(
    r"(?i)\b(why|drove|driv\w+|reasons?|explain\w*|cause[sd]?|due to|led to|risks?|describe)\b"
)

_AND_WHY = re.compile(r"(?i)\band why\b")
_INTRODUCES = re.compile(
    r"(?i)\b(?:described|discussed|set forth|listed|identified|summarized|presented|included)"
    r"[^.]{0,25} (?:below|above|elsewhere|under|herein)\b|"
    r"\bfollowing (?:\w+ )?(?:risk|tables?|discussion|sections?|charts?)\b|"
    r"\bin addition to the (?:\w+ )?(?:information|factors|risks)|\bdo(?:es)? not identify all|"
    r"\b(?:carefully|should) (?:consider|read|review)\b|\brisk factors\b[^.]{0,40}\bItem|"
    r"\bnot the only (?:ones|risks)|\badditional risks\b|\bsee [“\"]?(?:Part|Item)\b|"
    r"\bforward[- ]looking statements?\b|\brefer to (?:Part|Item|Note|the section)\b|"
    r"\bdescribed in (?:this|our|the|Part|Item)\b|\binvolves (?:\w+ ){0,2}risks?\b|"
    r"\bresults[^.]{0,60}differ materially\b|\bwebsite\b[^.]*\bwww\.|\bwww\.sec\.gov"
)
_NAMES_A_RISK = re.compile(
    r"(?i)\b(could|may|might|depend|fail\w*|los[es]\w*|disrupt\w*|shortage|breach\w*|compet\w+|"
    r"delay\w*|harm|subject to)\b"
)
_LEANS = re.compile(r"(?:These|This|Such|Those|In addition|Additionally|Furthermore|Any of)\b")
_SUPPOSES = re.compile(r"\b(?:could|may|might|would)\b(?! \d)")
_SUPPOSED = 0.3  # what might happen explains nothing that did
_LEANING = 0.7  # a sentence that can't be understood without the one before it
_POLICY = re.compile(
    r"(?i)\b(?:significant|management|subjective)\b[^.]{0,20}\bjudg(?:e)?ments?\b|"
    r"\bestimates and assumptions\b|\bcritical audit matters?\b|\baccounting polic(?:y|ies)\b"
)
_OF_POLICY = 0.1  # how accounts are made, where figures and their reasons are asked for
_PARTS = re.compile(r"(?i)\b(?:segments?|geograph\w+|regions?|country|countries|divisions?)\b")
_SEVERAL = 4
_OF_PARTS = 0.7  # a segment's row says little of the whole
_RISKS = re.compile(r"(?i)\brisks?\b")
_CONCRETE = 1.3  # what a sentence that names a risk counts where risks are asked for
_AMOUNTS = re.compile(
    r"(?i)\b(how (?:much|many)|amount|number of|percent\w*|rate|ratio|total|average|by quarter)\b|%"
)
_REFERS = re.compile(
    r"(?:The|This|These|Such|Both)\b[^.]{0,30}"
    r"\b(?:increases?|decreases?|changes?|growth|declines?|improvements?|reductions?)\b"
)
_CAUSES = re.compile(
    r"(?i)\b(because|due to|driven|primarily|attributable|as a result|reflect\w*|owing|offset)\b"
)


def _kind(question: str) -> _Kind:
    """What a question wants, as its first sentence tells; later ones say how to answer."""
    if _RISKS.search(question):
        return _Kind(rows=0.4, causes=1.2, risks=True)
    if _AND_WHY.search(question):
        return _FOR_BOTH
    if _REASONS.search(question.partition("?")[0]):
        return _FOR_REASONS
    if _AMOUNTS.search(question):
        return _FOR_AMOUNTS
    if parse(question).statements:
        return _FOR_FIGURES
    return _Kind(rows=0.7)


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
    if not _PARTS.search(question):
        parts = {at for at, text in pages.items() if len(_PARTS.findall(text)) >= _SEVERAL}
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
    kind = _kind(question)
    if kind.causes > 1.0 and named_topics:
        topics = named_topics  # a reason must be given for what is asked, not for its parts
    if kind is _FOR_BOTH:
        worth = [w * (_CAUSE if t.cause else 1.0) for w, t in zip(worth, terms, strict=True)]
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
    kind: _Kind,
) -> float:
    passage = candidate.passage
    if not passage.is_row and _INTRODUCES.search(passage.text):
        return 0.0
    if passage.text.endswith(":"):
        return 0.0
    gain = sum(worth[n] * (_COVERED if n in covered else 1.0) for n in match)
    share = _REFERRING if _REFERS.match(passage.text) else _NEAR
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
            gain *= _OF_PARTS
        if named <= 1 and len(candidate.label) > 2:
            gain *= _BY_ONE_WORD
        gain *= kind.rows * (1.15 if passage.figures > 1 else 1.0)
        if asked_years:
            gain *= 1.2 if asked_years & set(tokenize(passage.columns)) else 0.9
    else:
        gain /= 1 + max(0, len(candidate.stems) - 35) / 60
        if asked_years:
            gain *= 1.25 if asked_years & set(candidate.words) else 0.9
        if _CAUSES.search(passage.text):
            gain *= kind.causes
        if kind.risks and _NAMES_A_RISK.search(passage.text):
            gain *= _CONCRETE
        if kind.risks and _LEANS.match(passage.text):
            gain *= _LEANING
        if kind.causes > 1.0 and not kind.risks and _SUPPOSES.search(passage.text):
            gain *= _SUPPOSED
        if _POLICY.search(passage.text):
            gain *= _OF_POLICY
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
    if _REFERS.match(passage.text):
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
            cause = bool(_CAUSES.search(" ".join(phrases)))
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
