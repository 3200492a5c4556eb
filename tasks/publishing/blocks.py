"""A report's Markdown as blocks and runs: what DOCX and PDF are both made from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.token import Token

from deskwork.tasks.claims import CITATION
from deskwork.tasks.publishing.numbering import EVIDENCE_ID


@dataclass(frozen=True)
class Run:
    """A piece of text in one style; ``cites`` are the evidence ids that stand behind it."""

    text: str
    bold: bool = False
    italic: bool = False
    code: bool = False
    cites: tuple[str, ...] = ()


@dataclass
class Block:
    """A heading, paragraph, list item, quote, code block, table, or chart (its file as text).

    ``level`` is a heading's (from 1) or a list item's depth (from 0); ``rows`` are a table's, the
    first one its head, each cell a list of runs.
    """

    kind: str
    runs: list[Run] = field(default_factory=list)
    level: int = 0
    ordered: bool = False
    rows: list[list[list[Run]]] = field(default_factory=list)


def blocks_of(markdown: str) -> list[Block]:
    """The blocks of a text, in order."""
    tokens = MarkdownIt("commonmark", {"html": False}).enable("table").parse(markdown)
    return list(_blocks(tokens))


def _blocks(tokens: list[Token]) -> Iterator[Block]:
    lists: list[bool] = []  # whether each open list is ordered
    quote = 0
    table: Block | None = None
    kind, level = "paragraph", 0
    for token in tokens:
        name = token.type
        if name == "heading_open":
            kind, level = "heading", int(token.tag[1])
        elif name in ("bullet_list_open", "ordered_list_open"):
            lists.append(name.startswith("ordered"))
        elif name in ("bullet_list_close", "ordered_list_close"):
            lists.pop()
        elif name in ("blockquote_open", "blockquote_close"):
            quote += 1 if name.endswith("open") else -1
        elif name == "table_open":
            table = Block("table")
        elif name == "table_close" and table:
            yield table
            table = None
        elif name == "tr_open" and table:
            table.rows.append([])
        elif name == "inline":
            runs = list(_runs(token.children or []))
            pictures = [t for t in token.children or [] if t.type == "image"]
            if pictures and not table:
                yield from (Block("chart", [Run(str(t.attrs["src"]))]) for t in pictures)
                continue
            if table:
                table.rows[-1].append(runs)
            elif kind == "heading":
                yield Block("heading", runs, level)
            elif lists:
                yield Block("item", runs, len(lists) - 1, lists[-1])
            else:
                yield Block("quote" if quote else "paragraph", runs)
            kind = "paragraph"
        elif name in ("fence", "code_block"):
            yield Block("code", [Run(token.content.rstrip(), code=True)])


def _runs(children: list[Token]) -> Iterator[Run]:
    bold = italic = 0
    for token in children:
        if token.type in ("strong_open", "strong_close"):
            bold += 1 if token.type.endswith("open") else -1
        elif token.type in ("em_open", "em_close"):
            italic += 1 if token.type.endswith("open") else -1
        elif token.type in ("softbreak", "hardbreak"):
            yield Run(" ", bool(bold), bool(italic))
        elif token.type == "code_inline":
            yield Run(token.content, code=True)
        elif token.type == "image":
            yield Run(token.content or "picture", italic=True)
        elif token.type == "text":
            yield from _cited(token.content, bool(bold), bool(italic))


def _cited(text: str, bold: bool, italic: bool) -> Iterator[Run]:
    at = 0
    for match in re.finditer(rf"\s*{CITATION.pattern}", text):
        names = tuple(EVIDENCE_ID.findall(match.group()))
        yield Run(text[at : match.start()], bold, italic, cites=names)
        at = match.end()
    if at < len(text):
        yield Run(text[at:], bold, italic)
