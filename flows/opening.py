"""The opening of a file's extraction: its pages, as a model or the built-in answerer sees them."""

from __future__ import annotations

import json
from dataclasses import dataclass

from deskwork.flows import prompts
from deskwork.tasks.extractive_records import TABLES
from deskwork.tasks.schema import RecordSchema
from deskwork.tools.collection import Collection, SourceFile
from deskwork.tools.documents import markdown_row
from deskwork.tools.errors import ToolError

SHOWN = 120_000
"""Characters of a file that stand in a model's request; the rest is found with tools."""
SHOWN_HERE = 4_000_000
"""The same for the built-in answerer, which has no tools for it and no window to fill."""
PICTURES = 8
"""Pages of a scan that the model looks at."""
WITH_PARTS = ("eml", "msg", "pdf")
"""Kinds whose pages may belong to a file inside, which their titles name."""
NO_TEXT = "(no text:"


@dataclass(frozen=True)
class Opening:
    """The text, the pictures of pages without text, and what is not shown.

    ``left_out`` counts pages that had no room; ``has_text`` is whether any page shown has text.
    """

    text: str
    images: tuple[bytes, ...]
    left_out: int
    has_text: bool


def opening_of(
    collection: Collection, file: SourceFile, schema: RecordSchema, *, builtin: bool
) -> Opening:
    """The opening for a file, which is read page by page until the room is filled."""
    pages: list[tuple[int, str, str]] = []
    images: list[bytes] = []
    room = SHOWN_HERE if builtin else SHOWN
    has_text = False
    for number in range(1, file.pages + 1):
        page = collection.page(file.name, number)
        text = page.text
        has_text = has_text or bool(text.strip())
        if not text.strip() and len(images) < PICTURES:
            try:
                images.append(collection.picture(file.name, number))
                text = f"{NO_TEXT} its picture is number {len(images)})"
            except ToolError:
                text = f"{NO_TEXT} and no picture)"
        if room < len(text):
            break
        room -= len(text)
        if builtin:
            text += _tables(collection, file, number)
        title = page.title if file.kind in WITH_PARTS else ""
        pages.append((number, " ".join(title.split()), text))
    left_out = file.pages - len(pages)
    shown = json.dumps(schema.schema, ensure_ascii=False)
    text = prompts.extract_brief(file.name, shown, pages, left_out)
    return Opening(text, tuple(images), left_out, has_text)


def _tables(collection: Collection, file: SourceFile, number: int) -> str:
    """A page's tables as Markdown rows: the built-in answerer can't see where a cell ends."""
    tables = [
        "\n".join(markdown_row(row) for row in table.rows)
        for table in collection.tables(file.name, number)
    ]
    return TABLES + "\n\n".join(tables) if tables else ""
