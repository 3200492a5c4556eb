"""Kinds beyond PDF, Word, workbooks and text: slides, mail, images, ZIP, OpenDocument and more."""

import io
import json
from email.message import EmailMessage
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from deskwork.tools.errors import BadFile
from deskwork.tools.readers import picture, read_bytes
from deskwork.tools.readers.rich import plain_text
from deskwork.tools.readers.structured import scalar
from deskwork.tools.readers.units import unit_of
from deskwork.tools.readers.xbrl import scaled
from tests.tools.hostile import zipped
from tests.tools.made import pdf, xlsx
from tests.tools.outlook import message


def deck() -> bytes:
    import pptx
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE
    from pptx.util import Inches

    slides = pptx.Presentation()
    first = slides.slides.add_slide(slides.slide_layouts[5])
    first.shapes.title.text = "Results"
    outer = first.shapes.add_group_shape()
    inner = outer.shapes.add_group_shape()
    box = inner.shapes.add_textbox(0, 0, Inches(1), Inches(1))
    box.text_frame.text = "In two groups"
    table = first.shapes.add_table(2, 3, 0, 0, Inches(5), Inches(1)).table
    for column, text in enumerate(("Item", "2024", "2025")):
        table.cell(0, column).text = text
    table.cell(1, 0).text = "Net sales"
    table.cell(1, 1).merge(table.cell(1, 2))
    table.cell(1, 1).text = "842.6"
    data: Any = CategoryChartData()  # type: ignore[no-untyped-call]
    data.categories = ["Q1", "Q2"]
    data.add_series("Orders", (0.1 + 0.2, 12))
    first.shapes.add_chart(XL_CHART_TYPE.LINE, 0, 0, Inches(3), Inches(3), data)
    first.notes_slide.notes_text_frame.text = "Say it slowly."
    second = slides.slides.add_slide(slides.slide_layouts[6])
    second._element.set("show", "0")
    second.shapes.add_textbox(0, 0, 9, 9).text_frame.text = "Draft"
    buffer = io.BytesIO()
    slides.save(buffer)
    return buffer.getvalue()


def test_slides_give_groups_tables_charts_and_notes() -> None:
    document = read_bytes(deck(), "deck.pptx")
    assert document.pages[0].title == "Results"
    assert document.pages[0].text.split("\n") == [
        "# Results",
        "In two groups",
        "| Item | 2024 | 2025 |",
        "| Net sales | 842.6 |  |",
        "Chart: Chart",
        "|  | Q1 | Q2 |",
        "| Orders | 0.3 | 12 |",
        "Notes:",
        "Say it slowly.",
    ]
    assert document.pages[1].warnings == ("This slide is hidden in the presentation.",)


def letter() -> EmailMessage:
    message = EmailMessage()
    message["From"] = "Ada <ada@example.org>"
    message["To"] = "bo@example.org"
    message["Subject"] = "Zahlung für März"
    message["Message-ID"] = "<1@example.org>"
    message.set_content("Bitte zahlen: 1.234,50 €\n", charset="iso-8859-15")
    message.add_alternative("<p>Bitte <b>zahlen</b></p>", subtype="html")
    message.add_attachment(pdf([["Invoice 12"], ["Terms"]]), "application", "pdf", filename="i.pdf")
    message.add_attachment(b"\0\1\2", "application", "octet-stream", filename="x.bin")
    return message


def test_a_message_is_read_with_its_attachments() -> None:
    document = read_bytes(letter().as_bytes(), "letter.eml")
    assert document.kind == "eml"
    assert document.metadata["subject"] == "Zahlung für März"
    assert document.pages[0].text.split("\n")[-1] == "Bitte zahlen: 1.234,50 €"
    assert [page.title for page in document.pages] == ["", "i.pdf", "i.pdf"]
    rows = [(part["file"], part["state"], part["pages"]) for part in document.metadata["parts"]]
    assert rows == [("i.pdf", "ready", [2, 3]), ("x.bin", "failed", None)]
    assert document.warnings[0].startswith("Not read: x.bin is of no kind")


def test_a_message_in_a_message_and_an_html_body() -> None:
    outer = EmailMessage()
    outer["From"] = "bo@example.org"
    outer["MIME-Version"] = "1.0"
    outer.set_content("<p>See <i>below</i></p><script>no()</script>", subtype="html")
    outer.add_attachment(letter())
    document = read_bytes(outer.as_bytes(), "outer.eml")
    assert document.pages[0].text.split("\n")[-1] == "See below"
    files = [part["file"] for part in document.metadata["parts"]]
    assert files == ["message 1.eml", "message 1.eml/i.pdf", "message 1.eml/x.bin"]
    assert document.metadata["attachments"] == ["message 1.eml"]


