"""PDF by pdfium: text in reading order with table rows kept on one line, and page pictures.

pdfium keeps a row's label and its numbers together where pypdf does not, and is fifteen times
faster. pypdf reads what pdfium doesn't tell in one piece: the fields of a form.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from deskwork.tools.documents import Document, Page
from deskwork.tools.errors import BadFile
from deskwork.tools.readers.images import png
from deskwork.tools.readers.marking import lines_of, mark
from deskwork.tools.readers.parts import read_parts
from deskwork.tools.readers.pdf_columns import in_columns
from deskwork.tools.readers.pdf_glyphs import Fonts
from deskwork.tools.readers.pdf_page import read_page, render
from deskwork.tools.readers.pdf_words import frame_of, words_of
from deskwork.tools.readers.source import Source, locked

_MAX_PAGES = 5_000
_MAX_ENTRIES = 200  # of the outline, of the attachments, of a page's annotations
_WIDGET = "/Widget"


def read(source: Source) -> Document:
    """All pages, then those of attached files. Pages without a text layer carry a warning."""
    with _open(source) as pdf:
        count = len(pdf)
        if count > _MAX_PAGES:
            raise BadFile(f"{source.name} has {count:,} pages; at most {_MAX_PAGES:,} are read.")
        info: dict[str, Any] = {
            key: value for key, value in pdf.get_metadata_dict().items() if value
        }
        outline = _outline(pdf)
        if outline:
            info["outline"] = outline
        if _is_encrypted(pdf):
            info["encrypted"] = True
        fonts = Fonts()
        pages = [read_page(pdf, index, source.name, source.ocr, fonts) for index in range(count)]
        has_form = bool(pdf.get_formtype())
    fields = _fields(source) if has_form else []
    if fields:
        info["fields"] = {name: value for _, name, value in fields}
        pages = _with_fields(pages, fields)
    parts = read_parts(source, inner_files(source), first=count + 1)
    if parts.rows:
        info["attachments"] = parts.names
        info["parts"] = parts.rows
    warnings = [*_told(pages, source.ocr), *parts.warnings]
    return Document(source.name, "pdf", (*pages, *parts.pages), info, tuple(warnings))


def count(source: Source) -> int:
    """How many pages the PDF itself has, without its attachments."""
    with _open(source) as pdf:
        return len(pdf)


def picture(source: Source, number: int) -> bytes:
    """The page as PNG bytes, its longest side 1568 pixels, with the source's marks.

    Raises `BadFile`.
    """
    with _open(source) as pdf:
        if not 1 <= number <= len(pdf):
            raise BadFile(f"{source.name} has no page {number}; it has {len(pdf)}.")
        page = pdf[number - 1]
        try:
            return png(_marked(render(page), page, source.marks))
        finally:
            page.close()


def _marked(shown: Any, page: Any, marks: Sequence[str]) -> Any:
    """The page's picture with the places of these quotes; those that it doesn't hold are left."""
    if not marks:
        return shown
    text_page = page.get_textpage()
    try:
        raw = text_page.get_text_range(errors="replace")
        words, _, sideways = words_of(text_page, raw, frame_of(page))
    finally:
        text_page.close()
    ordered = (in_columns(words) if sideways <= 0.5 else None) or words
    placed = [(word.text, word.box) for word in ordered]
    boxes = [box for quote in marks for box in lines_of(placed, quote)]
    return mark(shown, page.get_size(), boxes)


def inner_files(source: Source) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of every attached file; a broken one has no bytes."""
    import pypdfium2

    with _open(source) as pdf:
        for index in range(min(pdf.count_attachments(), _MAX_ENTRIES)):
            name, data = f"attachment {index + 1}", b""
            with contextlib.suppress(pypdfium2.PdfiumError):
                attachment = pdf.get_attachment(index)
                name = attachment.get_name() or name
                data = bytes(attachment.get_data())
            yield " ".join(name.replace("/", "_").split()), data


