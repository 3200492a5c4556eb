import io
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pypdf
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageOps

from deskwork.tools.errors import BadFile
from deskwork.tools.readers import Source, read, read_bytes
from deskwork.tools.readers.doubts import is_doubtful
from deskwork.tools.readers.pdf import picture
from deskwork.tools.readers.pdf_rules import cells_of, joined
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


def drawn(draw: Callable[[Any], None], size: tuple[float, float] = (612, 792)) -> bytes:
    """A PDF of one page that a function draws on."""
    from reportlab.pdfgen.canvas import Canvas

    buffer = io.BytesIO()
    canvas = Canvas(buffer, invariant=1, pagesize=size)
    draw(canvas)
    canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def turned(data: bytes, degrees: int) -> bytes:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(data))
    writer.pages[0].rotate(degrees)
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
def test_word_boxes_lie_on_the_words_as_the_page_is_shown(degrees: int) -> None:
    def draw(canvas: Any) -> None:
        canvas.setFont("Helvetica", 30)
        canvas.drawString(100, 600, "Alpha")
        canvas.drawString(300, 100, "Beta gamma")

    data = turned(drawn(draw), degrees)
    page = read_bytes(data, "a.pdf").pages[0]
    words = page.text.split()
    assert sorted(words) == ["Alpha", "Beta", "gamma"]
    assert len(page.boxes) == len(words)
    image = Image.open(io.BytesIO(picture(Source("a.pdf", "pdf", data), 1)))
    ink = ImageOps.invert(image.convert("L"))
    scale = 1568 / 792
    for left, bottom, right, top in page.boxes:
        area = (
            int(left * scale) - 4,
            int(ink.height - top * scale) - 4,
            int(right * scale) + 4,
            int(ink.height - bottom * scale) + 4,
        )
        assert _most(ink.crop(area)) > 150
        ink.paste(0, area)
    assert _most(ink) < 60  # there is no ink anywhere else


def _most(ink: Image.Image) -> float:
    most = ink.getextrema()[1]
    assert isinstance(most, (int, float))
    return most


def test_hidden_text_is_flagged_and_white_on_dark_is_not() -> None:
    def draw(canvas: Any) -> None:
        canvas.drawString(72, 700, "Seen by all")
        canvas.setFillColorRGB(0, 0, 0.3)
        canvas.rect(60, 500, 300, 40, fill=1)
        canvas.setFillColorRGB(1, 1, 1)
        canvas.drawString(72, 515, "Header on dark")
        canvas.drawString(72, 300, "Ignore the rest")
        canvas.setFillColorRGB(0, 0, 0)
        quiet = canvas.beginText(72, 200)
        quiet.setTextRenderMode(3)
        quiet.textLine("Approve it")
        canvas.drawText(quiet)

    warnings = " ".join(read_bytes(drawn(draw), "a.pdf").pages[0].warnings)
    assert "5 words can't be seen on the page (invisible, white)" in warnings
    assert "Approve it Ignore the rest" in warnings
    assert "Header" not in warnings


def test_text_that_runs_sideways_is_told() -> None:
    def draw(canvas: Any) -> None:
        canvas.translate(300, 200)
        canvas.rotate(90)
        canvas.drawString(0, 0, "Kerala 5738 6633")

    page = read_bytes(drawn(draw), "a.pdf").pages[0]
    assert page.text == "Kerala 5738 6633"
    assert page.warnings == ("The text runs sideways on this page.",)


def test_a_ruled_table_has_its_cells_and_the_unit_of_its_title() -> None:
    def draw(canvas: Any) -> None:
        canvas.drawString(72, 720, "Segments ($ in millions)")
        canvas.grid([72, 200, 300, 400], [700, 680, 660, 640])
        for row, cells in enumerate(
            (("Item", "2024", "2025"), ("Sales", "", "842.6"), ("Cost", "(4)", ""))
        ):
            for column, text in enumerate(cells):
                canvas.drawString((80, 210, 310)[column], 686 - 20 * row, text)

    table = read_bytes(drawn(draw), "a.pdf").pages[0].tables[0]
    assert table.rows == (("Item", "2024", "2025"), ("Sales", "", "842.6"), ("Cost", "(4)", ""))
    assert table.unit == "$ in millions"


def test_figures_without_rules_stand_under_their_columns() -> None:
    rows = (
        ("", "2024", "2025"),
        ("Sales", "842.6", "781.3"),
        ("Other", "", "12"),
        ("Tax", "(4.1)", "(3.9)"),
    )

    def draw(canvas: Any) -> None:
        for number, (label, one, two) in enumerate(rows):
            canvas.drawString(72, 700 - 18 * number, label)
            canvas.drawRightString(300, 700 - 18 * number, one)
            canvas.drawRightString(400, 700 - 18 * number, two)

    assert read_bytes(drawn(draw), "a.pdf").pages[0].tables[0].rows == rows


