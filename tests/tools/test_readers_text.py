import csv
import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskwork.tools.documents import Document
from deskwork.tools.errors import BadFile
from deskwork.tools.readers import read_bytes
from deskwork.tools.readers.encodings import decode
from deskwork.tools.readers.kinds import sniff
from tests.tools.made import pdf


def test_the_kind_comes_from_the_bytes_not_from_the_name() -> None:
    assert read_bytes(pdf([["Text"]]), "wrong.txt").kind == "pdf"
    assert read_bytes(b"<!DOCTYPE html><p>Hello there", "page.txt").kind == "html"
    assert read_bytes(b"Just text", "file.pdf").kind == "text"
    with pytest.raises(BadFile, match="of no kind that can be read"):
        read_bytes(bytes(range(256)) * 4, "noise.pdf")


def test_what_a_file_begins_with_wins_over_what_is_stored_in_it() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("a.pdf", pdf([["first invoice"]]))
        archive.comment = b"%%EOF"
    assert b"%PDF-" in buffer.getvalue()[:1024]
    assert sniff(buffer.getvalue(), "batch.zip") == "zip"
    assert sniff(b"junk before\n" + pdf([["a page"]]), "a.pdf") == "pdf"


def test_csv_with_semicolons_and_a_western_encoding() -> None:
    page = read_bytes("Land;Umsatz\nÖsterreich;1.234,5\n".encode("cp1252"), "a.csv").pages[0]
    assert page.text == "| Land | Umsatz |\n| Österreich | 1.234,5 |"


def test_every_page_of_a_long_csv_begins_with_the_header() -> None:
    rows = "\n".join(f"row {number},{number}" for number in range(2000))
    document = read_bytes(f"name,value\n{rows}\n".encode(), "long.csv")
    assert len(document.pages) > 3
    assert {page.text.split("\n")[0] for page in document.pages} == {"| name | value |"}
    kept = sum(len(page.tables[0].rows) - 1 for page in document.pages)
    assert kept == 2000


def test_html_keeps_text_and_rows_and_drops_what_is_not_shown() -> None:
    source = b"""<html><head><title>Q3</title><style>p {}</style></head><body>
    <nav>Menu</nav><h2>Results</h2><p>Sales rose <b>7.8%</b>.</p><div style="display:none">x</div>
    <script>var a = 1</script>
    <table><tr><td>Net income</td><td>$</td><td>101.7</td><td></td><td>(</td><td>5.0</td><td>)</td>
    </tr><tr><td>Other</td><td>2</td></tr></table></body></html>"""
    document = read_bytes(source, "q3.html")
    assert document.metadata == {"title": "Q3"}
    assert document.pages[0].text.split("\n") == [
        "## Results",
        "Sales rose 7.8%.",
        "| Net income | $101.7 | (5.0) |",
        "| Other | 2 |",
    ]


def test_text_of_white_space_is_empty() -> None:
    with pytest.raises(BadFile, match="is empty"):
        read_bytes(b" \n\t\n", "blank.txt")


def test_a_document_comes_back_from_its_json() -> None:
    for data, name in ((b"a,b\n1,2\n", "t.csv"), (pdf([["Text"], []]), "t.pdf")):
        document = read_bytes(data, name)
        assert Document.from_json(document.to_json(boxes=True)) == document


def test_json_has_the_shape_of_the_contract() -> None:
    value = read_bytes(b"a,b\n1,2\n", "t.csv").to_json()
    assert set(value) == {"file", "kind", "warnings", "metadata", "pages"}
    assert value["pages"][0]["number"] == 1
    assert {"number", "text", "tables", "pictures", "warnings"} <= set(value["pages"][0])
    assert value["pages"][0]["tables"][0]["rows"] == [["a", "b"], ["1", "2"]]


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("utf-8", "Österreich zahlt 5 €"),
        ("utf-8-sig", "Österreich zahlt 5 €"),
        ("utf-16", "Österreich zahlt 5 €"),
        ("utf-16-le", "Revenue rose to 12 million"),
        ("utf-32", "Revenue rose"),
        ("cp1252", "Österreich zahlt “5 €” für das Café"),
        ("cp1251", "Выручка компании выросла на двенадцать процентов за отчётный период"),
        ("shift_jis", "売上高は前年同期比で増加しました。営業利益は減少しました。"),
        ("gb18030", "公司的收入比去年同期增长了百分之十二，净利润有所下降。"),
    ],
)
def test_text_is_read_in_its_real_encoding(encoding: str, text: str) -> None:
    assert read_bytes(f"{text}\n".encode(encoding) * 3, "a.txt").pages[0].text.startswith(text)


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=60))
def test_any_text_in_utf_8_comes_back(text: str) -> None:
    # U+FEFF at the start is the mark itself.
    assert decode(text.encode())[0] == text.removeprefix("\ufeff")


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_csv_in_each_dialect(mark: str) -> None:
    rows = [["Name", "Value"], [f"a{mark}b", "1"], ['say "x"', "2"], ["two\nlines", "3"]]
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=mark).writerows(rows)
    table = read_bytes(buffer.getvalue().encode(), "a.csv").pages[0].tables[0]
    assert [list(row) for row in table.rows] == rows


