"""Wording that tells what a question wants and what a sentence is worth as its answer.

Patterns of plain English and of filings, and what each counts; no company, year or question.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from deskwork.tools.questions import parse


@dataclass(frozen=True)
class Kind:
    """How much rows of tables, sentences that give a cause, and those with a figure count."""

    rows: float = 1.0
    causes: float = 1.0
    with_figure: float = 1.1
    without: float = 0.95
    risks: bool = False


FOR_FIGURES = Kind(rows=1.6)
FOR_AMOUNTS = Kind(rows=1.6, with_figure=1.3, without=0.8)
FOR_REASONS = Kind(rows=0.4, causes=1.4)
CAUSE = 0.3  # what words of a cause count where figures are asked for as well
FOR_BOTH = Kind(rows=1.5, causes=1.3)
REASONS = re.compile(
    r"(?i)\b(why|drove|driv\w+|reasons?|explain\w*|cause[sd]?|due to|led to|risks?|describe)\b"
)

AND_WHY = re.compile(r"(?i)\band why\b")
INTRODUCES = re.compile(
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
NAMES_A_RISK = re.compile(
    r"(?i)\b(could|may|might|depend|fail\w*|los[es]\w*|disrupt\w*|shortage|breach\w*|compet\w+|"
    r"delay\w*|harm|subject to)\b"
)
LEANS = re.compile(r"(?:These|This|Such|Those|In addition|Additionally|Furthermore|Any of)\b")
SUPPOSES = re.compile(r"\b(?:could|may|might|would)\b(?! \d)")
SUPPOSED = 0.3  # what might happen explains nothing that did
LEANING = 0.7  # a sentence that can't be understood without the one before it
POLICY = re.compile(
    r"(?i)\b(?:significant|management|subjective)\b[^.]{0,20}\bjudg(?:e)?ments?\b|"
    r"\bestimates and assumptions\b|\bcritical audit matters?\b|\baccounting polic(?:y|ies)\b"
)
OF_POLICY = 0.1  # how accounts are made, where figures and their reasons are asked for
PARTS = re.compile(r"(?i)\b(?:segments?|geograph\w+|regions?|country|countries|divisions?)\b")
SEVERAL = 4
OF_PARTS = 0.7  # a segment's row says little of the whole
RISKS = re.compile(r"(?i)\brisks?\b")
CONCRETE = 1.3  # what a sentence that names a risk counts where risks are asked for
AMOUNTS = re.compile(
    r"(?i)\b(how (?:much|many)|amount|number of|percent\w*|rate|ratio|total|average|by quarter)\b|%"
)
REFERS = re.compile(
    r"(?:The|This|These|Such|Both)\b[^.]{0,30}"
    r"\b(?:increases?|decreases?|changes?|growth|declines?|improvements?|reductions?)\b"
)
CAUSES = re.compile(
    r"(?i)\b(because|due to|driven|primarily|attributable|as a result|reflect\w*|owing|offset)\b"
)


def kind_of(question: str) -> Kind:
    """What a question wants, as its first sentence tells; later ones say how to answer."""
    if RISKS.search(question):
        return Kind(rows=0.4, causes=1.2, risks=True)
    if AND_WHY.search(question):
        return FOR_BOTH
    if REASONS.search(question.partition("?")[0]):
        return FOR_REASONS
    if AMOUNTS.search(question):
        return FOR_AMOUNTS
    if parse(question).statements:
        return FOR_FIGURES
    return Kind(rows=0.7)