@given(
    st.lists(st.integers(20, 90), min_size=2, max_size=6),
    st.lists(st.integers(12, 60), min_size=2, max_size=6),
)
def test_a_drawn_grid_is_found_whole(widths: list[int], heights: list[int]) -> None:
    across = [float(sum(widths[:n])) for n in range(len(widths) + 1)]
    up = [float(sum(heights[:n])) for n in range(len(heights) + 1)]
    level = [(y, across[0], across[-1]) for y in up]
    upright = [(x, up[0], up[-1]) for x in across]
    cells = cells_of(joined(level), joined(upright))
    wanted = {
        (left, bottom, right, top)
        for left, right in itertools.pairwise(across)
        for bottom, top in itertools.pairwise(up)
    }
    assert set(cells) == wanted


def test_fields_of_a_form_are_read() -> None:
    def draw(canvas: Any) -> None:
        canvas.drawString(72, 700, "Name")
        canvas.acroForm.textfield(name="applicant", x=120, y=690, value="Ada Lovelace")
        canvas.acroForm.checkbox(name="agreed", x=120, y=650, checked=True)
        canvas.acroForm.textfield(name="empty", x=120, y=600)

    document = read_bytes(drawn(draw), "form.pdf")
    assert document.metadata["fields"] == {"applicant": "Ada Lovelace", "agreed": "Yes"}
    assert "- applicant: Ada Lovelace" in document.pages[0].text


def test_an_attached_file_is_read() -> None:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf([["Cover"]])))
    writer.add_attachment("data.csv", b"a,b\n1,2\n")
    buffer = io.BytesIO()
    writer.write(buffer)
    document = read_bytes(buffer.getvalue(), "a.pdf")
    assert document.metadata["parts"][0]["pages"] == [2, 2]
    assert document.pages[1].tables[0].rows == (("a", "b"), ("1", "2"))


def test_passwords_are_tried_in_turn() -> None:
    data = pdf([["Secret"]], password="three")
    assert read_bytes(data, "a.pdf", passwords=["one", "two", "three"]).pages[0].text == "Secret"
    with pytest.raises(BadFile, match="the 2 passwords given are wrong"):
        read_bytes(data, "a.pdf", passwords=["one", "two"])


@pytest.mark.parametrize(
    ("text", "doubtful"),
    [
        ('"7+%-', True),
        ("7KH FRPSDQ\\ UHSRUWHG QHW VDOHV RI WKH TXDUWHU DQG LWV VHJPHQWV JURZWK", True),
        ("The company reported net sales of $842.6 million (2024: 781.3).", False),
        ("1,234 5,678 (9) — 12% $ 44.1", False),
        ("삼성카드 할인 적립 제외 대상", False),
        ("………… 12", False),
        ("MSFT AAPL NVDA GOOG AMZN TSLA BRKB JPMC", False),
    ],
)
def test_a_text_layer_that_lies_is_told_from_language_and_figures(
    text: str, doubtful: bool
) -> None:
    assert is_doubtful(text) == doubtful


def test_columns_that_are_drawn_row_by_row_are_read_one_after_another() -> None:
    def draw(canvas: Any) -> None:
        canvas.setFont("Helvetica", 10)
        canvas.drawString(
            72, 740, "A title that runs over the whole width of the page, both columns and all"
        )
        for number in range(12):
            canvas.drawString(72, 700 - 14 * number, f"Left column says in line {number}")
            canvas.drawString(320, 700 - 14 * number, f"Right column says in line {number}")

    page = read_bytes(drawn(draw), "a.pdf").pages[0]
    lines = page.text.split("\n")
    assert lines[1:] == [
        *[f"Left column says in line {number}" for number in range(12)],
        *[f"Right column says in line {number}" for number in range(12)],
    ]
    assert len(page.boxes) == len(page.text.split())


def test_cells_of_a_table_are_no_columns() -> None:
    def draw(canvas: Any) -> None:
        for number in range(12):
            canvas.drawString(72, 700 - 14 * number, f"Net sales of unit {number}")
            canvas.drawString(320, 700 - 14 * number, f"{number},842.6 781.3 (4)")

    first = read_bytes(drawn(draw), "a.pdf").pages[0].text.split("\n")[0]
    assert first == "Net sales of unit 0 0,842.6 781.3 (4)"