def test_a_zip_accounts_for_every_member_and_shows_their_pages() -> None:
    data = zipped(
        {
            "2025/a.pdf": pdf([["Page one"], ["Page two"]]),
            "2025/b.xlsx": xlsx({"One": [["x", 1]]}),
            "__MACOSX/._a.pdf": b"clutter",
            "broken.docx": b"PK\x03\x04 nothing",
            "inner.zip": zipped({"c.txt": b"deep"}),
        }
    )
    document = read_bytes(data, "all.zip")
    rows = {part["file"]: part["state"] for part in document.metadata["parts"]}
    assert rows == {
        "2025/a.pdf": "ready",
        "2025/b.xlsx": "ready",
        "broken.docx": "failed",
        "inner.zip": "ready",
        "inner.zip/c.txt": "ready",
    }
    assert [page.number for page in document.pages] == [1, 2, 3, 4]
    assert Image.open(io.BytesIO(picture(data, "all.zip", 2))).format == "PNG"
    with pytest.raises(BadFile, match="no picture"):
        picture(data, "all.zip", 3)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "TIFF", "GIF", "BMP"])
def test_an_image_is_a_page_with_its_picture(kind: str) -> None:
    buffer = io.BytesIO()
    Image.new("RGB", (2000, 1000), "red").save(buffer, kind)
    page = read_bytes(buffer.getvalue(), "a.img").pages[0]
    assert page.pictures[0].size == (2000, 1000)
    assert page.warnings == ("This page is a picture: look at it.",)
    shown = Image.open(io.BytesIO(picture(buffer.getvalue(), "a.img", 1)))
    assert (shown.format, shown.size) == ("PNG", (1568, 784))


def test_a_picture_taken_sideways_is_shown_upright() -> None:
    buffer = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (40, 20)).save(buffer, "JPEG", exif=exif)
    assert read_bytes(buffer.getvalue(), "a.jpg").pages[0].pictures[0].size == (20, 40)
    assert Image.open(io.BytesIO(picture(buffer.getvalue(), "a.jpg", 1))).size == (20, 40)


def open_document(kind: str, body: str) -> bytes:
    names = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "text", "table")
    )
    content = (
        f"<office:document-content {names}><office:body><office:{kind}>{body}"
        f"</office:{kind}></office:body></office:document-content>"
    )
    mime = f"application/vnd.oasis.opendocument.{kind}"
    manifest = (
        '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
        "</manifest:manifest>"
    )
    return zipped(
        {
            "mimetype": mime.encode(),
            "META-INF/manifest.xml": manifest.encode(),
            "content.xml": b'<?xml version="1.0" encoding="UTF-8"?>' + content.encode(),
        }
    )


def test_odt_gives_text_tables_notes_and_no_deletions() -> None:
    body = """<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>
    <text:h text:outline-level="1">Title</text:h><text:p>Sales<text:s/>rose<text:note>
    <text:note-body><text:p>by 7%</text:p></text:note-body></text:note>.</text:p>
    <text:list><text:list-item><text:p>first</text:p></text:list-item></text:list>
    <table:table table:name="T"><table:table-row><table:table-cell><text:p>a</text:p>
    </table:table-cell><table:table-cell table:number-columns-repeated="9999999"/>
    </table:table-row></table:table>"""
    page = read_bytes(open_document("text", body), "a.odt").pages[0]
    assert page.text.split("\n") == [
        "## Title",
        "Sales rose [Note: by 7%].",
        "- first",
        "| a |",
    ]
    assert page.tables[0].title == "T"


def test_ods_is_a_workbook() -> None:
    body = """<table:table table:name="S"><table:table-row><table:table-cell
    office:value-type="string"><text:p>Net sales</text:p></table:table-cell><table:table-cell
    office:value-type="float" office:value="842.6"><text:p>843</text:p></table:table-cell>
    </table:table-row></table:table>"""
    flat = " ".join(body.split()).replace("> <", "><")
    page = read_bytes(open_document("spreadsheet", flat), "a.ods").pages[0]
    assert page.tables[0].rows == (("Net sales", "842.6"),)


def test_rtf_gives_its_text_in_its_code_page() -> None:
    source = (
        rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}{\*\generator x;}Caf\'e9 \u8364?5"
        rb"\par {\deleted gone}{\b bold}\tab end\par a\cell b\cell\row}"
    )
    assert read_bytes(source, "a.rtf").pages[0].text == "Café €5\nbold\tend\na | b | "


@given(st.binary(max_size=300))
def test_any_rtf_gives_some_text(tail: bytes) -> None:
    plain_text(b"{\\rtf1 " + tail).encode("utf-8", "replace")


