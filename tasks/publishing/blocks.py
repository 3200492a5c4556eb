"""A report's Markdown as blocks and runs: what DOCX and PDF are both made from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from markdown_it.token import Token

from deskwork.tasks.claims import CITATION
from deskwork.tasks.publishing.dialect import CHART_FILE, EVIDENCE_ID, RIGHT, tokens_of


@dataclass(frozen=True)
class Run:
    """A piece of text in one style; ``cites`` are the evidence ids that stand behind it.

    A line's end within a paragraph is ``\\n``; ``href`` is an address on the web.
    """

    text: str
    bold: bool = False
    italic: bool = False
    code: bool = False
    struck: bool = False
    raised: bool = False
    href: str = ""
    cites: tuple[str, ...] = ()


@dataclass
class Cell:
    """A cell of a table; numbers stand on the ``right``."""

    runs: list[Run] = field(default_factory=list)
    right: bool = False


@dataclass
class Block:
    """A heading, paragraph, list item, quote, code block, table, or chart (its file as text).

    ``level`` is a heading's (from 1), or the depth of a list item and of what goes on in it (from
    0); of an ``ordered`` list's item ``number`` is the ordinal, and ``group`` tells the lists
    apart. ``rows`` are a table's, the first one its head.
    """

    kind: str
    runs: list[Run] = field(default_factory=list)
    level: int = 0
    ordered: bool = False
    number: int = 0
    group: int = 0
    rows: list[list[Cell]] = field(default_factory=list)


@dataclass
class _List:
    """A list that is open; ``fresh`` until the first words of an item were put out."""

    group: int
    ordered: bool
    number: int
    fresh: bool = False


def blocks_of(markdown: str) -> list[Block]:
    """The blocks of a text, in order."""
    return list(_blocks(tokens_of(markdown)))


def cites_of(markdown: str) -> list[str]:
    """The evidence ids that a text cites, in the order in which its readers meet them."""
    found: list[str] = []
    for block in blocks_of(markdown):
        cells = [run for row in block.rows for cell in row for run in cell.runs]
        found += [name for run in (*block.runs, *cells) for name in run.cites]
    return found


def _blocks(tokens: list[Token]) -> Iterator[Block]:
    lists: list[_List] = []
    groups = quote = heading = 0
    table: Block | None = None
    for token in tokens:
        name = token.type
        if name == "heading_open":
            heading = int(token.tag[1])
        elif name in ("bullet_list_open", "ordered_list_open"):
            groups += 1
            start = int(token.attrs.get("start", 1))
            lists.append(_List(groups, name.startswith("ordered"), start - 1))
        elif name in ("bullet_list_close", "ordered_list_close"):
            lists.pop()
        elif name == "list_item_open":
            lists[-1].number += 1
            lists[-1].fresh = True
        elif name in ("blockquote_open", "blockquote_close"):
            quote += 1 if name.endswith("open") else -1
        elif name == "table_open":
            table = Block("table")
        elif name == "table_close" and table:
            yield table
            table = None
        elif name == "tr_open" and table:
            table.rows.append([])
        elif name in ("td_open", "th_open") and table:
            table.rows[-1].append(Cell(right=RIGHT in str(token.attrs.get("style", ""))))
        elif name == "inline" and table:
            table.rows[-1][-1].runs = list(_runs(token.children or []))
        elif name == "inline":
            for block in _parts(token.children or []):
                yield _placed(block, heading, lists, quote)
            heading = 0
        elif name in ("fence", "code_block"):
            yield Block("code", [Run(token.content.rstrip(), code=True)])


def _placed(block: Block, heading: int, lists: list[_List], quote: int) -> Block:
    """A paragraph as what it is where it stands."""
    if block.kind == "chart":
        return block
    if heading:
        return replace(block, kind="heading", level=heading)
    if not lists:
        return replace(block, kind="quote") if quote else block
    inner, depth = lists[-1], len(lists) - 1
    if not inner.fresh:
        return replace(block, kind="more", level=depth)
    inner.fresh = False
    return replace(
        block, kind="item", level=depth, ordered=inner.ordered, number=inner.number,
        group=inner.group,
    )  # fmt: skip


def _parts(children: list[Token]) -> Iterator[Block]:
    """The words of a paragraph, and its charts between them."""
    start = 0
    for at, token in enumerate(children):
        source = str(token.attrs.get("src", "")) if token.type == "image" else ""
        if CHART_FILE.fullmatch(source):
            if start < at:
                yield Block("paragraph", list(_runs(children[start:at])))
            yield Block("chart", [Run(source)])
            start = at + 1
    if start < len(children):
        yield Block("paragraph", list(_runs(children[start:])))


def _runs(children: list[Token]) -> Iterator[Run]:
    open_styles: dict[str, int] = {"strong": 0, "em": 0, "s": 0}
    href = ""
    for token in children:
        name, _, end = token.type.rpartition("_")
        if name in open_styles and end in ("open", "close"):
            open_styles[name] += 1 if end == "open" else -1
        elif token.type == "link_open":
            href = str(token.attrs.get("href", ""))
            href = href if href.startswith(("http://", "https://", "mailto:")) else ""
        elif token.type == "link_close":
            href = ""
        like = Run(
            "", bool(open_styles["strong"]), bool(open_styles["em"]),
            struck=bool(open_styles["s"]), href=href,
        )  # fmt: skip
        if token.type in ("softbreak", "hardbreak"):
            yield replace(like, text="\n" if token.type == "hardbreak" else " ")
        elif token.type == "code_inline":
            yield replace(like, text=token.content, code=True)
        elif token.type == "image":
            yield replace(like, text=f"[{token.content or 'picture'}]", italic=True)
        elif token.type == "note":
            yield replace(like, text=token.content, raised=True)
        elif token.type == "text":
            yield from _cited(token.content, like)


def _cited(text: str, like: Run) -> Iterator[Run]:
    at = 0
    for match in re.finditer(rf"\s*{CITATION.pattern}", text):
        names = tuple(EVIDENCE_ID.findall(match.group()))
        yield replace(like, text=text[at : match.start()], cites=names)
        at = match.end()
    if at < len(text):
        yield replace(like, text=text[at:])
