"""Texts that a model may write and a form may stumble over: nothing of them is lost."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import docx
import openpyxl
import pytest
from pypdf import PdfReader

from deskwork.tasks.claims import Claim
from deskwork.tasks.publishing import Published as Made
from deskwork.tasks.publishing import publish
from deskwork.tasks.publishing.blocks import blocks_of
from deskwork.tasks.publishing.dialect import rendered
from tests.publishing.conftest import Published
from tests.publishing.test_forms import W

FORMS = ("md", "html", "docx", "pdf")


def made(published: Published, folder: Path, text: str, **fields: Any) -> Made:
    """All forms of another text over the same documents."""
    given: dict[str, Any] = {"claims": (), "charts": (), "conflicts": (), "notes": (), **fields}
    return publish(replace(published.report, text=text, **given), folder, published.collection)


def words_of(folder: Path, form: str) -> str:
    """What a reader of a form sees, on one line."""
    path = folder / f"report.{form}"
    if form == "docx":
        body = docx.Document(str(path)).element.body
        text = "".join(part.text or "" for part in body.iter(f"{W}t"))
    elif form == "pdf":
        text = " ".join(page.extract_text() for page in PdfReader(path).pages)
    else:
        text = path.read_text()
    return " ".join(text.split())


def test_a_picture_that_is_not_there_is_told_by_its_words(
    published: Published, tmp_path: Path
) -> None:
    text = "# A\n\nBefore it ![a plan](https://x.test/plan.png) and behind it.\n\n![](y.png)\n"
    assert made(published, tmp_path, text).problems == []
    for form in FORMS:
        words = words_of(tmp_path, form)
        assert all(part in words for part in ("Before it", "a plan", "and behind it")), form


def test_a_form_that_fails_keeps_none_of_the_others(published: Published, tmp_path: Path) -> None:
    (tmp_path / "report.pdf").write_bytes(b"of another day")
    (chart,) = published.report.charts
    text = f"# A\n\nIt rose.\n\n{{{chart.id}}}\n"
    done = made(published, tmp_path, text, charts=(replace(chart, png=b"no picture"),))
    assert [problem.split(" could")[0] for problem in done.problems] == [
        "report.docx",
        "report.pdf",
    ]
    assert [path.name for path in done.paths] == [
        *("report.md", "report.html", "report.xlsx", "report.json"),
    ]
    assert not (tmp_path / "report.pdf").exists()
    data = json.loads((tmp_path / "report.json").read_text())
    assert data["problems"] == done.problems


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(f"{'  ' * depth}- at depth {depth}." for depth in range(25)),
        "\n".join(f"{'> ' * depth}at depth {depth}.\n{'> ' * depth}" for depth in range(1, 25)),
        "\n".join(f"{'   ' * depth}1. at depth {depth}." for depth in range(25)),
        f"{'> ' * 3000}at depth 24.",
    ],
    ids=["lists", "quotes", "numbered", "hopeless"],
)
def test_what_is_nested_deep_is_not_lost(published: Published, tmp_path: Path, text: str) -> None:
    assert made(published, tmp_path, f"# A\n\n{text}\n").problems == []
    for form in FORMS:
        assert "at depth 24." in words_of(tmp_path, form), form


def test_a_repeated_sentence_is_marked_wherever_it_stands(
    published: Published, tmp_path: Path
) -> None:
    said = "It will grow by 55%."
    text = f"# A\n\n{said} Nobody knows.\n\n## B\n\n- {said}\n\nIt will\ngrow by 55%.\n"
    claims = tuple(Claim(s, (), "unsupported", "no source") for s in (said, f"- {said}", said))
    made(published, tmp_path, text, claims=claims)
    for form, mark in (("md", "**[not supported]**"), ("html", ">not supported<"),
                       ("docx", "[not supported]"), ("pdf", "[not supported]")):  # fmt: skip
        assert words_of(tmp_path, form).count(mark) == 3, form


def test_a_row_that_stands_in_one_table_and_not_in_another(
    published: Published, tmp_path: Path
) -> None:
    row = "| Net sales | 8,426 |"
    table = f"| | 2025 |\n|---|---|\n{row}\n"
    claims = (Claim(row, (), "supported"), Claim(row, (), "unsupported", "of another year"))
    made(published, tmp_path, f"# A\n\n{table}\nand\n\n{table}", claims=claims)
    text = (tmp_path / "report.md").read_text()
    assert f"{row}\n\nand" in text
    assert text.count("[not supported]") == 1


def test_what_the_check_marked_is_told_first(published: Published, tmp_path: Path) -> None:
    claim = Claim("It grew by {F00000000}.", (), "unsupported", "{F00000000} is unknown")
    made(published, tmp_path, f"# A\n\n{claim.text}\n\nThe end.\n", claims=(claim,))
    said = "The check marked 1 claim"
    for form in FORMS:
        words = words_of(tmp_path, form)
        assert words.index(said) < words.index("The end."), form
        assert "an unknown figure is unknown" in words, form
    assert "[Checked, and not in order](#checked-and-not-in-order)" in words_of(tmp_path, "md")
    assert '<a href="#checked">' in words_of(tmp_path, "html")
    assert 'id="checked"' in words_of(tmp_path, "html")
    anchors = docx.Document(str(tmp_path / "report.docx")).element.body
    assert [link.get(f"{W}anchor") for link in anchors.iter(f"{W}hyperlink")] == ["checked"]
    assert [mark.get(f"{W}name") for mark in anchors.iter(f"{W}bookmarkStart")] == ["checked"]
    book = openpyxl.load_workbook(tmp_path / "report.xlsx")
    cell = book.worksheets[0]["A4"]
    assert (cell.value, cell.hyperlink.location) == (said, "'Claims'!A1")
    assert book["Claims"]["A2"].value == "It grew by an unknown figure."


def test_notes_struck_words_and_line_ends(published: Published, tmp_path: Path) -> None:
    text = (
        "# A\n\nIt rose[^1] a lot<br>in ~~2024~~ 2025.\n\n| a | b<br>c |\n|---|---|\n| x | 1,0 |\n"
        "\n[^1]: Restated.\n[^2]: Never\n    mentioned.\n"
    )
    assert made(published, tmp_path, text).problems == []
    for form in ("html", "docx", "pdf"):
        words = words_of(tmp_path, form)
        assert not any(raw in words for raw in ("~~", "&lt;br", "<br>", "[^", "^1")), form
        assert "Restated." in words, form
        assert "Never mentioned." in words, form
    page = words_of(tmp_path, "html")
    assert '<sup><a href="#note-a">a</a></sup>' in page
    assert 'id="note-a"' in page
    assert "<s>2024</s>" in page
    struck = [r.text for p in docx.Document(str(tmp_path / "report.docx")).paragraphs
              for r in p.runs if r.font.strike]  # fmt: skip
    assert struck == ["2024"]
    assert "[^1]: Restated." in (tmp_path / "report.md").read_text()


def test_code_and_brackets_behind_styles_are_no_commands(
    published: Published, tmp_path: Path
) -> None:
    text = "# A\n\n**Sales**(net) rose, *so*[they] `say`(in).Net ~~x~~.y #eval $1$ @a <b> \\\n"
    assert made(published, tmp_path, text).problems == []
    assert "Sales(net) rose, so[they] say(in).Net x.y" in words_of(tmp_path, "pdf")


def test_lists_are_numbered_each_from_its_own_beginning(
    published: Published, tmp_path: Path
) -> None:
    text = (
        "# A\n\n1. one\n\n   more of it\n2. two\n\nBetween.\n\n1. uno\n   - sub\n2. due\n\n4. c\n"
    )
    made(published, tmp_path, text)
    document = docx.Document(str(tmp_path / "report.docx"))
    lists = {
        paragraph.text: [int(part.get(f"{W}val") or 0) for part in numbering]
        for paragraph in document.paragraphs
        for numbering in paragraph._p.iter(f"{W}numPr")
    }
    assert lists["one"] == lists["two"]
    assert lists["uno"] == lists["due"]
    assert lists["one"] != lists["uno"]
    assert lists["sub"][0] == 1
    assert "more of it" not in lists
    words = words_of(tmp_path, "pdf")
    assert [words.count(part) for part in ("1. one", "2. two", "1. uno", "2. due")] == [1, 1, 1, 1]


def test_numbers_in_tables_stand_on_the_right(published: Published, tmp_path: Path) -> None:
    rows = "| Net sales | $8,426 million | (207) |\n| Margin | 7.8% | n/a |\n| Note | none | 1 |\n"
    text = f"# A\n\n| in millions | 2025 | 2024 |\n|---|---|---|\n{rows}"
    blocks = blocks_of(text)
    table = next(block for block in blocks if block.kind == "table")
    assert [[cell.right for cell in row] for row in table.rows] == [
        [False, False, True],
        [False, True, True],
        [False, True, True],
        [False, False, True],
    ]
    assert '<td style="text-align:right">7.8%</td>' in rendered(text)
    made(published, tmp_path, text)
    cells = docx.Document(str(tmp_path / "report.docx")).tables[0].rows[1].cells
    assert [cell.paragraphs[0].alignment for cell in cells] == [None, 2, 2]


def test_a_long_text_has_a_row_as_high_as_it_needs(published: Published, tmp_path: Path) -> None:
    claim = Claim("It is long. " * 40, (), "unsupported", "no source")
    made(published, tmp_path, "# A\n", claims=(claim,))
    sheet = openpyxl.load_workbook(tmp_path / "report.xlsx")["Claims"]
    lines = len(claim.text) / sheet.column_dimensions["A"].width
    assert (sheet.row_dimensions[2].height or 0) >= 15 * lines


def test_the_workbook_s_columns_fit_and_wrap(published: Published) -> None:
    book = openpyxl.load_workbook(published.folder / "report.xlsx")
    claims = book["Claims"]
    assert claims["A2"].alignment.wrap_text
    assert claims.column_dimensions["A"].width >= 40
    texts = [str(cell.value) for row in claims.iter_rows() for cell in row[:3]]
    assert not any("{F" in text for text in texts)
    assert any("Net sales were $8,426 million in 2025" in text for text in texts)
    figures = book["Figures"]
    amount = next(cell for cell in figures[2] if cell.value == 8_426_000_000)
    assert amount.number_format == "#,##0"
    assert figures.column_dimensions[amount.column_letter].width >= 13


def test_sources_stand_behind_bound_figures_in_every_form(published: Published) -> None:
    for form in ("md", "html"):
        words = words_of(published.folder, form)
        wanted = "than in 2024 [1]." if form == "md" else ">1</a>. They had been"
        assert wanted in words
    body = docx.Document(str(published.folder / "report.docx")).element.body
    paragraph = next(p for p in body.iter(f"{W}p") if "were $8,426" in "".join(p.itertext()))
    text = "".join(
        node.get(f"{W}id") or node.text or ""
        for node in paragraph.iter(f"{W}footnoteReference", f"{W}t")
    )
    assert "than in 2024[1]. They had been $7,813 million in 2024[1]." in text
    assert re.search(r"than in 2024 ?\[1\] ?\. They", words_of(published.folder, "pdf"))


def test_no_form_shows_the_ids_of_figures(published: Published) -> None:
    for form in ("md", "docx", "pdf"):
        words = words_of(published.folder, form)
        assert not any(figure in words for figure in published.figures), form
        assert "7.8% = ($8,426 million - $7,813 million) / $7,813 million" in words, form


def test_a_text_brings_no_script_into_the_page(published: Published, tmp_path: Path) -> None:
    text = (
        "# Sales <script>alert(1)</script>\n\n## Summary\n\nUp <img src=x onerror=alert(2)> and "
        "[here](javascript:alert(3)) and ![it](javascript:alert(4)).\n\n"
        "| a | b |\n|---|---|\n| <script>alert(5)</script> | <iframe src=//x.example> |\n\n"
        "```\n</pre><script>alert(6)</script>\n```\n\n## Limits\n\n<svg/onload=alert(7)>\n"
    )
    made(published, tmp_path, text)
    page = (tmp_path / "report.html").read_text()
    assert [f"alert({number})" in page for number in (1, 2, 5, 6, 7)] == [True] * 5
    tags = re.findall(r"<(?:script|img|iframe|svg)\b[^>]*>", page)
    assert not [tag for tag in tags if "alert" in tag or "x.example" in tag or tag == "<script>"]
    assert not re.findall(r"(?:href|src)=[\"']?\s*javascript:", page, re.I)
