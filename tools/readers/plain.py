"""Plain text and Markdown, in pages of bounded length."""

from __future__ import annotations

from deskwork.tools.documents import Document, Page, paginate
from deskwork.tools.errors import BadFile
from deskwork.tools.readers.encodings import decode
from deskwork.tools.readers.source import Source


def read(source: Source) -> Document:
    """Pages break between paragraphs (blank lines). Form feeds are page breaks of their own."""
    text, encoding = decode(source.data)
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    if not text.strip():
        raise BadFile(f"{source.name} is empty: it holds no text.")
    pages: list[str] = []
    for sheet in text.split("\f"):
        if sheet.strip():
            pages += paginate([block.rstrip() + "\n" for block in sheet.split("\n\n")])
    return Document(
        file=source.name,
        kind=source.kind,
        pages=tuple(Page(number, page.strip("\n")) for number, page in enumerate(pages, 1)),
        metadata={"encoding": encoding},
    )