def test_inline_xbrl_gives_facts_with_scale_and_sign() -> None:
    source = b"""<html xmlns:ix="http://www.xbrl.org/2013/inlineXBRL"><body><ix:header>
    <ix:resources><xbrli:context id="c"><xbrli:period><xbrli:startdate>2025-01-01</xbrli:startdate>
    <xbrli:enddate>2025-06-30</xbrli:enddate></xbrli:period></xbrli:context>
    <xbrli:unit id="u"><xbrli:measure>iso4217:USD</xbrli:measure></xbrli:unit></ix:resources>
    </ix:header><table><tr><td>Loss</td><td>(<ix:nonFraction contextRef="c" unitRef="u"
    name="us-gaap:Loss" scale="6" sign="-">1,577</ix:nonFraction>)</td></tr>
    <tr><td>a</td><td>b</td></tr></table></body></html>"""
    document = read_bytes(source, "q.html")
    assert document.metadata["facts"] == 1
    assert "| Loss | (1,577) |" in document.pages[0].text
    assert document.pages[1].tables[0].rows[1] == (
        "us-gaap:Loss",
        "2025-01-01 to 2025-06-30",
        "",
        "USD",
        "-1577000000",
    )


@pytest.mark.parametrize(
    ("page", "told"),
    [
        (b"<html><h1>Your Request Originates from an Undeclared Automated Tool</h1></html>", True),
        (b"<html><title>403 Forbidden</title><h1>403 Forbidden</h1></html>", True),
        (b"<html><title>Just a moment...</title><p>Wait</p></html>", True),
        (
            b"<html><title>Annual report</title><p>We sold 403 shops; growth forbidden.</html>",
            False,
        ),
    ],
)
def test_a_refusal_of_a_server_is_no_document(page: bytes, told: bool) -> None:
    warnings = read_bytes(page, "a.html").warnings
    assert bool(warnings) == told


def test_headings_of_an_html_table_stand_over_what_they_span() -> None:
    source = b"""<table><tr><td></td><td></td><td colspan=5>Three Months Ended<br>June 30,</td></tr>
    <tr><td>(in millions)</td><td></td><td colspan=2>2025</td><td></td><td colspan=2>2024</td></tr>
    <tr><td>Revenues</td></tr>
    <tr><td>Sales</td><td></td><td>$</td><td>15,787</td><td></td><td>$</td><td>18,530</td></tr>
    <tr><td>Loss</td><td></td><td colspan=2>(7</td><td>)</td><td colspan=2>&#8212;</td></tr>
    </table>"""
    (page,) = read_bytes(source, "q.html").pages
    assert page.tables[0].rows == (
        ("", "Three Months Ended June 30,", "Three Months Ended June 30,"),
        ("(in millions)", "2025", "2024"),
        ("Revenues", "", ""),
        ("Sales", "$15,787", "$18,530"),
        ("Loss", "(7)", "—"),
    )
    assert "| Sales | $15,787 | $18,530 |" in page.text


def test_a_cell_that_spans_rows_takes_its_place_in_each() -> None:
    source = b"""<table><tr><td rowspan=2>North</td><td>2025</td><td>1</td></tr>
    <tr><td>2024</td><td>2</td></tr><tr><td>South</td><td>2025</td><td>3</td></tr></table>"""
    (page,) = read_bytes(source, "r.html").pages
    assert page.tables[0].rows == (
        ("North", "2025", "1"),
        ("", "2024", "2"),
        ("South", "2025", "3"),
    )
