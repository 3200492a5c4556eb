"""A document as Deskwork sees it: pages of text with what stands on them, whatever the file was.

Sheets of a workbook are pages; a kind without pages of its own (a memo, a web page) is one page
or several of bounded length. Page numbers count from 1. The text of a page is what the search
index holds, what a model reads, and what quotes are checked against: there is no second version.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Box = tuple[float, float, float, float]
"""Left, bottom, right, top, in points from the page's left and bottom edge as it is shown."""

PAGE_CHARACTERS = 6_000  # about one dense printed page; keeps a read within a few thousand tokens


@dataclass(frozen=True)
class Table:
    """Rows of cells as text. The same rows stand in the page's text as Markdown rows.

    ``unit`` is what the title or the lines above say of unit and scale ("$ in millions").
    ``formulas`` gives the formula behind a cell's value, by the cell's name (``{"B4": "=B2-B3"}``).
    In a workbook ``numbers`` are the rows' numbers there, from 1, and ``left`` is the first
    column's, from 0; elsewhere there are none, and cells have no names.
    """

    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    unit: str = ""
    formulas: dict[str, str] = field(default_factory=dict)
    numbers: tuple[int, ...] = ()
    left: int = 0

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        value: dict[str, Any] = {
            "title": self.title,
            "unit": self.unit,
            "rows": [list(row) for row in self.rows],
            "formulas": self.formulas,
        }
        if self.numbers:
            value |= {"numbers": list(self.numbers), "left": self.left}
        return value

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Table:
        """The inverse of `to_json`."""
        return cls(
            tuple(tuple(row) for row in value["rows"]),
            value["title"],
            value["unit"],
            value["formulas"],
            tuple(value.get("numbers", ())),
            value.get("left", 0),
        )

    def cell_name(self, row: int, column: int) -> str:
        """A cell's name in its workbook (``B7``), by its place here; "" outside workbooks."""
        if not self.numbers:
            return ""
        letters, number = "", self.left + column + 1
        while number:
            number, rest = divmod(number - 1, 26)
            letters = chr(65 + rest) + letters
        return f"{letters}{self.numbers[row]}"


@dataclass(frozen=True)
class PagePicture:
    """A picture on a page: its place in points from the left and bottom edge, its size in pixels.

    ``size`` is known where the page is the picture: scans and image files.
    """

    name: str
    box: Box | None = None
    size: tuple[int, int] | None = None


@dataclass(frozen=True)
class Page:
    """One page, sheet or slide. ``warnings`` tell what the text alone would hide.

    ``boxes`` is empty, or holds one box for each of the first words of ``text.split()``: what is
    added below the text of a PDF page (form fields) has none.
    """

    number: int
    text: str
    tables: tuple[Table, ...] = ()
    pictures: tuple[PagePicture, ...] = ()
    warnings: tuple[str, ...] = ()
    title: str = ""
    boxes: tuple[Box, ...] = ()


