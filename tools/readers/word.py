"""DOCX: the accepted text in order, headings marked, tables as rows; notes and comments at the end.

python-docx opens the package; the text comes from an own pass over the XML, because python-docx
drops inserted text (``w:ins``). Deleted text (``w:del``) never reaches a reader.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

from deskwork.tools.documents import Document, Page, Table, markdown_row, paginate, tables_on
from deskwork.tools.errors import BadFile
from deskwork.tools.readers.packages import told_macros, usual, xml
from deskwork.tools.readers.source import Source

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_DROPPED = {_W + name for name in ("del", "moveFrom", "instrText", "delText", "pPr", "rPr")}
# Word keeps a text box twice, as drawing and as fallback for old readers: the second is skipped.
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_BREAKS = {_W + "tab": "\t", _W + "br": "\n", _W + "cr": "\n", _W + "noBreakHyphen": "-"}


_MAX_SPAN = 100  # columns that one cell may claim
_MAX_DEPTH = 20  # of tables in tables


def read(source: Source) -> Document:
    """The body in bounded pages, then headers and footers, notes and comments under headings."""
    data, _ = usual(source)
    import docx

    package = docx.Document(io.BytesIO(data))
    walk = _Walk(package)
    for block in package.element.body:
        walk.block(block)
    edges = _edges(package)
    if edges:
        walk.blocks.append("## Headers and footers\n" + "\n".join(edges))
    for kind, title in (
        ("footnotes", "Footnotes"),
        ("endnotes", "Endnotes"),
        ("comments", "Comments"),
    ):
        notes = list(_notes(package, kind))
        if notes:
            walk.blocks.append(f"## {title}\n" + "\n".join(notes))
    if not any(block.strip() for block in walk.blocks):
        raise BadFile(f"{source.name} is empty: it holds no text.")
    properties = package.core_properties
    metadata = {
        key: str(value)
        for key in ("title", "author", "created", "modified")
        if (value := getattr(properties, key, None))
    }
    texts = paginate(walk.blocks)
    pages = [
        Page(number, text.strip(), tables)
        for number, (text, tables) in enumerate(
            zip(texts, tables_on(texts, walk.tables), strict=True), 1
        )
    ]
    warnings = [*told_macros(source), *_told(package.element.body)]
    return Document(source.name, "docx", tuple(pages), metadata, tuple(warnings))


def _told(body: Any) -> Iterator[str]:
    """What the accepted text alone would hide."""
    tags = (_W + name for name in ("ins", "del", "moveFrom", "moveTo"))
    count = sum(1 for _ in body.iter(*tags))
    if count:
        yield f"{count} tracked changes are open; the text is as if all were accepted."
    if next(body.iter(_W + "vanish"), None) is not None:
        yield "Some text is formatted as hidden; it is read as well."


def _edges(package: Any) -> list[str]:
    """The different texts of all sections' headers and footers."""
    found: dict[str, None] = {}
    for relation in package.part.rels.values():
        if relation.is_external or not relation.reltype.endswith(("/header", "/footer")):
            continue
        for paragraph in _paragraphs(xml(relation.target_part.blob)):
            text = " ".join(text_of(paragraph).split())
            # A page number alone is none of the document's text.
            if text and not text.isdigit():
                found[text] = None
    return list(found)


