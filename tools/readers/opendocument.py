"""ODT and ODP by an own pass over ``content.xml``: text, headings, lists, tables, notes, comments.

Deleted text that is still tracked lies apart in ``text:tracked-changes`` and is left out.
"""

from __future__ import annotations

from typing import Any

from deskwork.tools.documents import Document, Page, Table, markdown_row, paginate, tables_on
from deskwork.tools.errors import BadFile
from deskwork.tools.readers.archives import opened
from deskwork.tools.readers.packages import xml
from deskwork.tools.readers.source import Source, locked

_OASIS = "{urn:oasis:names:tc:opendocument:xmlns:"
_TEXT, _TABLE = f"{_OASIS}text:1.0}}", f"{_OASIS}table:1.0}}"
_OFFICE, _DRAW = f"{_OASIS}office:1.0}}", f"{_OASIS}drawing:1.0}}"
_PRESENTATION = f"{_OASIS}presentation:1.0}}"
_REPEATED = _TABLE + "number-columns-repeated"
_MOST_REPEATED = 256  # cells or rows that one element may stand for; more are empty filling


def read(source: Source) -> Document:
    """A page for each slide; of a text, pages of bounded length."""
    with opened(source.data, source.name) as archive:
        if b"manifest:encryption-data" in _part(archive, "META-INF/manifest.xml"):
            raise locked(source)
        root = xml(archive.read("content.xml"))
    body = root.find(_OFFICE + "body")
    pages: list[Page] = []
    slides = list(body.iter(_DRAW + "page")) if body is not None else []
    if source.kind == "odp":
        for number, slide in enumerate(slides, 1):
            walk = _Walk()
            walk.block(slide, 0)
            title = slide.get(_DRAW + "name") or ""
            text = "\n".join(walk.blocks)
            pages.append(Page(number, text, tuple(walk.tables), title=title))
    elif body is not None:
        walk = _Walk()
        walk.block(body, 0)
        texts = paginate(walk.blocks)
        on = tables_on(texts, walk.tables)
        pages = [Page(at + 1, text, on[at]) for at, text in enumerate(texts)]
    if not any(page.text for page in pages):
        raise BadFile(f"{source.name} is empty: it holds no text.")
    return Document(source.name, source.kind, tuple(pages))


def _part(archive: Any, name: str) -> bytes:
    try:
        data: bytes = archive.read(name)
    except KeyError:
        return b""
    return data


class _Walk:
    """Collects blocks in document order."""

    def __init__(self) -> None:
        self.blocks: list[str] = []
        self.tables: list[Table] = []

    def block(self, node: Any, depth: int, mark: str = "") -> None:
        if depth > 200:
            return
        for child in node:
            if child.tag == _TEXT + "tracked-changes":
                continue
            if child.tag == _TEXT + "h":
                level = child.get(_TEXT + "outline-level") or "1"
                deep = min(int(level), 5) if level.isdigit() else 1
                self._add("#" * (deep + 1) + " ", child)
            elif child.tag == _TEXT + "p":
                self._add(mark, child)
            elif child.tag == _TABLE + "table":
                self._table(child)
            elif child.tag == _PRESENTATION + "notes":
                self.blocks.append("Notes:")
                self.block(child, depth + 1)
            else:
                self.block(child, depth + 1, "- " if child.tag == _TEXT + "list" else mark)

    def _add(self, mark: str, node: Any) -> None:
        text = " ".join(inline(node).split())
        if text:
            self.blocks.append(mark + text)

    def _table(self, table: Any) -> None:
        rows: list[tuple[str, ...]] = []
        for row in table.iter(_TABLE + "table-row"):
            cells: list[str] = []
            for cell in row:
                if cell.tag not in (_TABLE + "table-cell", _TABLE + "covered-table-cell"):
                    continue
                text = " ".join(
                    " ".join(inline(part).split()) for part in cell.iter(_TEXT + "p", _TEXT + "h")
                )
                count = cell.get(_REPEATED) or "1"
                cells += [text] * (min(int(count), _MOST_REPEATED) if count.isdigit() else 1)
            while cells and not cells[-1]:
                cells.pop()
            if cells:
                rows.append(tuple(cells))
        if rows:
            self.tables.append(Table(tuple(rows), table.get(_TABLE + "name") or ""))
            self.blocks.append("\n".join(markdown_row(row) for row in rows))


def inline(node: Any) -> str:
    """The text of a paragraph; notes and comments in brackets where they stand."""
    parts = [node.text or ""]
    for child in node:
        if child.tag == _TEXT + "s" or child.tag in (_TEXT + "tab", _TEXT + "line-break"):
            parts.append(" ")
        elif child.tag == _TEXT + "note":
            body = child.find(_TEXT + "note-body")
            text = " ".join(inline(body).split()) if body is not None else ""
            parts.append(f" [Note: {text}]")
        elif child.tag == _OFFICE + "annotation":
            said = " ".join(inline(part) for part in child.iter(_TEXT + "p"))
            parts.append(f" [Comment: {' '.join(said.split())}]")
        elif isinstance(child.tag, str):
            inner = inline(child)
            # Paragraphs in a frame, such as a text box, are words of their own.
            parts.append(f" {inner} " if child.tag == _TEXT + "p" else inner)
        parts.append(child.tail or "")
    return "".join(parts)
