"""HTML: the main text by lxml, headings as Markdown, each table row on one line."""

from __future__ import annotations

import re
from typing import Any

from deskwork.tools.documents import Document, Page, Table, markdown_row, paginate, tables_on
from deskwork.tools.errors import BadFile
from deskwork.tools.readers.encodings import decode
from deskwork.tools.readers.source import Source
from deskwork.tools.readers.web_grid import aligned, rows_of
from deskwork.tools.readers.xbrl import fact_pages, facts

# Elements that hold no text of the document itself.
_SKIPPED = frozenset(
    {"script", "style", "noscript", "template", "svg", "canvas", "iframe", "object", "head"}
    | {"nav", "button", "select"}
)
_BLOCKS = frozenset(
    {"p", "div", "section", "article", "main", "header", "footer", "aside", "ul", "ol", "dl"}
    | {"blockquote", "pre", "figure", "figcaption", "address", "details", "summary", "hr", "br"}
    | {"li", "dt", "dd", "h1", "h2", "h3", "h4", "h5", "h6", "table", "form", "body", "html"}
)
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
# What servers say instead of the page that was asked for. The first two are of SEC EDGAR.
_ERRORS = (
    r"request rate threshold exceeded",
    r"undeclared automated tools?",
    r"\b(?:401|403|404|410|429|500|502|503|504)\b[ :,–-]*(?:unauthorized|forbidden|not found|gone"
    r"|too many requests|internal server error|bad gateway|service (?:temporarily )?unavailable"
    r"|gateway time-?out)",
    r"^(?:access denied|forbidden|page not found|just a moment\.\.\.|attention required!"
    r"|too many requests|service unavailable)",
    r"<Code>AccessDenied</Code>|\bNoSuchKey\b",
    r"verify (?:that )?you are (?:a )?human|enable javascript and cookies to continue",
)
_SPACE = re.compile(r"[ \t\r\n\u00a0]+")


def read(source: Source) -> Document:
    """The text in bounded pages. Menus, forms, scripts and hidden elements are left out."""
    from lxml import html

    # No network, no entity expansion: the parser gets bytes and resolves nothing. `huge_tree`
    # stays off, it would lift libxml2's own bounds on depth and size.
    data, encoding = _encoded(source.data)
    parser = html.HTMLParser(
        remove_comments=True, remove_pis=True, no_network=True, encoding=encoding
    )
    root = html.document_fromstring(data, parser=parser)
    walk = _Walk()
    for body in root.iter("body"):
        walk.element(body, 0)
        break
    else:
        walk.element(root, 0)
    walk.flush()
    if not walk.blocks:
        raise BadFile(f"{source.name} is empty: it holds no text.")
    title = " ".join((root.findtext(".//title") or "").split())
    texts = paginate(walk.blocks)
    on = [
        tuple(walk.grids[id(table)] for table in tables) for tables in tables_on(texts, walk.tables)
    ]
    pages = [Page(at + 1, text, on[at]) for at, text in enumerate(texts)]
    metadata: dict[str, Any] = {"title": title} if title else {}
    found = facts(root)
    if found:
        metadata["facts"] = len(found)
        pages += fact_pages(found, first=len(pages) + 1)
    told = _error_page(title, texts)
    return Document(source.name, "html", tuple(pages), metadata, (told,) if told else ())


def _encoded(data: bytes) -> tuple[bytes, str | None]:
    """The bytes for lxml: where the page doesn't say its encoding, as UTF-8, which lxml is told."""
    if re.search(rb"charset\s*=|encoding\s*=", data[:4096], re.I) and b"\0" not in data[:64]:
        return data, None
    return decode(data)[0].encode("utf-8", "replace"), "utf-8"


def _error_page(title: str, texts: list[str]) -> str:
    """A warning when the page is a server's refusal, which is no source of anything."""
    if len(texts) > 2:
        return ""
    text = texts[0][:3000]
    for pattern in _ERRORS:
        match = re.search(pattern, title, re.I) or re.search(pattern, text, re.I)
        # In a long text the words may be a subject; in a title or a short one they are the matter.
        if match and (match.string is title or len(texts[0]) < 4000):
            return f"This is an error page of a server ({match.group()}), not a document."
    return ""


class _Walk:
    """Collects blocks of text in document order. Iterating bounds the depth it follows."""

    MAX_DEPTH = 400

    def __init__(self) -> None:
        self.blocks: list[str] = []
        self.tables: list[Table] = []  # as the text has them, without empty cells
        self.grids: dict[int, Table] = {}  # the same with every cell in its column, by identity
        self._line: list[str] = []

    def flush(self, prefix: str = "") -> None:
        text = _SPACE.sub(" ", "".join(self._line)).strip()
        self._line = []
        if text:
            self.blocks.append(prefix + text)

    def element(self, node: Any, depth: int) -> None:
        tag = node.tag if isinstance(node.tag, str) else ""
        if tag in _SKIPPED or depth > self.MAX_DEPTH or _HIDDEN.search(node.get("style") or ""):
            return
        if tag == "table" and self._is_data(node):
            self.flush()
            self._table(node)
            return
        block = tag in _BLOCKS
        if block:
            self.flush()
        if node.text:
            self._line.append(node.text)
        for child in node:
            self.element(child, depth + 1)
            if child.tail:
                self._line.append(child.tail)
        if tag in ("td", "th"):
            self._line.append(" ")
        if block or tag == "tr":
            heading = tag[1:] if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit() else ""
            self.flush("#" * int(heading) + " " if heading else "- " if tag == "li" else "")

    @staticmethod
    def _is_data(table: Any) -> bool:
        """A table that holds no other table and more than one cell: not one for layout."""
        return (
            next(table.iterdescendants("table"), None) is None
            and len(table.xpath(".//td[position() > 1] | .//th[position() > 1]")) > 0
        )

    def _table(self, table: Any) -> None:
        cells = rows_of(table)
        if not cells:
            return
        shown = Table(tuple(tuple(cell.text for cell in row) for row in cells))
        self.tables.append(shown)
        self.grids[id(shown)] = Table(tuple(aligned(cells)))
        self.blocks.append("\n".join(markdown_row(row) for row in shown.rows))
