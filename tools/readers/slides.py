"""PPTX: a page for each slide, its text in groups and tables, charts' numbers, notes, comments.

python-pptx opens the package and tells the slides' order; the text comes from an own pass over
the XML, since its shapes raise on some charts.
"""

from __future__ import annotations

import io
from typing import Any

from deskwork.tools.documents import Document, Page, PagePicture, Table, markdown_row
from deskwork.tools.errors import BadFile
from deskwork.tools.readers.charts import chart_tables
from deskwork.tools.readers.packages import told_macros, usual, xml
from deskwork.tools.readers.source import Source

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_DGM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_TITLES = ("title", "ctrTitle")
_SMALL_PARTS = ("sldNum", "ftr", "dt")  # number, footer and date of the slide
_EMU = 12_700  # English metric units in a point
_MAX_SLIDES = 5_000


def read(source: Source) -> Document:
    """Every slide, hidden ones too (with a warning)."""
    import pptx

    data, _ = usual(source)
    deck = pptx.Presentation(io.BytesIO(data))
    if len(deck.slides) > _MAX_SLIDES:
        raise BadFile(f"{source.name} has more than {_MAX_SLIDES:,} slides.")
    authors = _authors(deck)
    pages = []
    for number, slide in enumerate(deck.slides, 1):
        walk = _Walk(slide.part)
        walk.shapes(slide._element.find(f"{_P}cSld/{_P}spTree"))
        notes = _related_text(slide.part, "notesSlide")
        if notes:
            walk.lines += ["Notes:", *notes]
        comments = _comments(slide.part, authors)
        if comments:
            walk.lines += ["Comments:", *comments]
        told = [*walk.warnings]
        if slide._element.get("show") == "0":
            told.append("This slide is hidden in the presentation.")
        if not walk.lines and walk.pictures:
            told.append("This slide holds pictures and no text.")
        pages.append(
            Page(
                number,
                "\n".join(walk.lines),
                tuple(walk.tables),
                tuple(walk.pictures),
                tuple(told),
                walk.title,
            )
        )
    if not any(page.text or page.pictures for page in pages):
        raise BadFile(f"{source.name} is empty: its slides hold nothing.")
    properties = deck.core_properties
    metadata = {
        key: str(value)
        for key in ("title", "author", "created", "modified")
        if (value := getattr(properties, key, None))
    }
    return Document(source.name, "pptx", tuple(pages), metadata, told_macros(source))


class _Walk:
    """Turns a slide's tree of shapes into lines, in the order of the tree."""

    def __init__(self, part: Any) -> None:
        self._part = part
        self.title = ""
        self.lines: list[str] = []
        self.tables: list[Table] = []
        self.pictures: list[PagePicture] = []
        self.warnings: list[str] = []

    def shapes(self, tree: Any, depth: int = 0) -> None:
        if tree is None or depth > 100:
            return
        for node in tree:
            if node.tag == _FALLBACK:
                continue
            if node.tag == _P + "sp":
                self._text(node)
            elif node.tag == _P + "graphicFrame":
                self._frame(node)
            elif node.tag == _P + "pic":
                self._picture(node)
            elif isinstance(node.tag, str) and not node.tag.startswith(_A):
                self.shapes(node, depth + 1)  # groups, and what newer versions wrap shapes in

    def _text(self, shape: Any) -> None:
        place = shape.find(f"{_P}nvSpPr/{_P}nvPr/{_P}ph")
        kind = place.get("type") if place is not None else None
        if kind in _SMALL_PARTS:
            return
        body = shape.find(_P + "txBody")
        lines = paragraphs(body) if body is not None else []
        if not lines:
            return
        if kind in _TITLES and not self.title:
            self.title = " ".join(lines)
            self.lines.append(f"# {self.title}")
            return
        self.lines += [f"- {line}" for line in lines] if place is not None else lines

    def _frame(self, frame: Any) -> None:
        for table in frame.iter(_A + "tbl"):
            rows = tuple(
                tuple(_cell(cell) for cell in row.findall(_A + "tc"))
                for row in table.findall(_A + "tr")
            )
            if any(any(row) for row in rows):
                self._add(Table(rows))
        for chart in frame.iter(_C + "chart"):
            root = self._related(chart.get(_R + "id"))
            for table in chart_tables(root) if root is not None else []:
                self.lines.append(f"Chart: {table.title}")
                self._add(table)
        for diagram in frame.iter(_DGM + "relIds"):
            root = self._related(diagram.get(_R + "dm"))
            if root is not None:
                self.lines += [f"- {line}" for line in paragraphs(root)]

    def _add(self, table: Table) -> None:
        self.tables.append(table)
        self.lines += [markdown_row(row) for row in table.rows]

    def _picture(self, node: Any) -> None:
        names = node.find(f"{_P}nvPicPr/{_P}cNvPr")
        told = (names.get("descr") or names.get("name") or "") if names is not None else ""
        self.pictures.append(PagePicture(told or f"picture {len(self.pictures) + 1}"))
        if names is not None and names.get("descr"):
            self.lines.append(f"[Picture: {' '.join(names.get('descr').split())}]")

    def _related(self, key: str | None) -> Any:
        try:
            return xml(self._part.rels[key].target_part.blob)
        except (KeyError, ValueError):  # a link that leads nowhere, or outside the file
            self.warnings.append("A chart or diagram of this slide is missing from the file.")
            return None


