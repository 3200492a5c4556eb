"""A document as Deskwork sees it: pages of text with what stands on them, whatever the file was.

Sheets of a workbook are pages; a kind without pages of its own (a memo, a web page) is one page
or several of bounded length. Page numbers count from 1. The text of a page is what the search
index holds, what a model reads, and what quotes are checked against: there is no second version.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

PAGE_CHARACTERS = 6_000  # about one dense printed page; keeps a read within a few thousand tokens


@dataclass(frozen=True)
class Table:
    """Rows of cells as text. The same rows stand in the page's text as Markdown rows."""

    rows: tuple[tuple[str, ...], ...]
    title: str = ""


@dataclass(frozen=True)
class PagePicture:
    """A picture that stands on a page: its place in points from the left and bottom edge."""

    name: str
    box: tuple[float, float, float, float] | None = None


@dataclass(frozen=True)
class Page:
    """One page, sheet or slide. ``warnings`` tell what the text alone would hide."""

    number: int
    text: str
    tables: tuple[Table, ...] = ()
    pictures: tuple[PagePicture, ...] = ()
    warnings: tuple[str, ...] = ()
    title: str = ""


@dataclass(frozen=True)
class Document:
    """A file that was read. ``metadata`` holds plain JSON values."""

    file: str
    kind: str
    pages: tuple[Page, ...]
    metadata: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def to_json(self, only: int | None = None) -> dict[str, Any]:
        """Plain values as ``deskwork read --json`` prints them; ``only`` is one page's number."""
        return {
            "file": self.file,
            "kind": self.kind,
            "warnings": list(self.warnings),
            "metadata": self.metadata,
            "pages": [_page_json(page) for page in self.pages if only in (None, page.number)],
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


def _page_json(page: Page) -> dict[str, Any]:
    return {
        "number": page.number,
        "title": page.title,
        "text": page.text,
        "tables": [
            {"title": table.title, "rows": [list(row) for row in table.rows]}
            for table in page.tables
        ],
        "pictures": [
            {"name": picture.name, "box": list(picture.box) if picture.box else None}
            for picture in page.pictures
        ],
        "warnings": list(page.warnings),
    }


def _page(value: dict[str, Any]) -> Page:
    return Page(
        number=value["number"],
        text=value["text"],
        tables=tuple(
            Table(tuple(tuple(row) for row in table["rows"]), table["title"])
            for table in value["tables"]
        ),
        pictures=tuple(
            PagePicture(picture["name"], tuple(picture["box"]) if picture["box"] else None)
            for picture in value["pictures"]
        ),
        warnings=tuple(value["warnings"]),
        title=value["title"],
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
