"""Files for the tests, made by the libraries that people's own files come from."""

import io
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

SHARED = Path(
    os.environ.get("DESKWORK_SHARED", Path(__file__).parents[2] / ".." / "shared")
).resolve()
needs_shared = pytest.mark.skipif(
    not (SHARED / "financebench" / "pdfs").is_dir(),
    reason=f"the real filings are not at {SHARED}; set DESKWORK_SHARED",
)


def pdf(pages: Sequence[Sequence[str]], password: str | None = None) -> bytes:
    """A PDF whose pages hold the lines given."""
    from reportlab.pdfgen.canvas import Canvas

    buffer = io.BytesIO()
    canvas = Canvas(buffer, invariant=1, encrypt=password)
    for lines in pages:
        for number, line in enumerate(lines):
            canvas.drawString(72, 760 - 16 * number, line)
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def table_pdf() -> bytes:
    """A PDF whose page holds a table with separately placed columns."""
    from reportlab.pdfgen.canvas import Canvas

    buffer = io.BytesIO()
    canvas = Canvas(buffer, invariant=1)
    rows = (("Net sales", "842.6", "781.3"), ("Cost of sales", "(488.7)", "(464.1)"))
    for number, (label, new, old) in enumerate(rows):
        canvas.drawString(72, 700 - 18 * number, label)
        canvas.drawRightString(400, 700 - 18 * number, new)
        canvas.drawRightString(480, 700 - 18 * number, old)
    canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def docx(paragraphs: Sequence[str]) -> bytes:
    import docx as word

    document = word.Document()
    for paragraph in paragraphs:
        document.add_paragraph(paragraph)
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def xlsx(sheets: dict[str, list[list[object]]]) -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    first = book.active
    assert first is not None
    book.remove(first)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def lying_pdf(lines: Sequence[str], says: dict[str, str]) -> bytes:
    """A PDF that shows ``lines`` and whose font says other letters: ``says`` maps shown to said."""
    import re
    from pathlib import Path

    import matplotlib
    from pypdf import PdfReader, PdfWriter
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFont
    from reportlab.pdfgen.canvas import Canvas

    face = Path(matplotlib.get_data_path()) / "fonts/ttf/DejaVuSans.ttf"
    pdfmetrics.registerFont(TTFont("Shown", str(face)))
    made = io.BytesIO()
    page = Canvas(made, pagesize=(595, 842))
    page.setFont("Shown", 11)
    for number, line in enumerate(lines):
        page.drawString(50, 780 - 16 * number, line)
    page.save()

    def swapped(match: re.Match[str]) -> str:
        shown = chr(int(match[2], 16))
        return f"{match[1]}<{ord(says.get(shown, shown)):04X}>"

    writer = PdfWriter(clone_from=PdfReader(made))
    for entry in writer.pages[0]["/Resources"]["/Font"].values():  # type: ignore[index]
        font = entry.get_object()
        if "/ToUnicode" in font:
            stream = font["/ToUnicode"].get_object()
            text = stream.get_data().decode("latin-1")
            text = re.sub(r"(<[0-9A-F]{2,4}>\s*)<([0-9A-F]{4})>(?=\s*\n)", swapped, text)
            stream.set_data(text.encode("latin-1"))
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()
