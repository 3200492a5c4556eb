import pytest

from deskwork.tools.documents import Document
from deskwork.tools.errors import BadFile
from deskwork.tools.readers import read_bytes
from tests.tools.made import pdf


def test_the_kind_comes_from_the_bytes_not_from_the_name() -> None:
    assert read_bytes(pdf([["Text"]]), "wrong.txt").kind == "pdf"
    assert read_bytes(b"<!DOCTYPE html><p>Hello there", "page.txt").kind == "html"
    assert read_bytes(b"Just text", "file.pdf").kind == "text"
    with pytest.raises(BadFile, match="of no kind that can be read"):
        read_bytes(bytes(range(256)) * 4, "noise.pdf")


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