class _Walk:
    """Turns the body's blocks into lines of Markdown."""

    def __init__(self, package: Any) -> None:
        self.blocks: list[str] = []
        self.tables: list[Table] = []
        self._styles = {style.style_id: style.name or "" for style in package.styles}

    def block(self, node: Any) -> None:
        if node.tag == _W + "p":
            text = text_of(node).strip()
            if text:
                self.blocks.append(self._prefix(node) + text)
        elif node.tag == _W + "tbl":
            self._table(node)
        elif node.tag in (_W + "sdt", _W + "sdtContent", _W + "ins", _W + "customXml"):
            for child in node:
                self.block(child)

    def _prefix(self, paragraph: Any) -> str:
        style = paragraph.find(f"{_W}pPr/{_W}pStyle")
        name = self._styles.get(style.get(_W + "val"), "") if style is not None else ""
        heading = re.fullmatch(r"heading (\d)", name, re.I)
        if heading:
            return "#" * min(int(heading[1]) + 1, 6) + " "
        if name.lower() == "title":
            return "# "
        listed = paragraph.find(f"{_W}pPr/{_W}numPr") is not None or name.lower().startswith("list")
        return "- " if listed else ""

    def _table(self, node: Any, depth: int = 0) -> None:
        rows: list[tuple[str, ...]] = []
        nested: list[Any] = []
        for row in _children(node, "tr"):
            if row.find(f"{_W}trPr/{_W}del") is not None:
                continue
            cells: list[str] = []
            for cell in _children(row, "tc"):
                texts, inner = _cell(cell)
                nested += inner
                text = " ".join(" ".join(texts).split())
                span = cell.find(f"{_W}tcPr/{_W}gridSpan")
                wide = int(span.get(_W + "val") or 1) if span is not None else 1
                down = cell.find(f"{_W}tcPr/{_W}vMerge")
                if down is not None and down.get(_W + "val") != "restart" and rows:
                    above = rows[-1]
                    text = text or (above[len(cells)] if len(cells) < len(above) else "")
                cells += [text, *[""] * (min(wide, _MAX_SPAN) - 1)]
            if any(cells):
                rows.append(tuple(cells))
        if rows:
            self.tables.append(Table(tuple(rows)))
            self.blocks.append("\n".join(markdown_row(row) for row in rows))
        if depth < _MAX_DEPTH:
            for table in nested:  # after the table they stand in, as tables of their own
                self._table(table, depth + 1)


def _children(node: Any, name: str) -> Iterator[Any]:
    """Rows or cells, also where they are wrapped in controls or tracked insertions."""
    for child in node:
        if child.tag == _W + name:
            yield child
        elif child.tag in (_W + "sdt", _W + "sdtContent", _W + "ins", _W + "customXml"):
            yield from _children(child, name)


def _cell(cell: Any) -> tuple[list[str], list[Any]]:
    """A cell's paragraphs, and the tables in it."""
    texts: list[str] = []
    tables: list[Any] = []
    for child in cell:
        if child.tag == _W + "tbl":
            tables.append(child)
        elif child.tag == _W + "p":
            texts.append(text_of(child))
        elif child.tag in (_W + "sdt", _W + "sdtContent", _W + "ins", _W + "customXml"):
            more, inner = _cell(child)
            texts += more
            tables += inner
    return texts, tables


def _paragraphs(node: Any) -> Iterator[Any]:
    for paragraph in node.iter(_W + "p"):
        if not any(parent.tag == _FALLBACK for parent in paragraph.iterancestors()):
            yield paragraph


def text_of(node: Any) -> str:
    """The accepted text under an element: insertions kept, deletions and fallbacks left out."""
    parts: list[str] = []
    for child in node:
        if child.tag in _DROPPED or child.tag == _FALLBACK:
            continue
        if child.tag == _W + "t":
            parts.append(child.text or "")
        elif child.tag in _BREAKS:
            parts.append(_BREAKS[child.tag])
        elif child.tag == _W + "p":
            parts.append("\n" + text_of(child))
        else:
            parts.append(text_of(child))
    return "".join(parts)


def _notes(package: Any, kind: str) -> Iterator[str]:
    """Each footnote, endnote or comment as one line with its number or author."""
    for relation in package.part.rels.values():
        if relation.is_external or not relation.reltype.endswith("/" + kind):
            continue
        for note in xml(relation.target_part.blob):
            if note.get(_W + "type") in (
                "separator",
                "continuationSeparator",
                "continuationNotice",
            ):
                continue
            text = " ".join(text_of(note).split())
            if text:
                author = note.get(_W + "author")
                yield f"[{note.get(_W + 'id')}] " + (f"{author}: " if author else "") + text