def test_json_gives_rows_of_objects_and_of_columns() -> None:
    value = {
        "cik": "0001318605",
        "recent": {"form": ["10-K", "10-Q"], "size": [1.50, 20]},
        "facts": [{"end": "2022-01-29", "val": 4462383000}, {"end": "2021-01-30", "fp": "FY"}],
    }
    page = read_bytes(json.dumps(value).encode(), "a.json").pages[0]
    assert [table.title for table in page.tables] == ["recent", "facts"]
    assert page.tables[1].rows[1:] == (
        ("2022-01-29", "4462383000", ""),
        ("2021-01-30", "", "FY"),
    )
    assert page.text.split("\n")[0] == "cik: 0001318605"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
)


def _leaves(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in _leaves(item)]
    if isinstance(value, list):
        return [leaf for item in value for leaf in _leaves(item)]
    return [scalar(value)]


@given(st.dictionaries(st.text(min_size=1, max_size=4), _JSON, min_size=1, max_size=4))
def test_no_value_of_any_json_is_lost(value: dict[str, Any]) -> None:
    from deskwork.tools.readers.source import Source
    from deskwork.tools.readers.structured import read

    wanted = [word for leaf in _leaves(value) for word in leaf.split()]
    try:
        document = read(Source("a.json", "json", json.dumps(value).encode()))
    except BadFile:
        assert not wanted
        return
    text = "\n".join(page.text for page in document.pages).replace("\\|", "|")
    assert [word for word in wanted if word not in text] == []


@pytest.mark.parametrize(
    ("text", "scale", "sign", "value"),
    [
        ("15", "6", "-", "-15000000"),
        ("22,496", "6", "", "22496000000"),
        ("41.5", "-2", "", "0.415"),
        ("0.52", "0", "-", "-0.52"),
        ("—", "6", "", "0"),
        ("none", "6", "", "none"),
        ("1", "999999", "", "1"),
    ],
)
def test_scale_and_sign_of_facts(text: str, scale: str, sign: str, value: str) -> None:
    assert scaled(text, scale, sign) == value


@given(st.decimals(-(10**9), 10**9, places=2), st.integers(-9, 12))
def test_scale_is_a_power_of_ten(value: Any, scale: int) -> None:
    from decimal import Decimal

    assert Decimal(scaled(f"{abs(value):,}", str(scale), "-")) == -abs(value) * Decimal(10) ** scale


@pytest.mark.parametrize(
    ("line", "unit"),
    [
        (
            "Balance sheet - USD ($) shares in Thousands, $ in Millions",
            "shares in Thousands, $ in Millions",
        ),
        ("(In millions, except per share amounts)", "In millions"),
        ("(Rs. in crores)", "Rs. in crores"),
        ("Umsatz in Mio. €", "in Mio. €"),
        ("We sold millions of shoes", ""),
        ("Net sales rose in 2025", ""),
    ],
)
def test_units_are_told_by_titles(line: str, unit: str) -> None:
    assert unit_of([line]) == unit


def test_old_word_files_are_refused_by_name() -> None:
    with pytest.raises(BadFile, match="before 2007"):
        read_bytes(
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "WordDocument".encode("utf-16-le"), "a.doc"
        )


def test_a_word_file_with_controls_and_nested_tables() -> None:
    import docx as word

    document = word.Document()
    table = document.add_table(rows=1, cols=2)
    table.cell(0, 0).text = "outer"
    inner = table.cell(0, 1).add_table(rows=1, cols=2)
    inner.cell(0, 0).text, inner.cell(0, 1).text = "in", "ner"
    document.sections[0].header.paragraphs[0].text = "Confidential"
    buffer = io.BytesIO()
    document.save(buffer)
    page = read_bytes(buffer.getvalue(), "a.docx").pages[0]
    assert page.text.split("\n") == [
        "| outer |  |",
        "| in | ner |",
        "## Headers and footers",
        "Confidential",
    ]


def test_a_message_of_outlook_is_read_with_its_attachments() -> None:
    data = message("Zahlung für März", "Bitte zahlen.\r\n\r\nAda", {"i.pdf": pdf([["Invoice 12"]])})
    document = read_bytes(data, "letter.msg")
    assert document.kind == "msg"
    assert document.pages[0].text.split("\n") == [
        "From: Ada <ada@example.org>",
        "To: Bo <bo@example.org>",
        "Date: 2025-11-30 12:00:00+00:00",
        "Subject: Zahlung für März",
        "",
        "Bitte zahlen.",
        "Ada",
    ]
    assert document.metadata["attachments"] == ["i.pdf"]
    assert document.pages[1].text == "Invoice 12"
