"""The 50 real files: what is true of each, read as ``deskwork read FILE --json`` gives it.

The files stay where they are (``DESKWORK_SHARED``); the truths were checked against them by other
libraries, and are written down in the ``index.json`` beside them.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest

from deskwork.tools.errors import BadFile
from deskwork.tools.readers import ocr, read
from tests.conftest import SHARED

CORPUS = SHARED / "corpus"
Json = dict[str, Any]
Truth = Callable[[Json], None]


def text_of(document: Json) -> str:
    return "\n".join(page["text"] for page in document["pages"])


def rows_of(document: Json) -> list[list[str]]:
    return [row for page in document["pages"] for table in page["tables"] for row in table["rows"]]


def warnings_of(document: Json) -> str:
    told = [*document["warnings"], *(w for page in document["pages"] for w in page["warnings"])]
    return "\n".join(told)


def page_has(number: int, *parts: str, pages: int | None = None) -> Truth:
    """The page holds all the parts; with ``pages``, the document has that many."""

    def check(document: Json) -> None:
        text = document["pages"][number - 1]["text"]
        assert [part for part in parts if part not in text] == []
        if pages is not None:
            assert len(document["pages"]) == pages

    return check


def has(*parts: str) -> Truth:
    def check(document: Json) -> None:
        text = text_of(document)
        assert [part for part in parts if part not in text] == []

    return check


def has_rows(*rows: list[str]) -> Truth:
    """Each row stands in a table, its cells side by side."""

    def check(document: Json) -> None:
        found = rows_of(document)
        for row in rows:
            assert any(
                row == there[at : at + len(row)] for there in found for at in range(len(there))
            ), row

    return check


def warns(*parts: str) -> Truth:
    def check(document: Json) -> None:
        told = warnings_of(document)
        assert [part for part in parts if part not in told] == []

    return check


def sheets(count: int) -> Truth:
    return lambda document: _equal(len(document["pages"]), count)


def once(part: str) -> Truth:
    return lambda document: _equal(text_of(document).count(part), 1)


def metadata(name: str, value: Any) -> Truth:
    return lambda document: _equal(document["metadata"].get(name), value)


def pictures(*sizes: list[int]) -> Truth:
    """Every page has one picture, of these sizes in pixels."""

    def check(document: Json) -> None:
        found = [page["pictures"][0] for page in document["pages"]]
        assert [picture["size"] for picture in found] == list(sizes)

    return check


def _equal(found: Any, wanted: Any) -> None:
    assert found == wanted


def attached(document: Json) -> None:
    assert document["metadata"]["attachments"] == ["image.png"]
    part = next(part for part in document["metadata"]["parts"] if part["file"] == "image.png")
    assert (part["bytes"], part["kind"], part["state"]) == (6669, "image", "ready")
    page = document["pages"][part["pages"][0] - 1]
    assert page["title"] == "image.png"
    assert page["pictures"]


def two_tables(document: Json) -> None:
    shapes = [
        [len(table["rows"]), max(map(len, table["rows"]))]
        for table in document["pages"][0]["tables"]
    ]
    assert shapes == [[9, 2], [13, 10]]


def the_letters(document: Json) -> None:
    lines = [line.strip("- ") for line in document["pages"][0]["text"].split("\n")]
    assert sorted(line for line in lines if len(line) == 1) == list("ABCDEFGHIJ")


def facts(document: Json) -> None:
    assert document["metadata"]["facts"] == 1102
    found = rows_of(document)
    # Written as (15) in millions, with the brackets outside the tag: scale and sign applied.
    values = {row[-1] for row in found if len(row) == 5}
    assert {"22496000000", "3225448889"} <= values
    assert any(value.startswith("-") for value in values)


def filings(document: Json) -> None:
    forms = next(
        table
        for page in document["pages"]
        for table in page["tables"]
        if "accessionNumber" in table["rows"][0]
    )
    title = forms["title"]
    count = sum(
        len(table["rows"]) - 1
        for page in document["pages"]
        for table in page["tables"]
        if table["title"] == title
    )
    assert (title, count) == ("filings.recent", 1001)
    assert "CIK0001318605-submissions-001.json" in text_of(document)
    assert "347" in text_of(document)


def company_facts(document: Json) -> None:
    count = sum(
        len(table["rows"]) - 1
        for page in document["pages"]
        for table in page["tables"]
        if table["title"].startswith("facts.")
    )
    assert count == 8053
    found = [
        row
        for row in rows_of(document)
        if row[:2] == ["2021-01-31", "2022-01-29"] and row[2] in ("4462383000", "4462400000")
    ]
    assert {(row[2], row[4], row[7]) for row in found} >= {
        ("4462383000", "2022", "2022-03-10"),
        ("4462400000", "2023", "2023-03-09"),
        ("4462400000", "2024", "2024-03-13"),
    }
    # A line that is quoted names its concept and unit itself.
    revenue = "us-gaap:RevenueFromContractWithCustomerExcludingAssessedTax"
    assert {row[-2:] == [revenue, "USD"] for row in found} == {True}


def the_handbook(document: Json) -> None:
    lines = text_of(document)
    assert len(lines) > 800_000
    assert sum(len(page["tables"]) for page in document["pages"]) == 2
    assert "## Footnotes" in lines


TRUTHS: dict[str, list[Truth]] = {
    "ULTABEAUTY_2023Q4_EARNINGS.pdf": [
        page_has(6, "3,226,773", "In thousands"),
        page_has(1, "Fourth Quarter", "Fiscal 2022"),
    ],
    "AMCOR_2023Q4_EARNINGS.pdf": [page_has(8, "14,694", "(300)")],
    "APPLE_2023Q3_10Q.pdf": [page_has(4, "81,797", "293,787"), metadata("encrypted", True)],
    "3M_2018_10K.pdf": [page_has(60, "(1,577) (1,373) (1,420)", pages=160)],
    "INTEL_2022Q4_EARNINGS.pdf": [page_has(9, "182,103", "168,406", "13,224")],
    "nics-background-checks-2015-11-rotated.pdf": [page_has(1, "2,236,457"), warns("turned by 90")],
    "federal-register-2020-17221.pdf": [page_has(2, "Vol. 85, No. 152", pages=15)],
    "Seige_of_Vicksburg_Sample_OCR.pdf": [page_has(1, "VICKSBURG", pages=6), warns("OCR")],
    "habibi-rotated.pdf": [
        page_has(2, "habibi", pages=4),
        warns("turned by 90", "turned by 180", "turned by 270"),
    ],
    "with-attachment.pdf": [attached],
    "SPARSE-2024-INV-1234_borderless_table.pdf": [page_has(1, "$4,287.50", "97.2%", pages=2)],
    "anticlockwise_table_1.pdf": [page_has(1, "Kerala 5738 6633 8864 8297"), warns("sideways")],
    "budget.pdf": [page_has(1, "10446.59", "crores", pages=1)],
    "china.pdf": [two_tables],
    "korean-text-with-tables.pdf": [has("삼성카드")],
    "pdf2image-memory-error-test-400p.pdf": [lambda document: _equal(len(document["pages"]), 400)],
    "layout-parser-paper-combined.tiff": [pictures([612, 792], [791, 1024])],
    "track_changes_insertion.docx": [
        lambda document: _equal(text_of(document), "This is a text with two exciting insertions."),
        warns("tracked changes"),
    ],
    "notes.docx": [has("My note.", "This is an endnote at the end of the document.")],
    "comments.docx": [has("I left a comment.")],
    "textbox.docx": [once("Student falls ill")],
    "Strict.docx": [has("Some text")],
    "handbook-872p.docx": [the_handbook],
    "protect.xlsx": [
        lambda document: _equal(document["metadata"]["sheets"], ["Лист1", "Лист2", "Лист3"])
    ],
    "vodafone.xlsx": [has("Nine quarters to 30 June 2023")],
    "Financial_Report.xlsx": [
        page_has(2, "| 95359 | 90753 | 219659 | 210328 |", pages=42),
        lambda document: _equal(
            document["pages"][1]["tables"][0]["unit"],
            "shares in Thousands, $ in Millions",
        ),
    ],
    "date_1904.xlsx": [has("| 2021-01-01 |")],
    "errors.xlsx": [
        has("#DIV/0!"),
        lambda document: _equal(document["pages"][0]["tables"][0]["formulas"]["A1"], "=5/0"),
    ],
    "TwoSheetsOneHidden.xlsx": [warns("'Sheet1' is hidden")],
    "ExcelPivotTableSample.xlsx": [has_rows(["1", "2022-01-01"]), sheets(3), warns("pivot table")],
    "xls_wrong_decimals.xls": [has_rows(["0.525625"])],
    "pptx_chart.pptx": [page_has(1, "| Freshwater Ducks | 120 | 130 | 150 | 175 |")],
    "group-shapes-nested.pptx": [the_letters],
    "sld-notes.pptx": [page_has(1, "Notes")],
    "fake-power-point-table.pptx": [has_rows(["Tangerine", "Pink", "Aqua"])],
    "tsla-10-q-2025-07-24.html": [
        has("22,496", "25,500", "41,831", "46,801", "3,225,448,889"),
        facts,
    ],
    "OracleTable.html": [has("$121.76", "7,065.6")],
    "rate-exceeded.html": [has("10 requests per second", "10 minutes"), warns("error page")],
    "company_submission.json": [filings],
    "companyfacts_CIK0001835632_MRVL.json": [company_facts],
    "fake-email-attachment.eml": [
        metadata("attachments", ["fake-attachment.txt"]),
        lambda document: _equal(document["metadata"]["parts"][0]["state"], "ready"),
    ],
}
READ_BY_OCR: dict[str, tuple[str, ...]] = {
    "rotated_skew.pdf": ("LinnSequencer",),
    "truetype_font_nomapping.pdf": ("Phone",),
    "ocr_test_rotated_90.pdf": ("Docling bundles PDF document conversion",),
    "pdf_scanned_invoice.pdf": ("INV-2024-001", "$5,000.00"),
    "qr_bill_example.jpg": ("Robert Schneider AG", "01.07.2020"),
    "table-multi-row-column-cells.png": ("Ballots", "Blind"),
}
# Without OCR each says what it lacks, or that its text isn't to be trusted.
UNREAD: dict[str, str] = {
    "rotated_skew.pdf": "no text layer",
    "truetype_font_nomapping.pdf": "text layer",
    "ocr_test_rotated_90.pdf": "no text layer",
    "pdf_scanned_invoice.pdf": "no text layer",
    "qr_bill_example.jpg": "picture",
    "table-multi-row-column-cells.png": "picture",
}
REFUSED: dict[str, str] = {
    "empty.pdf": r"empty \(0 bytes\)",
    "password-example.pdf": "is locked: it needs a password",
    "pass_protected.xlsx": "is locked: it needs a password",
}


def read_json(name: str, **options: Any) -> Json:
    """The document as the command prints it, through JSON and back."""
    path = CORPUS / name
    if not path.exists():
        pytest.skip(f"{path} is missing (set DESKWORK_SHARED)")
    value: Json = json.loads(json.dumps(read(path, **options).to_json()))
    return value


@pytest.mark.parametrize("name", TRUTHS)
def test_truth(name: str) -> None:
    document = read_json(name)
    for check in TRUTHS[name]:
        check(document)


@pytest.mark.parametrize("name", READ_BY_OCR)
def test_truth_by_ocr(name: str) -> None:
    if not ocr.installed():
        pytest.skip("OCR is not installed: pip install 'deskwork[ocr]'")
    has(*READ_BY_OCR[name])(read_json(name, ocr=True))


@pytest.mark.parametrize("name", UNREAD)
def test_truth_without_ocr(name: str) -> None:
    document = read_json(name)
    warns(UNREAD[name])(document)
    assert document["pages"][0]["pictures"]


@pytest.mark.parametrize("name", REFUSED)
def test_truth_of_refused(name: str) -> None:
    with pytest.raises(BadFile, match=REFUSED[name]):
        read_json(name)


def test_truth_with_the_password() -> None:
    document = read_json("password-example.pdf", password="test")
    page_has(1, "Backup4all", pages=4)(document)


def test_every_file_of_the_corpus_has_a_truth_here() -> None:
    if not CORPUS.is_dir():
        pytest.skip(f"{CORPUS} is missing (set DESKWORK_SHARED)")
    names = {entry["file"] for entry in json.loads((CORPUS / "index.json").read_text())}
    assert names == {*TRUTHS, *READ_BY_OCR, *REFUSED}