@dataclass(frozen=True)
class Document:
    """A file that was read. ``metadata`` holds plain JSON values.

    What a file holds in itself (attachments, members of a ZIP) has pages of its own here, and a
    row in ``metadata["parts"]``: ``file``, ``kind``, ``bytes``, ``state`` ("ready" or "failed"),
    ``reason`` and ``pages``, the numbers of its first and last page.
    """

    file: str
    kind: str
    pages: tuple[Page, ...]
    metadata: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def to_json(self, only: int | None = None, *, boxes: bool = False) -> dict[str, Any]:
        """Plain values as ``deskwork read --json`` prints them; ``only`` is one page's number.

        ``boxes`` adds each page's word boxes, which are longer than its text.
        """
        return {
            "file": self.file,
            "kind": self.kind,
            "warnings": list(self.warnings),
            "metadata": self.metadata,
            "pages": [
                _page_json(page, boxes) for page in self.pages if only in (None, page.number)
            ],
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Document:
        """The document that `to_json` gave."""
        return cls(
            file=value["file"],
            kind=value["kind"],
            pages=tuple(_page(page) for page in value["pages"]),
            metadata=value["metadata"],
            warnings=tuple(value["warnings"]),
        )

    def to_markdown(self, only: int | None = None) -> str:
        """Compact Markdown: a line for the file, then each page under its number."""
        count = len(self.pages)
        parts = [f"# {self.file} ({self.kind}, {count} page{'s' if count != 1 else ''})"]
        parts += [f"> Warning: {warning}" for warning in self.warnings]
        for page in self.pages:
            if only not in (None, page.number):
                continue
            parts.append(f"\n## Page {page.number}" + (f": {page.title}" if page.title else ""))
            parts += [f"> Warning: {warning}" for warning in page.warnings]
            parts.append(page.text or "(no text)")
        return "\n".join(parts)


def _page_json(page: Page, boxes: bool) -> dict[str, Any]:
    value = {
        "number": page.number,
        "title": page.title,
        "text": page.text,
        "tables": [table.to_json() for table in page.tables],
        "pictures": [
            {
                "name": picture.name,
                "box": list(picture.box) if picture.box else None,
                "size": list(picture.size) if picture.size else None,
            }
            for picture in page.pictures
        ],
        "warnings": list(page.warnings),
    }
    if boxes:
        value["boxes"] = [list(box) for box in page.boxes]
    return value


def _page(value: dict[str, Any]) -> Page:
    return Page(
        number=value["number"],
        text=value["text"],
        tables=tuple(Table.from_json(table) for table in value["tables"]),
        pictures=tuple(
            PagePicture(
                picture["name"],
                tuple(picture["box"]) if picture["box"] else None,
                tuple(picture["size"]) if picture["size"] else None,
            )
            for picture in value["pictures"]
        ),
        warnings=tuple(value["warnings"]),
        title=value["title"],
        boxes=tuple(tuple(box) for box in value.get("boxes", ())),
    )


def markdown_row(cells: Sequence[str]) -> str:
    """One table row on one line, so that a label and its numbers stay together."""
    flat = (" ".join(cell.split()).replace("|", "\\|") for cell in cells)
    return "| " + " | ".join(flat) + " |"


def paginate(blocks: Sequence[str], limit: int = PAGE_CHARACTERS) -> list[str]:
    """Pages of at most ``limit`` characters, broken between blocks, or between lines of a long one.

    A line longer than the limit stays whole, since a row cut in two would lose its label; only
    one of several pages' length is broken, at a space if there is one.
    """
    pages: list[list[str]] = [[]]
    size = 0
    for block in blocks:
        lines = [block] if len(block) <= limit else block.split("\n")
        for piece in (part for line in lines for part in _broken(line, limit)):
            if size and size + len(piece) > limit:
                pages.append([])
                size = 0
            pages[-1].append(piece)
            size += len(piece) + 1
    return ["\n".join(page) for page in pages if page]


def _broken(line: str, limit: int) -> list[str]:
    if len(line) <= 3 * limit:
        return [line]
    parts = []
    start = 0
    while len(line) - start > limit:
        space = line.rfind(" ", start + limit // 2, start + limit)
        end = space if space > 0 else start + limit
        parts.append(line[start:end])
        start = end
    return [*parts, line[start:]]


def tables_on(pages: Sequence[str], tables: Sequence[Table]) -> list[tuple[Table, ...]]:
    """The tables of each page: both in document order, a table where its first row stands.

    A table that goes on over several pages belongs to the one it begins on.
    """
    found: list[list[Table]] = [[] for _ in pages]
    at = start = 0
    for table in tables:
        row = markdown_row(table.rows[0])
        for index in range(at, len(pages)):
            place = pages[index].find(row, start if index == at else 0)
            if place >= 0:
                at, start = index, place + 1
                found[index].append(table)
                break
    return [tuple(page) for page in found]
