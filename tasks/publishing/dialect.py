"""The Markdown that reports are written in, read once and for all their forms.

CommonMark with tables, ~~struck text~~, ``<br>``, and footnotes, which are lettered and stand at
the end, so that they aren't taken for the sources' numbers. Numbers in tables stand on the right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from deskwork.tasks.claims import CITATION
from deskwork.tasks.printing import MARK

EVIDENCE_ID = re.compile(r"E[0-9a-f]{8}")
CHART_FILE = re.compile(r"charts/C[0-9a-f]{8}\.png")
"""Where a chart's picture stands beside the report."""
RIGHT = "text-align:right"
"""The style of a cell that stands on the right."""
_DEEPEST = 10_000
"""Levels of nesting that are read: markdown-it leaves out what lies deeper, without a word."""
_DEFINITION = re.compile(r"(?m)^ {0,3}\[\^([\w-]+)\]:[ \t]*(.*(?:\n(?: {2,}|\t)\S.*)*)\n?")
_INLINE = re.compile(r"(<br\s*/?>|\[\^note-[a-z]+\])", re.I)
_FENCED = re.compile(r"(?ms)^ {0,3}(```+|~~~+).*?(?:^ {0,3}\1|\Z)")
_NUMBER = re.compile(
    r"[(~+\-\u2212\u2013]?\s?(?:[A-Z]{3}\s|US\$|[$€£¥₹])?\s?[(\-\u2212\u2013]?\d[\d.,\s\u202f]*\)?"
    r"\s?(?:%|x|pp|bps|bn|mn|m|k|thousand|million|billion|trillion|percent|a share|\s)*\)?",
    re.I,
)
_NOTHING = re.compile(r"|[-\u2212\u2013\u2014.]+|n/?[am]|not (?:available|meaningful)", re.I)


def tokens_of(markdown: str) -> list[Token]:
    """The tokens of a report's text. No words of it are lost, however deep it is nested."""
    text = with_notes(markdown)
    try:
        return _parser().parse(text)
    except RecursionError:
        return _parser().parse(re.sub(r"(?m)^[ \t>]+", "", text))


def rendered(markdown: str) -> str:
    """A report's text as HTML."""
    parser = _parser()
    return str(parser.renderer.render(tokens_of(markdown), parser.options, {}))


def with_notes(text: str) -> str:
    """The text with its footnotes at its end, lettered in their order."""
    fenced = [match.span() for match in _FENCED.finditer(text)]
    notes: dict[str, str] = {}

    def take(match: re.Match[str]) -> str:
        if any(start <= match.start() < end for start, end in fenced) or match[1] in notes:
            return match[0]
        notes[match[1]] = match[2]
        return ""

    body = _DEFINITION.sub(take, text)
    if not notes:
        return text
    letters = {name: _letter(number) for number, name in enumerate(notes)}
    for name, letter in letters.items():
        body = body.replace(f"[^{name}]", f"[^note-{letter}]")
    lines = [f"**Note {letters[name]}.** {' '.join(note.split())}" for name, note in notes.items()]
    return "\n\n".join([body.rstrip(), "## Notes", *lines]) + "\n"


def _letter(number: int) -> str:
    return (_letter(number // 26 - 1) if number > 25 else "") + chr(97 + number % 26)


def _parser() -> MarkdownIt:
    options = {"html": False, "maxNesting": _DEEPEST}
    parser = MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
    parser.core.ruler.push("breaks_and_notes", _breaks_and_notes)
    parser.core.ruler.push("numbers_right", _numbers_right)
    parser.add_render_rule("note", _note)
    return parser


def _breaks_and_notes(state: StateCore) -> None:
    for token in state.tokens:
        if token.children:
            token.children = [part for child in token.children for part in _parted(child)]


def _parted(token: Token) -> Iterator[Token]:
    if token.type != "text":
        yield token
        return
    for part in _INLINE.split(token.content):
        if part.startswith("[^note-"):
            yield Token("note", "", 0, content=part[7:-1])
        elif _INLINE.fullmatch(part):
            yield Token("hardbreak", "br", 0)
        elif part:
            yield Token("text", "", 0, content=part)


def _note(
    renderer: Any, tokens: list[Token], index: int, options: dict[str, Any], env: dict[str, Any]
) -> str:
    letter = tokens[index].content
    return f'<sup><a href="#note-{letter}">{letter}</a></sup>'


def _numbers_right(state: StateCore) -> None:
    """Cells of numbers stand on the right, and the heads of columns that hold nothing else."""
    rows: list[list[tuple[Token, str]]] = []
    for at, token in enumerate(state.tokens):
        if token.type == "table_open":
            rows = []
        elif token.type == "tr_open":
            rows.append([])
        elif token.type in ("td_open", "th_open"):
            rows[-1].append((token, _said(state.tokens[at + 1])))
        elif token.type == "table_close":
            _align(rows)


def _align(rows: list[list[tuple[Token, str]]]) -> None:
    for column in range(max((len(row) for row in rows), default=0)):
        cells = [row[column] for row in rows if column < len(row)]
        body = [text for token, text in cells if token.type == "td_open"]
        numbers = [text for text in body if _NUMBER.fullmatch(text)]
        whole = bool(numbers) and all(t in numbers or _NOTHING.fullmatch(t) for t in body)
        for token, text in cells:
            head = token.type == "th_open"
            if (whole or (not head and text in numbers)) and "style" not in token.attrs:
                token.attrs["style"] = RIGHT


def _said(cell: Token) -> str:
    """What a cell says, without its citations and marks."""
    words = "".join(t.content for t in cell.children or [] if t.type in ("text", "code_inline"))
    return CITATION.sub("", words.replace(MARK.strip("*"), "")).strip()