def paragraphs(body: Any) -> list[str]:
    """The text of each paragraph that has any."""
    lines = []
    for paragraph in body.iter(_A + "p"):
        parts = []
        for node in paragraph.iter(_A + "t", _A + "br", _A + "tab"):
            parts.append(node.text or "" if node.tag == _A + "t" else " ")
        text = " ".join("".join(parts).split())
        if text:
            lines.append(text)
    return lines


def _cell(cell: Any) -> str:
    """A cell's text; the cells that a merged one covers are empty."""
    if cell.get("hMerge") == "1" or cell.get("vMerge") == "1":
        return ""
    return " ".join(paragraphs(cell))


def _related_text(part: Any, kind: str) -> list[str]:
    lines: list[str] = []
    for relation in part.rels.values():
        if relation.is_external or not relation.reltype.endswith("/" + kind):
            continue
        for shape in xml(relation.target_part.blob).iter(_P + "sp"):
            place = shape.find(f"{_P}nvSpPr/{_P}nvPr/{_P}ph")
            if place is not None and place.get("type") in (*_SMALL_PARTS, "sldImg", "hdr"):
                continue
            body = shape.find(_P + "txBody")
            lines += paragraphs(body) if body is not None else []
    return lines


def _comments(part: Any, authors: dict[str, str]) -> list[str]:
    """Comments of both forms: the one of 2007 (``text``) and the threaded one (paragraphs)."""
    lines = []
    for relation in part.rels.values():
        if relation.is_external or not relation.reltype.endswith("/comments"):
            continue
        for comment in xml(relation.target_part.blob).iter():
            if not isinstance(comment.tag, str) or comment.tag.rpartition("}")[2] not in (
                "cm",
                "reply",
            ):
                continue
            old = comment.findtext(_P + "text")
            own = [child for child in comment if child.tag.rpartition("}")[2] in ("txBody", "text")]
            text = old or " ".join(line for child in own for line in paragraphs(child))
            author = authors.get(comment.get("authorId") or "", "")
            if text.strip():
                lines.append(f"- {author}: {text.strip()}" if author else f"- {text.strip()}")
    return lines


def _authors(deck: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    for relation in deck.part.rels.values():
        if relation.is_external or not relation.reltype.lower().endswith(
            ("/commentauthors", "/authors")
        ):
            continue
        for author in xml(relation.target_part.blob):
            if author.get("id"):
                found[author.get("id")] = author.get("name") or ""
    return found
