"""DOCX: the accepted text in order, headings marked, tables as rows; notes and comments at the end.

python-docx opens the package; the text comes from an own pass over the XML, because python-docx
drops inserted text (``w:ins``). Deleted text (``w:del``) never reaches a reader.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from typing import Any

from deskwork.tools.documents import Document, Page, Table, markdown_row, paginate
from deskwork.tools.errors import BadFile
from deskwork.tools.readers import Source

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_STRICT = b"http://purl.oclc.org/ooxml/wordprocessingml/main"
_DROPPED = {_W + name for name in ("del", "moveFrom", "instrText", "delText", "pPr", "rPr")}
# Word keeps a text box twice, as drawing and as fallback for old readers: the second is skipped.
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_BREAKS = {_W + "tab": "\t", _W + "br": "\n", _W + "cr": "\n", _W + "noBreakHyphen": "-"}


def read(source: Source) -> Document:
    """The body in bounded pages, then footnotes, endnotes and comments under their headings."""
    if _is_strict(source.data):
        raise BadFile(
            f"{source.name} is in the ISO Strict form of DOCX, which can't be read yet.",
            "Save it as a plain Word document.",
        )
    import docx

    package = docx.Document(io.BytesIO(source.data))
    walk = _Walk(package)
    for block in package.element.body:
        walk.block(block)
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
    pages = []
    for number, text in enumerate(paginate(walk.blocks), 1):
        tables = tuple(table for table in walk.tables if markdown_row(table.rows[0]) in text)
        pages.append(Page(number, text.strip(), tables=tables))
    return Document(source.name, "docx", tuple(pages), metadata)


def _is_strict(data: bytes) -> bool:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            if name == "word/document.xml":
                with archive.open(name) as part:
                    return _STRICT in part.read(4096)
    return False


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

    def _table(self, node: Any) -> None:
        rows: list[tuple[str, ...]] = []
        for row in node.iterchildren(_W + "tr"):
            if row.find(f"{_W}trPr/{_W}del") is not None:
                continue
            cells = []
            for cell in row.iter(_W + "tc"):
                if next(cell.iterancestors(_W + "tr")) is row:
                    cells.append("\n".join(filter(None, map(text_of, _paragraphs(cell)))))
            if any(cells):
                rows.append(tuple(" ".join(cell.split()) for cell in cells))
        if rows:
            self.tables.append(Table(tuple(rows)))
            self.blocks.append("\n".join(markdown_row(row) for row in rows))


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
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    for relation in package.part.rels.values():
        if not relation.reltype.endswith("/" + kind):
            continue
        for note in etree.fromstring(relation.target_part.blob, parser):
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
