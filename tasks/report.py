"""The report as data: sections, claims, evidence. Every published form is made from it.

A claim is a sentence that cites evidence, or one that states a figure without any. A citation
stands when its evidence was recorded in this job and its quote is found again, verbatim, in the
stored source.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from deskwork.tools.errors import ToolError
from deskwork.tools.tool import Evidence

CITATION = re.compile(r"\[(E[0-9a-f]{8}(?:\s*[,;]\s*E[0-9a-f]{8})*)\]")
_ID = re.compile(r"E[0-9a-f]{8}")
_LOOKS_CITED = re.compile(r"\[(E[0-9A-Za-z]{1,16})\]")
_SENTENCE_END = re.compile(r"(?<=[.!?])(?:\s*\[E[^\]]*\])*\s+(?=[A-Z0-9\"“‘(*])")
_FIGURE = re.compile(r"(?<![\w.])[-+(]?[$€£¥]?\d[\d,.]*\s*(%|percent|million|billion|bn|m\b)?")
_HARMLESS = re.compile(r"(?:19|20)\d\d|\d{1,2}")


@dataclass(frozen=True)
class Claim:
    """A sentence. ``status``: supported or unsupported; ``problem`` says why not."""

    text: str
    evidence: tuple[str, ...]
    status: str
    problem: str = ""


@dataclass(frozen=True)
class Section:
    """A heading with its level (1 to 6; 0 before the first) and its Markdown text."""

    heading: str
    level: int
    text: str


@dataclass(frozen=True)
class Report:
    """What a research job found."""

    job: str
    state: str
    question: str
    text: str
    evidence: tuple[Evidence, ...]
    claims: tuple[Claim, ...]
    notes: tuple[str, ...] = ()
    usage: dict[str, Any] = field(default_factory=dict)

    @property
    def sections(self) -> list[Section]:
        """The text by its headings."""
        return sections_of(self.text)

    def as_json(self) -> dict[str, Any]:
        """The object in ``report.json``."""
        cited = {name for claim in self.claims for name in claim.evidence}
        return {
            "job": self.job,
            "state": self.state,
            "question": self.question,
            "sections": [asdict(section) for section in self.sections],
            "claims": [asdict(claim) for claim in self.claims],
            "figures": [],
            "evidence": [asdict(item) for item in self.evidence if item.id in cited],
            "conflicts": [],
            "rejected": [asdict(c) for c in self.claims if c.status == "unsupported"],
            "notes": list(self.notes),
            "usage": self.usage,
        }


def check(
    text: str, evidence: dict[str, Evidence], find: Callable[[Evidence], Evidence]
) -> list[Claim]:
    """Every claim of a text with its status.

    ``find`` looks a quote up in the stored source again and raises `ToolError` where it isn't.
    """
    stands: dict[str, str] = {}
    for name in set(_ID.findall(text)):
        stands[name] = _problem_of(name, evidence, find)
    claims = []
    for sentence in sentences_of(text):
        cited = tuple(dict.fromkeys(n for m in CITATION.findall(sentence) for n in _ID.findall(m)))
        odd = [name for name in _LOOKS_CITED.findall(sentence) if name not in cited]
        problems = [stands[name] for name in cited if stands[name]]
        problems += [f"[{name}] is no evidence of this job" for name in odd]
        if not cited and not odd and _states_figure(sentence):
            problems.append("it states a figure and cites nothing")
        if cited or odd or problems:
            status = "unsupported" if problems else "supported"
            claims.append(Claim(sentence, cited, status, "; ".join(problems)))
    return claims


def _problem_of(
    name: str, evidence: dict[str, Evidence], find: Callable[[Evidence], Evidence]
) -> str:
    if name not in evidence:
        return f"[{name}] is no evidence of this job"
    try:
        found = find(evidence[name])
    except ToolError as error:
        return f"the quote of [{name}] is not found again: {error}"
    return "" if found.id == name else f"the quote of [{name}] stands elsewhere now"


def _states_figure(sentence: str) -> bool:
    """True for a number that is more than a year, a small ordinal or part of a name."""
    return any(
        match.group(1) or not _HARMLESS.fullmatch(match.group(0).strip("(-+.,").strip())
        for match in _FIGURE.finditer(sentence)
    )


def sections_of(text: str) -> list[Section]:
    """A Markdown text by its headings."""
    sections: list[Section] = []
    heading, level, lines = "", 0, list[str]()
    for line in text.splitlines():
        match = re.match(r"(#{1,6})\s+(.*)", line)
        if match:
            if heading or any(part.strip() for part in lines):
                sections.append(Section(heading, level, "\n".join(lines).strip()))
            heading, level, lines = match.group(2).strip(), len(match.group(1)), []
        else:
            lines.append(line)
    sections.append(Section(heading, level, "\n".join(lines).strip()))
    return sections


def sentences_of(text: str) -> list[str]:
    """The sentences of a Markdown text: list items and table rows count as their own."""
    sentences = []
    for section in sections_of(text):
        for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*+]|\d+\.)\s|\s*\|)", section.text):
            block = " ".join(block.split())
            if not block or re.fullmatch(r"[|\s:-]+", block):
                continue
            if block.startswith("|"):
                sentences.append(block)
                continue
            sentences += [part.strip() for part in _split(block) if part.strip()]
    return sentences


def _split(block: str) -> list[str]:
    """Sentences with the citations that stand behind their full stop."""
    parts, start = [], 0
    quoted = _quoted(block)
    for match in _SENTENCE_END.finditer(block):
        # The full stops of a quote are its own: the sentence around it goes on.
        if any(begin < match.start() < end for begin, end in quoted):
            continue
        parts.append(block[start : match.end()])
        start = match.end()
    return [*parts, block[start:]]


def _quoted(block: str) -> list[tuple[int, int]]:
    """Where quotes in “…” stand, the outermost ones; a mark that is never closed is none."""
    spans, open_at = [], list[int]()
    for match in re.finditer("[“”]", block):
        if match.group() == "“":
            open_at.append(match.start())
        elif open_at:
            start = open_at.pop()
            if not open_at:
                spans.append((start, match.end()))
    return spans


def problems_of(claims: list[Claim]) -> list[str]:
    """What a check found, as sentences for the model and for a person."""
    return [f'"{c.text}": {c.problem}' for c in claims if c.status == "unsupported"]
