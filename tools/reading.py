"""The tools over a job's documents: search them, read them, look at a page, cite a passage."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from deskwork.tools.errors import ToolError
from deskwork.tools.pictures import fit
from deskwork.tools.tool import Desk, ToolResult, tool

FileName = Annotated[str, Field(description="The file's name as list_documents gives it.")]
PageNumber = Annotated[int, Field(description="The page, from 1.")]
_MAX_PAGES = 10
NOWHERE = "Words that stand nowhere in the documents: "
"""How a search tells the words of its query that no page has."""


@tool(repeatable=True)
def list_documents(desk: Desk) -> ToolResult:
    """List the documents of this job with their kind and number of pages."""
    files = desk.collection.files
    lines = [f"{len(files)} document{'s' if len(files) != 1 else ''}."]
    for file in files:
        if file.state == "ready":
            pages = f"{file.pages} page{'s' if file.pages != 1 else ''}"
            fetched = f" · fetched from {file.url} ({file.retrieved})" if file.url else ""
            lines.append(f"- {file.name} · {file.kind} · {pages}{fetched}")
        else:
            lines.append(f"- {file.name} · failed · {file.reason}")
    data = [
        {
            "file": file.name,
            "kind": file.kind,
            "pages": file.pages,
            "state": file.state,
            "reason": file.reason,
            "sha256": file.sha256,
        }
        for file in files
    ]
    return ToolResult("\n".join(lines), data=data)


@tool(repeatable=True)
def search_documents(
    query: Annotated[str, Field(description="The question, or words to look for.", min_length=1)],
    desk: Desk,
    top: Annotated[int, Field(description="How many pages to find.", ge=1, le=50)] = 8,
    file: Annotated[str | None, Field(description="Search only in this file.")] = None,
) -> ToolResult:
    """Find the pages of the documents that answer a question best, best first.

    Each result is a line "[n] FILE · page P · score S", then the lines of the page that match,
    and after "→" the row of a table that matches best, each figure under its column's heading.
    The snippet is a part of the page: read the page before you quote or conclude from it.
    A cell of a workbook is found by its name, such as B7 or Sheet1!B7.
    """
    hits = desk.collection.search(query, top, file)
    data = [
        {
            "file": hit.file,
            "page": hit.page,
            "score": hit.score,
            "snippet": hit.snippet,
            "row": hit.row.as_json() if hit.row else None,
        }
        for hit in hits
    ]
    if not hits:
        where = f"in {file}" if file else "in the documents"
        return ToolResult(f"Nothing {where} matches {query!r}. Try other words.", data=data)
    lines = []
    for number, hit in enumerate(hits, 1):
        lines.append(f"[{number}] {hit.file} · page {hit.page} · score {hit.score:.3f}")
        lines.append(hit.snippet)
        if hit.row:
            lines.append(f"→ {hit.row}")
    if unknown := desk.collection.unknown(query, file):
        lines.append(f"{NOWHERE}{', '.join(unknown)}.")
    return ToolResult("\n".join(lines), data=data)


@tool(repeatable=True)
def read_document(
    file: FileName,
    page: Annotated[int, Field(description="The first page to read, from 1.")],
    desk: Desk,
    pages: Annotated[int, Field(description="How many pages to read.", ge=1, le=_MAX_PAGES)] = 1,
) -> ToolResult:
    """Read the text of one page or of several in a row.

    Each page begins with a line "FILE · page P of N". Rows of tables stand on one line.
    """
    read = [desk.collection.page(file, page)]
    for number in range(page + 1, min(page + pages, read[0].pages + 1)):
        read.append(desk.collection.page(file, number))
    parts = []
    for stored in read:
        title = f" · {stored.title}" if stored.title else ""
        parts.append(f"{stored.file} · page {stored.number} of {stored.pages}{title}")
        parts += [f"Warning: {warning}" for warning in stored.warnings]
        parts.append((stored.text or "(This page holds no text.)") + "\n")
    data = [
        {"file": stored.file, "page": stored.number, "pages": stored.pages, "text": stored.text}
        for stored in read
    ]
    return ToolResult("\n".join(parts).rstrip(), data=data)


@tool(repeatable=True)
def look_at_page(file: FileName, page: PageNumber, desk: Desk) -> ToolResult:
    """Look at a page as a picture: for charts, scans, and tables that text can't show.

    PDF pages and images have pictures, also inside a mail or a ZIP.
    """
    # A scan as PNG may be larger than servers take; it is then sent as JPEG.
    picture = fit(desk.collection.picture(file, page)).data
    name = desk.collection.file(file).name
    return ToolResult(f"{name} · page {page}: the picture of the page.", images=(picture,))


@tool(repeatable=True)
def cite(
    file: FileName,
    page: PageNumber,
    quote: Annotated[
        str, Field(description="The passage word for word, at least 12 characters or a figure.")
    ],
    desk: Desk,
) -> ToolResult:
    """Make evidence of a quote. It is checked against the page and refused if it isn't there.

    The result gives an id such as E1234abcd; put it as [E1234abcd] after each statement that
    rests on the quote.
    """
    if not quote.strip():
        raise ToolError("The quote is empty.")
    evidence = desk.collection.find_quote(file, page, quote)
    text = (
        f"{evidence.id} · {evidence.file} · page {evidence.page}\n"
        f"“{' '.join(evidence.quote.split())}”\n"
        f"Write [{evidence.id}] after each statement that rests on this quote."
    )
    data = {
        "id": evidence.id,
        "file": evidence.file,
        "page": evidence.page,
        "quote": evidence.quote,
        "sha256": evidence.sha256,
        "start": evidence.start,
        "url": evidence.url,
        "retrieved": evidence.retrieved,
    }
    return ToolResult(text, evidence=(evidence,), data=data)
