import io
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from deskwork.tools.errors import NotFound, ToolError
from deskwork.tools.library import Collection, Library
from tests.tools.made import SHARED, docx, needs_shared, pdf

PAGES = [
    ["Halden Instruments annual report 2025"],
    ["Net sales rose 7.8% to $842.6 million in fiscal 2025.", "The company has 2,940 employees."],
    [
        "Consolidated Statements of Cash Flows",
        "Net income 101.7 78.9",
        "Depreciation and amortization 38.2 36.0",
        "Net cash provided by operating activities 134.4 119.1",
        "Purchases of property, plant and equipment (64.8) (47.1)",
        "Net cash used in investing activities (86.8) (47.1)",
        "Net cash used in financing activities (55.1) (46.2)",
        "Cash at end of year 120.9 128.4",
    ],
    ["Property, plant and equipment is depreciated over 3 to 40 years.", "We own plants."],
]


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    folder = tmp_path_factory.mktemp("files")
    (folder / "halden_2025.pdf").write_bytes(pdf(PAGES))
    (folder / "orrin_2025.pdf").write_bytes(
        pdf([[line.replace("Halden", "Orrin") for line in page] for page in PAGES])
    )
    (folder / "memo.docx").write_bytes(docx(["The plant in Tromsdal opens in spring 2026."]))
    return Library(tmp_path_factory.mktemp("home")).collect([folder])


def test_a_question_in_other_words_finds_the_line(
    collection: Collection,
) -> None:
    first = collection.search("What was capex in 2025?", file="halden_2025.pdf")[0]
    assert (first.page, "Purchases of property, plant and equipment (64.8)" in first.snippet) == (
        3,
        True,
    )


def test_the_company_named_is_preferred(collection: Collection) -> None:
    for company in ("halden", "orrin"):
        hits = collection.search(f"capital expenditures of {company.title()}", top=2)
        assert hits[0].file == f"{company}_2025.pdf"
        assert hits[0].score >= hits[1].score


def test_first_pages_tell_the_company_where_names_dont(tmp_path: Path) -> None:
    (tmp_path / "1.pdf").write_bytes(pdf(PAGES))
    other = [[line.replace("Halden", "Orrin") for line in page] for page in PAGES]
    (tmp_path / "2.pdf").write_bytes(pdf(other))
    collection = Library(tmp_path / "home").collect([tmp_path / "1.pdf", tmp_path / "2.pdf"])
    assert collection.search("What was the net income of Halden?")[0].file == "1.pdf"
    assert collection.search("What was the net income of Orrin?")[0].file == "2.pdf"


def test_the_year_asked_for_is_preferred(tmp_path: Path) -> None:
    for year in (2023, 2024, 2025):
        (tmp_path / f"halden_{year}.pdf").write_bytes(pdf(PAGES))
        (tmp_path / f"halden_{year}.pdf").open("ab").write(b"%" + str(year).encode())
    collection = Library(tmp_path / "home").collect(sorted(tmp_path.glob("*.pdf")))
    for year in (2023, 2024, 2025):
        assert collection.search(f"Halden FY{year} capex")[0].file == f"halden_{year}.pdf"


def test_no_match_is_an_empty_list(collection: Collection) -> None:
    assert collection.search("zygomorphic") == []
    assert collection.search("") == []
    assert collection.search("?!") == []


# What FTS5 would take as syntax.
OPERATORS = ['"', "NEAR(a b)", "a AND", "text:x*", "-", "^x"]


@settings(max_examples=150, deadline=20_000)
@given(query=st.text(max_size=60) | st.sampled_from(OPERATORS))
def test_no_query_breaks_the_search(collection: Collection, query: str) -> None:
    for hit in collection.search(query, top=3):
        assert "\n" not in hit.snippet


def test_a_quote_comes_back_in_the_sources_words(collection: Collection) -> None:
    evidence = collection.find_quote("halden_2025.pdf", 2, "rose  7.8%\nto $842.6 million")
    assert evidence.quote == "rose 7.8% to $842.6 million"
    text = collection.page("halden_2025.pdf", 2).text
    assert text[evidence.start :].startswith(evidence.quote)
    assert evidence == collection.find_quote("halden_2025.pdf", None, evidence.quote)
    assert evidence.id[0] == "E"
    assert len(evidence.id) == 9
    # The same words in another file are other evidence.
    assert collection.find_quote("orrin_2025.pdf", 2, evidence.quote).id != evidence.id


def test_a_quote_is_refused_with_the_way_to_mend_it(collection: Collection) -> None:
    with pytest.raises(ToolError, match=r"not on page 1 of halden_2025\.pdf, but on page 2"):
        collection.find_quote("halden_2025.pdf", 1, "The company has 2,940 employees.")
    with pytest.raises(ToolError, match="closest passage is on page 2: “The company has 2,940"):
        collection.find_quote("halden_2025.pdf", 2, "The company has 2,490 employees.")
    with pytest.raises(ToolError, match="nothing there is like it"):
        collection.find_quote("halden_2025.pdf", 2, "An entirely invented sentence.")
    with pytest.raises(ToolError, match="too short"):
        collection.find_quote("halden_2025.pdf", 2, "employees")
    with pytest.raises(NotFound, match=r"has no page 5\. Its pages are 1 to 4"):
        collection.find_quote("halden_2025.pdf", 5, "The company has 2,940 employees.")


def test_only_pdf_pages_have_pictures(collection: Collection) -> None:
    assert Image.open(io.BytesIO(collection.picture("halden_2025.pdf", 2))).format == "PNG"
    with pytest.raises(ToolError, match=r"no picture\. Use read_document"):
        collection.picture("memo.docx", 1)


def test_a_file_that_changed_gives_no_picture(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf([["One"]]))
    collection = Library(tmp_path / "home").collect([path])
    path.write_bytes(pdf([["Two"]]))
    with pytest.raises(ToolError, match="has changed since it was indexed"):
        collection.picture("a.pdf", 1)
    assert collection.page("a.pdf", 1).text == "One"


def test_threads_share_a_collection(collection: Collection) -> None:
    wrong: list[object] = []

    def work() -> None:
        for _ in range(5):
            if collection.search("capex", file="halden_2025.pdf")[0].page != 3:
                wrong.append("search")
            if not collection.picture("halden_2025.pdf", 2).startswith(b"\x89PNG"):
                wrong.append("picture")

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not wrong
    assert not any(thread.is_alive() for thread in threads)


@needs_shared
def test_a_real_filing(tmp_path: Path) -> None:
    filings = SHARED / "financebench" / "pdfs"
    names = ["AMCOR_2023Q4_EARNINGS.pdf", "COSTCO_2021_10K.pdf", "ULTABEAUTY_2023Q4_EARNINGS.pdf"]
    collection = Library(tmp_path).collect([filings / name for name in names])
    hits = collection.search("How much total assets did Costco have at the end of FY2021?", top=3)
    assert ("COSTCO_2021_10K.pdf", 38) in [(hit.file, hit.page) for hit in hits]
    evidence = collection.find_quote("COSTCO_2021_10K.pdf", 38, "TOTAL ASSETS $ 59,268")
    assert evidence.sha256 == collection.file("COSTCO_2021_10K.pdf").sha256
    with pytest.raises(ToolError, match="The quote is not on page 38"):
        collection.find_quote("COSTCO_2021_10K.pdf", 38, "TOTAL ASSETS $ 59,286")
