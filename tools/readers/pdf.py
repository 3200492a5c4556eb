"""PDF by pdfium: text in reading order with table rows kept on one line, and page pictures.

pdfium keeps a row's label and its numbers together where pypdf does not, and is fifteen times
faster. It is not thread-safe: every call into it in this process happens under one lock.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from deskwork.tools.documents import Document, Page, PagePicture
from deskwork.tools.errors import BadFile
from deskwork.tools.readers import Source

LOCK = threading.Lock()
LONGEST_SIDE = 1568  # pixels; models scale larger pictures down, so more would cost and not help
_MAX_PAGES = 20_000
_MAX_PICTURES = 50  # named for each page
_MAX_ENTRIES = 200  # of the outline and of the attachments
# pdfium marks a hyphen at a line's end, where the word goes on, with one of these.
_HYPHENS = str.maketrans({"\x02": "\u00ad", "\ufffe": "\u00ad", "\x00": None})


def read(source: Source) -> Document:
    """All pages; pages without a text layer carry a warning, they are scans or drawings."""
    with _open(source) as pdf:
        count = len(pdf)
        if count > _MAX_PAGES:
            raise BadFile(f"{source.name} has {count:,} pages; at most {_MAX_PAGES:,} are read.")
        metadata = {key: value for key, value in pdf.get_metadata_dict().items() if value}
        attachments = _attachments(pdf)
        outline = _outline(pdf)
    pages: list[Page] = []
    # The document is opened once, and the lock let go between pages, so that another thread
    # that wants one page's picture doesn't wait for a whole filing.
    with _opened_unlocked(source) as pdf:
        for index in range(count):
            with LOCK:
                pages.append(_page(pdf, index))
    warnings = []
    blank = sum(not page.text for page in pages)
    if blank:
        warnings.append(f"{blank} of {count} pages have no text layer (scan or drawing).")
    if attachments:
        warnings.append("Attached files, not read: " + ", ".join(attachments) + ".")
    info: dict[str, Any] = dict(metadata)
    if outline:
        info["outline"] = outline
    if attachments:
        info["attachments"] = attachments
    return Document(source.name, "pdf", tuple(pages), info, tuple(warnings))


def picture(source: Source, number: int) -> bytes:
    """The page as PNG bytes, its longest side `LONGEST_SIDE` pixels. Raises `BadFile`."""
    import io

    with _open(source) as pdf:
        if not 1 <= number <= len(pdf):
            raise BadFile(f"{source.name} has no page {number}; it has {len(pdf)}.")
        page = pdf[number - 1]
        width, height = page.get_size()
        scale = LONGEST_SIDE / max(width, height, 1.0)
        image = page.render(scale=scale).to_pil()
        page.close()
    # Rounding may give one pixel more than asked for.
    image = image.crop((0, 0, min(image.width, LONGEST_SIDE), min(image.height, LONGEST_SIDE)))
    buffer = io.BytesIO()
    image.convert("RGB").save(buffer, "PNG")
    return buffer.getvalue()


@contextmanager
def _open(source: Source) -> Iterator[Any]:
    """The open document, with the lock held all the while."""
    with LOCK:
        pdf = _load(source)
        try:
            yield pdf
        finally:
            pdf.close()


@contextmanager
def _opened_unlocked(source: Source) -> Iterator[Any]:
    """The open document; the caller takes the lock around each use."""
    with LOCK:
        pdf = _load(source)
    try:
        yield pdf
    finally:
        with LOCK:
            pdf.close()


def _load(source: Source) -> Any:
    import pypdfium2
    from pypdfium2 import raw

    try:
        return pypdfium2.PdfDocument(source.data, password=source.password)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) == raw.FPDF_ERR_PASSWORD:
            if source.password:
                raise BadFile(f"{source.name} is locked: the password given is wrong.") from None
            raise BadFile(
                f"{source.name} is locked: it needs a password.",
                "Unlock it, or give `deskwork read` its --password.",
            ) from None
        raise BadFile(f"{source.name} is broken: it can't be opened as a PDF.") from None


def _page(pdf: Any, index: int) -> Page:
    import pypdfium2

    try:
        page = pdf[index]
    except pypdfium2.PdfiumError:
        return Page(index + 1, "", warnings=("This page is broken and can't be read.",))
    try:
        text_page = page.get_textpage()
        text = _clean(text_page.get_text_range(errors="replace"))
        text_page.close()
        pictures = _pictures(page)
    except pypdfium2.PdfiumError:
        return Page(index + 1, "", warnings=("This page is broken and can't be read.",))
    finally:
        page.close()
    warnings = () if text else ("This page has no text layer: look at its picture.",)
    return Page(index + 1, text, pictures=pictures, warnings=warnings)


def _pictures(page: Any) -> tuple[PagePicture, ...]:
    """The image objects of the page, by the raw calls: the wrapper's iterator costs three times
    the whole text of a filing."""
    import ctypes

    from pypdfium2 import raw

    pictures: list[PagePicture] = []
    sides = [ctypes.c_float() for _ in range(4)]
    for index in range(raw.FPDFPage_CountObjects(page)):
        item = raw.FPDFPage_GetObject(page, index)
        if raw.FPDFPageObj_GetType(item) != raw.FPDF_PAGEOBJ_IMAGE:
            continue
        raw.FPDFPageObj_GetBounds(item, *(ctypes.byref(side) for side in sides))
        left, bottom, right, top = (round(side.value, 1) for side in sides)
        pictures.append(PagePicture(f"picture {len(pictures) + 1}", (left, bottom, right, top)))
        if len(pictures) == _MAX_PICTURES:
            break
    return tuple(pictures)


def _clean(text: str) -> str:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").translate(_HYPHENS).split("\n")
    return "\n".join(line.rstrip() for line in lines).strip()


def _attachments(pdf: Any) -> list[str]:
    import pypdfium2

    names: list[str] = []
    with contextlib.suppress(pypdfium2.PdfiumError):  # a broken list is no reason to lose the text
        for index in range(min(pdf.count_attachments(), _MAX_ENTRIES)):
            names.append(pdf.get_attachment(index).get_name())
    return names


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
