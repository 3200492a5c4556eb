"""HTML: the main text by lxml, headings as Markdown, each table row on one line."""

from __future__ import annotations

import re
from typing import Any

from deskwork.tools.documents import Document, Page, Table, markdown_row, paginate
from deskwork.tools.errors import BadFile
from deskwork.tools.readers import Source

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
_SPACE = re.compile(r"[ \t\r\n\u00a0]+")


def read(source: Source) -> Document:
    """The text in bounded pages. Menus, forms, scripts and hidden elements are left out."""
    from lxml import html

    # No network, no entity expansion: the parser gets bytes and resolves nothing. `huge_tree`
    # stays off, it would lift libxml2's own bounds on depth and size.
    parser = html.HTMLParser(remove_comments=True, remove_pis=True, no_network=True)
    root = html.document_fromstring(source.data, parser=parser)
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
    pages = []
    for number, text in enumerate(paginate(walk.blocks), 1):
        lines = set(text.split("\n"))
        tables = tuple(
            table for table in walk.tables if table.rows and markdown_row(table.rows[0]) in lines
        )
        pages.append(Page(number, text, tables=tables))
    return Document(source.name, "html", tuple(pages), {"title": title} if title else {})


class _Walk:
    """Collects blocks of text in document order. Iterating bounds the depth it follows."""

    MAX_DEPTH = 400

    def __init__(self) -> None:
        self.blocks: list[str] = []
        self.tables: list[Table] = []
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
        rows: list[tuple[str, ...]] = []
        for row in table.iter("tr"):
            cells = (_SPACE.sub(" ", cell.text_content()).strip() for cell in row.iter("td", "th"))
            # Filings set "$", "(" and ")" in cells of their own, and space between columns.
            merged = _joined([cell for cell in cells if cell])
            if merged:
                rows.append(merged)
        if rows:
            self.tables.append(Table(tuple(rows)))
            self.blocks.append("\n".join(markdown_row(row) for row in rows))


def _joined(cells: list[str]) -> tuple[str, ...]:
    """Cells with a lone currency sign or bracket joined to the number it belongs to."""
    joined: list[str] = []
    for cell in cells:
        opens = joined and re.fullmatch(r"[$€£¥(]|[$€£¥]\s*\(", joined[-1])
        if opens or (joined and re.fullmatch(r"[)%]+", cell)):
            joined[-1] += cell
        else:
            joined.append(cell)
    return tuple(joined)
