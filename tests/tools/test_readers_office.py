import datetime
import io

import pytest

from deskwork.tools.errors import BadFile
from deskwork.tools.readers import read, read_bytes
from tests.tools.made import SHARED, docx, needs_shared, xlsx


def _tracked() -> bytes:
    """A memo with an insertion and a deletion that are still tracked."""
    import docx as word
    from docx.oxml import parse_xml

    names = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    document = word.Document()
    document.add_heading("Outlook", 1)
    paragraph = document.add_paragraph("Sales will ")
    for piece in (
        f"<w:del {names}><w:r><w:delText>fall</w:delText></w:r></w:del>",
        f"<w:ins {names}><w:r><w:t>rise</w:t></w:r></w:ins>",
    ):
        paragraph._p.append(parse_xml(piece))
    paragraph.add_run(" in spring.")
    table = document.add_table(rows=2, cols=2)
    for row, cells in zip(table.rows, (("Item", "2025"), ("Net sales", "842.6")), strict=True):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def test_docx_gives_the_accepted_text_headings_and_table_rows() -> None:
    page = read_bytes(_tracked(), "memo.docx").pages[0]
    assert (
        page.text
        == "## Outlook\nSales will rise in spring.\n| Item | 2025 |\n| Net sales | 842.6 |"
    )
    assert page.tables[0].rows == (("Item", "2025"), ("Net sales", "842.6"))


def test_a_long_docx_is_several_pages_and_loses_nothing() -> None:
    paragraphs = [f"Paragraph {number} " + "word " * 60 for number in range(60)]
    document = read_bytes(docx(paragraphs), "long.docx")
    assert len(document.pages) > 2
    text = "\n".join(page.text for page in document.pages)
    assert [f"Paragraph {number} " in text for number in range(60)] == [True] * 60


def test_sheets_are_pages_and_values_are_text() -> None:
    rows: list[list[object]] = [
        ["Segment", "Sales", "Share", "As of"],
        ["Process | Analytics", 398.4, 0.1 + 0.2, datetime.datetime(2025, 9, 30)],
        [None, None, None, None],
        ["NA", 12, True, None],
    ]
    document = read_bytes(xlsx({"Segments": rows, "Empty": []}), "book.xlsx")
    assert [page.title for page in document.pages] == ["Segments", "Empty"]
    assert document.pages[0].text.split("\n") == [
        "Sheet: Segments",
        "| Segment | Sales | Share | As of |",
        "| Process \\| Analytics | 398.4 | 0.3 | 2025-09-30 |",
        "| NA | 12 | TRUE |",
    ]
    assert document.pages[1].warnings == ("This sheet holds no values.",)


def test_a_workbook_without_values_is_refused() -> None:
    with pytest.raises(BadFile, match=r"empty\.xlsx is empty"):
        read_bytes(xlsx({"One": []}), "empty.xlsx")


@needs_shared
def test_real_office_files() -> None:
    corpus = SHARED / "corpus"
    assert "hidden" in read(corpus / "TwoSheetsOneHidden.xlsx").pages[0].warnings[0]
    assert read(corpus / "xls_wrong_decimals.xls").kind == "xls"
    tracked = read(corpus / "track_changes_insertion.docx").pages[0].text
    assert tracked == "This is a text with two exciting insertions."
    assert "[1] My note." in read(corpus / "notes.docx").pages[0].text
    assert "I left a comment." in read(corpus / "comments.docx").pages[0].text
    assert read(corpus / "textbox.docx").pages[0].text.count("Student falls ill") == 1
    assert "| #DIV/0! |" in read(corpus / "errors.xlsx").pages[0].text
    assert "2021-01-01" in read(corpus / "date_1904.xlsx").pages[0].text


def _book() -> bytes:
    import openpyxl
    from openpyxl.comments import Comment

    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Sales"
    sheet["B1"] = "Sales ($ in millions)"
    sheet.merge_cells("B1:E1")
    sheet["C2"], sheet["E2"] = "2025", "Note"
    sheet.merge_cells("C2:D2")
    sheet["B3"], sheet["C3"], sheet["D3"] = "Process", 1.5, 2
    sheet["B4"], sheet["D4"] = "Total", "=C3+D3"
    sheet["C3"].comment = Comment("Not audited", "Ada")
    sheet.row_dimensions[3].hidden = True
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def test_a_workbook_tells_merges_formulas_comments_and_units() -> None:
    page = read_bytes(_book(), "a.xlsx").pages[0]
    assert page.text.split("\n") == [
        "Sheet: Sales",
        "| Sales ($ in millions) |",
        "|  | 2025 | 2025 | Note |",
        "| Process | 1.5 | 2 |",
        "| Total |  | =C3+D3 |",
        "Comments:",
        "- [C3] Ada: Not audited",
    ]
    assert page.tables[0].unit == "$ in millions"
    assert page.tables[0].formulas == {"D4": "=C3+D3"}
    assert page.warnings == (
        "1 formulas have no stored value; the formula stands in the cell.",
        "1 rows of this sheet are hidden; they are read as well.",
    )


@pytest.mark.parametrize("password", [None, "open sesame"])
def test_a_locked_workbook_opens_with_its_password(password: str | None) -> None:
    from msoffcrypto.format.ooxml import OOXMLFile

    locked = io.BytesIO()
    OOXMLFile(io.BytesIO(xlsx({"One": [["Secret", 12]]}))).encrypt("open sesame", locked)
    if password is None:
        with pytest.raises(BadFile, match=r"^a\.xlsx is locked: it needs a password"):
            read_bytes(locked.getvalue(), "a.xlsx")
    else:
        page = read_bytes(locked.getvalue(), "a.xlsx", password=password).pages[0]
        assert page.tables[0].rows == (("Secret", "12"),)