@contextmanager
def _open(source: Source) -> Iterator[Any]:
    pdf = _load(source)
    try:
        yield pdf
    finally:
        pdf.close()


def _load(source: Source) -> Any:
    import pypdfium2
    from pypdfium2 import raw

    # An owner's password alone leaves the user's empty: such a file opens without one.
    for password in (None, *source.passwords):
        try:
            return pypdfium2.PdfDocument(source.data, password=password)
        except pypdfium2.PdfiumError as error:
            if getattr(error, "err_code", None) != raw.FPDF_ERR_PASSWORD:
                raise BadFile(f"{source.name} is broken: it can't be opened as a PDF.") from None
    raise locked(source)


def _is_encrypted(pdf: Any) -> bool:
    from pypdfium2 import raw

    return bool(raw.FPDF_GetSecurityHandlerRevision(pdf.raw) >= 0)


def _told(pages: list[Page], with_ocr: bool) -> list[str]:
    warnings = []
    blank = sum(not page.text for page in pages)
    if blank and with_ocr:
        warnings.append(f"{blank} of {len(pages)} pages hold no text, by OCR neither.")
    elif blank:
        warnings.append(f"{blank} of {len(pages)} pages have no text layer (scan or drawing).")
    return warnings


def _outline(pdf: Any) -> list[dict[str, Any]]:
    """The bookmarks of the upper two levels, with the page each points to."""
    import pypdfium2

    entries: list[dict[str, Any]] = []
    with contextlib.suppress(pypdfium2.PdfiumError):
        for bookmark in pdf.get_toc():  # a bound on depth makes it print a line for each subtree
            if bookmark.level > 1:
                continue
            target = bookmark.get_dest()
            index = target.get_index() if target else None
            page = None if index is None else index + 1
            entries.append({"title": bookmark.get_title(), "page": page})
            if len(entries) == _MAX_ENTRIES:
                break
    return entries


def _fields(source: Source) -> list[tuple[int, str, str]]:
    """Page, name and value of each field of a form that is filled in."""
    import pypdf

    found: list[tuple[int, str, str]] = []
    # A broken form is no reason to lose the text; pypdf's errors on broken files are of many kinds.
    with contextlib.suppress(Exception):
        reader = pypdf.PdfReader(io.BytesIO(source.data))
        if reader.is_encrypted:
            any(reader.decrypt(password) for password in ("", *source.passwords))
        for number, page in enumerate(reader.pages, 1):
            annotations = page.get("/Annots")
            for reference in (annotations.get_object() if annotations else [])[:2000]:
                widget = reference.get_object()
                if widget.get("/Subtype") == _WIDGET:
                    name, value = _field(widget)
                    if name and value:
                        found.append((number, name, value))
    return found


def _field(widget: Any) -> tuple[str, str]:
    """The full name and the value; both may stand in the fields above."""
    names: list[str] = []
    value = None
    at = widget
    for _ in range(20):
        if "/T" in at:
            names.insert(0, str(at["/T"]))
        if value is None and "/V" in at:
            value = at["/V"].get_object() if hasattr(at["/V"], "get_object") else at["/V"]
        if "/Parent" not in at:
            break
        at = at["/Parent"].get_object()
    if isinstance(value, list):
        return ".".join(names), ", ".join(map(str, value))
    text = "" if value is None else str(value)
    return ".".join(names), "" if text == "/Off" else text.lstrip("/")


def _with_fields(pages: list[Page], fields: list[tuple[int, str, str]]) -> list[Page]:
    """The pages with their fields below the text, unless the value stands there already."""
    lines: dict[int, list[str]] = {}
    for number, name, value in fields:
        lines.setdefault(number, []).append(f"- {name}: {' '.join(value.split())}")
    return [
        replace(page, text=f"{page.text}\nForm fields:\n" + "\n".join(lines[page.number]))
        if page.number in lines
        else page
        for page in pages
    ]
