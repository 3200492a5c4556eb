"""A Markdown text by its sections and sentences, as a check walks it."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SENTENCE_END = re.compile(r"(?<=[.!?])(?:\s*\[E[^\]]*\])*\s+(?=[A-Z0-9\"“‘(*{])")
_BLOCKS = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*+]|\d+\.)\s|\s*\|)")
_RULE = re.compile(r"[|\s:-]+")
_ABBREVIATION = re.compile(r"\b(?:Inc|Corp|Co|Ltd|Mr|Ms|Dr|No|vs|approx|U\.S|i\.e|e\.g|St)\.$")


@dataclass(frozen=True)
class Section:
    """A heading with its level (1 to 6; 0 before the first) and its Markdown text."""

    heading: str
    level: int
    text: str


@dataclass(frozen=True)
class Sentence:
    """A sentence, a list item, or a row of a table.

    ``heading`` is its section's; a row's ``header`` is its table's first row, and ``caption``
    the text before the table.
    """

    text: str
    heading: str = ""
    header: str = ""
    caption: str = ""
    is_heading: bool = False

    @property
    def is_row(self) -> bool:
        """Whether it is a row of a table."""
        return self.text.startswith("|")


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


def places_of(text: str, sentence: str) -> list[tuple[int, int]]:
    """Every place where a sentence stands in a text, however its lines are broken there."""
    pattern = r"\s+".join(re.escape(word) for word in sentence.split())
    if not pattern:
        return []
    return [match.span() for match in re.finditer(rf"(?<!\S){pattern}(?!\S)", text)]


_CLOSING = re.compile(r"[.!?]?[\"”’»)*_]*$")


def behind(sentence: str, addition: str) -> str:
    """A sentence with something said before its full stop; a row of a table in its last cell."""
    if sentence.startswith("|"):
        return f"{sentence.rstrip('|').rstrip()} {addition} |"
    end = _CLOSING.search(sentence)
    at = end.start() if end else len(sentence)
    return f"{sentence[:at]} {addition}{sentence[at:]}"


def sentences_of(text: str) -> list[Sentence]:
    """The sentences of a Markdown text: list items and table rows count as their own."""
    sentences: list[Sentence] = []
    for section in sections_of(text):
        header = caption = before = ""
        if section.heading:
            sentences.append(Sentence(section.heading, is_heading=True))
        for block in _BLOCKS.split(section.text):
            block = " ".join(block.split())
            if not block or _RULE.fullmatch(block):
                continue
            if block.startswith("|"):
                if not header:
                    header, caption = block, before
                sentences.append(Sentence(block, section.heading, header, caption))
                continue
            header, before = "", block
            if block.startswith(">"):
                sentences.append(Sentence(block, section.heading))
                continue
            sentences += [
                Sentence(part.strip(), section.heading) for part in _split(block) if part.strip()
            ]
    return sentences


def _split(block: str) -> list[str]:
    """Sentences with the citations that stand behind their full stop."""
    parts, start = [], 0
    quoted = quotes_in(block)
    for match in _SENTENCE_END.finditer(block):
        # The full stops of a quote are its own: the sentence around it goes on.
        if any(begin < match.start() < end for begin, end in quoted):
            continue
        if re.fullmatch(r"\s*\d{1,3}\.", block[: match.start()]):
            continue  # the number of a list's item
        if _ABBREVIATION.search(block[: match.start()]) and "[E" not in match.group():
            continue
        parts.append(block[start : match.end()])
        start = match.end()
    return [*parts, block[start:]]


_PAIRS = (("«", "»"), ("「", "」"), ("„", "“"), ("„", "”"))
_STRAIGHT = re.compile(r'(?<![\w\d])"(?=\S)([^"\n]+?)(?<=\S)"(?![\w])')
_SINGLE = re.compile(r"(?<!\w)[‘'](?=\S)([^‘’'\n]*(?:\w['’]\w[^‘’'\n]*)*)(?<=\S)[’'](?!\w)")
_WORDS_IN_SINGLE = 4
"""Words from which on single marks are a quote's: shorter ones set a word apart."""


def quotes_in(block: str) -> list[tuple[int, int]]:
    """Where quotes stand, the outermost ones, in any marks; a mark never closed is none.

    A block that begins with ``>`` is one quote, up to its first citation.
    """
    if block.startswith(">"):
        cited = re.search(r"\s\[E", block)
        return [(0, cited.start() + 1 if cited else len(block) + 1)]
    spans, open_at = [], list[int]()
    for match in re.finditer("[“”]", block):
        if match.group() == "“":
            open_at.append(match.start())
        elif open_at:
            start = open_at.pop()
            if not open_at:
                spans.append((start, match.end()))
    found = [match.span() for match in _STRAIGHT.finditer(block)]
    for opens, closes in _PAIRS:
        found += [m.span() for m in re.finditer(f"{opens}[^{opens}{closes}]+{closes}", block)]
    found += [
        match.span()
        for match in _SINGLE.finditer(block)
        if len(match[1].split()) >= _WORDS_IN_SINGLE
    ]
    for start, end in sorted(found, key=lambda span: span[0] - span[1]):
        if not any(start < other_end and other < end for other, other_end in spans):
            spans.append((start, end))
    return sorted(spans)
