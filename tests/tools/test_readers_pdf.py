from pathlib import Path

import pytest

from deskwork.tools.errors import BadFile
from deskwork.tools.readers import Source, read, read_bytes
from deskwork.tools.readers.pdf import picture
from tests.tools.made import SHARED, needs_shared, pdf, table_pdf


def test_pages_are_numbered_from_one_and_keep_their_lines() -> None:
    document = read_bytes(pdf([["First line", "Second line"], ["Other page"]]), "a.pdf")
    assert [page.number for page in document.pages] == [1, 2]
    assert document.pages[0].text == "First line\nSecond line"


def test_a_table_row_is_one_line_with_label_and_figures() -> None:
    lines = read_bytes(table_pdf(), "t.pdf").pages[0].text.split("\n")
    assert lines == ["Net sales 842.6 781.3", "Cost of sales (488.7) (464.1)"]


def test_a_locked_file_needs_the_right_password() -> None:
    data = pdf([["Secret figure 12"]], password="open sesame")
    with pytest.raises(BadFile, match=r"^a\.pdf is locked: it needs a password"):
        read_bytes(data, "a.pdf")
    with pytest.raises(BadFile, match="the password given is wrong"):
        read_bytes(data, "a.pdf", password="wrong")
    assert read_bytes(data, "a.pdf", password="open sesame").pages[0].text == "Secret figure 12"


def test_empty_and_broken_files_are_refused_with_a_sentence(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pdf"
    empty.touch()
    with pytest.raises(BadFile, match=r"^empty\.pdf is empty \(0 bytes\)"):
        read(empty)
    with pytest.raises(BadFile, match=r"^cut\.pdf is broken"):
        read_bytes(b"%PDF-1.7\nnothing of a PDF follows", "cut.pdf")
    with pytest.raises(BadFile, match="can't be opened"):
        read(tmp_path / "missing.pdf")


def test_a_page_without_text_is_told() -> None:
    document = read_bytes(pdf([[], ["Text"]]), "scan.pdf")
    assert document.warnings == ("1 of 2 pages have no text layer (scan or drawing).",)
    assert "no text layer" in document.pages[0].warnings[0]


def test_the_picture_of_a_page_is_a_png_of_bounded_size() -> None:
    import io

    from PIL import Image

    source = Source("a.pdf", "pdf", pdf([["Look"]]))
    image = Image.open(io.BytesIO(picture(source, 1)))
    assert (image.format, max(image.size)) == ("PNG", 1568)
    with pytest.raises(BadFile, match="has no page 2; it has 1"):
        picture(source, 2)


@needs_shared
def test_rows_of_a_real_filing() -> None:
    document = read(SHARED / "financebench" / "pdfs" / "3M_2018_10K.pdf")
    # Checked by eye on the pages' pictures.
    for page, row in (
        (58, "Property, plant and equipment — net 8,738 8,866"),
        (58, "Less: Accumulated depreciation (16,135) (16,048)"),
        (60, "Purchases of property, plant and equipment (PP&E) (1,577) (1,373) (1,420)"),
        (60, "Dividends paid to shareholders (3,193) (2,803) (2,678)"),
    ):
        assert row in document.pages[page - 1].text.split("\n")


@needs_shared
def test_real_files_with_passwords_and_attachments() -> None:
    corpus = SHARED / "corpus"
    apple = read(corpus / "APPLE_2023Q3_10Q.pdf")  # an owner password, the user's is empty
    assert "81,797" in apple.pages[3].text
    with pytest.raises(BadFile, match="locked"):
        read(corpus / "password-example.pdf")
    assert "Backup4all" in read(corpus / "password-example.pdf", password="test").pages[0].text
    assert read(corpus / "with-attachment.pdf").metadata["attachments"] == ["image.png"]
