"""Every form of a report, opened by another program than the one that wrote it."""

from __future__ import annotations

import json
import shutil
import subprocess
from decimal import Decimal
from pathlib import Path

import docx
import openpyxl
import pytest
from lxml import etree

from deskwork.tasks.publishing.book import book_of
from deskwork.tasks.report import Report
from deskwork.tools.figures import Figure
from deskwork.tools.formulas import Wanted, derive
from deskwork.tools.readers import read
from tests.publishing.conftest import Published

SOFFICE = shutil.which("soffice")
needs_libreoffice = pytest.mark.skipif(
    SOFFICE is None, reason="LibreOffice isn't installed (apt-get install libreoffice-writer)"
)
W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


def test_the_check_leaves_one_sentence_marked(published: Published) -> None:
    (rejected,) = [c for c in published.report.claims if c.status == "unsupported"]
    assert rejected.text == "- It will grow by 55%."


def test_markdown_prints_figures_from_the_ledger(published: Published) -> None:
    text = (published.folder / "report.md").read_text()
    assert "Net sales were $8,426 million in 2025, 7.8% more than in 2024 [1]." in text
    assert "It will grow by 55%. **[not supported]**" in text
    assert "## Computed figures" in text
    assert 'plan.xlsx, page 1, Plan!B2:C2: "Planned net sales | 9000"' in text
    assert "Not reviewed by a person." in text


def test_the_data_holds_the_contract_s_fields(published: Published) -> None:
    data = json.loads((published.folder / "report.json").read_text())
    figure = next(row for row in data["figures"] if row["formula"].startswith("(F"))
    assert {"id", "label", "value", "unit", "scale", "currency", "period_start", "period_end",
            "basis", "vintage", "status", "evidence", "formula"} <= set(figure)  # fmt: skip
    assert (figure["value"], figure["status"]) == ("7.8", "derived")
    first = next(row for row in data["evidence"] if row["file"] == "acme_10K.pdf")
    assert len(first["box"]) == 4
    cell = next(row for row in data["evidence"] if row["file"] == "plan.xlsx")
    assert cell["cell"] == "Plan!B2:C2"
    assert data["reviewed"] is None


def test_the_document_has_native_headings_tables_footnotes_and_pictures(
    published: Published,
) -> None:
    document = docx.Document(str(published.folder / "report.docx"))
    headings = [
        p.text for p in document.paragraphs if p.style and p.style.name.startswith("Heading")
    ]
    assert headings[:3] == ["Acme & co: <b>2025</b>", "Summary", "Table"]
    assert [cell.text for cell in document.tables[0].rows[0].cells] == [
        "$ in millions",
        "2025",
        "2024",
    ]
    assert document.inline_shapes
    parts = {str(part.partname): part for part in document.part.package.iter_parts()}
    notes = etree.fromstring(parts["/word/footnotes.xml"].blob)
    texts = ["".join(map(str, note.itertext())) for note in notes.iter(f"{W}footnote")]
    assert any("Net sales 8,426 7,813" in text for text in texts)
    used = document.element.body.iter(f"{W}footnoteReference")
    assert [int(note.get(f"{W}id")) for note in used] == [1, 2, 3]
    # Our own reader sees what a model would see of it.
    assert "Net sales were $8,426 million" in read(published.folder / "report.docx").pages[0].text


def test_the_pdf_is_read_by_two_readers(published: Published) -> None:
    from pypdf import PdfReader

    path = published.folder / "report.pdf"
    ours = "\n".join(page.text for page in read(path).pages)
    theirs = "\n".join(page.extract_text() for page in PdfReader(path).pages)
    for text in (ours, theirs):
        flat = " ".join(text.split())
        assert "Net sales were $8,426 million in 2025, 7.8% more" in flat
        assert "[not supported]" in flat
        assert "what is $planned#?" in flat
    assert PdfReader(path).metadata.title == "Acme & co: <b>2025</b>"  # type: ignore[union-attr]


@needs_libreoffice
def test_libreoffice_opens_the_document_and_the_workbook(
    published: Published, tmp_path: Path
) -> None:
    assert SOFFICE is not None
    for form in ("docx", "xlsx"):
        subprocess.run(
            [SOFFICE, f"-env:UserInstallation=file://{tmp_path}/profile", "--headless",
             "--convert-to", "pdf", "--outdir", str(tmp_path / form),
             str(published.folder / f"report.{form}")],
            check=True, capture_output=True, timeout=180,
        )  # fmt: skip
    document = "\n".join(page.text for page in read(tmp_path / "docx" / "report.pdf").pages)
    assert "Net sales were $8,426 million in 2025" in " ".join(document.split())
    assert "Net sales 8,426 7,813” (E" in " ".join(document.split())  # a footnote was set


@needs_libreoffice
def test_the_workbook_s_formulas_recompute(published: Published, tmp_path: Path) -> None:
    """LibreOffice computes them anew: a wrong formula would give another value."""
    assert SOFFICE is not None
    source = tmp_path / "changed.xlsx"
    book = openpyxl.load_workbook(published.folder / "report.xlsx")
    sheet = book["Figures"]
    head = {cell.value: number for number, cell in enumerate(sheet[1], 1)}
    rows = {sheet.cell(n, 1).value: n for n in range(2, sheet.max_row + 1)}
    new = next(f for f in published.figures.values() if f.period_end == "2025" and not f.formula)
    growth = next(f for f in published.figures.values() if f.formula)
    assert str(sheet.cell(rows[growth.id], head["recomputed"]).value).startswith("=ROUND(((")
    sheet.cell(rows[new.id], head["amount"]).value = 15_626_000_000  # twice last year's
    book.save(source)
    subprocess.run(
        [SOFFICE, f"-env:UserInstallation=file://{tmp_path}/profile", "--headless",
         "--convert-to", "xlsx", "--outdir", str(tmp_path / "out"), str(source)],
        check=True, capture_output=True, timeout=180,
    )  # fmt: skip
    values = openpyxl.load_workbook(tmp_path / "out" / "changed.xlsx", data_only=True)["Figures"]
    assert values.cell(rows[growth.id], head["recomputed"]).value == pytest.approx(100.0)


@needs_libreoffice
def test_every_kind_of_formula_recomputes_to_what_is_printed(tmp_path: Path) -> None:
    def figure(
        name: str, value: str, unit: str = "money", scale: int = 6, formula: str = ""
    ) -> Figure:
        currency = "USD" if unit == "money" else ""
        return Figure(name, name, Decimal(value), unit, scale, currency, formula=formula)

    a, b, c, d = (f"F0000000{letter}" for letter in "abcd")
    bound = [
        figure(a, "8426"),
        figure(b, "-207"),
        figure(c, "12.5", "%", 0),
        figure(d, "7.5", "%", 0),
    ]
    known = {one.id: one for one in bound}
    derived = [
        derive(formula, known.get, Wanted(formula, unit, scale, digits))
        for formula, unit, scale, digits in [
            (f"{b} / {a}", "%", "", None),
            (f"mean({c}, {d})", "%", "", None),
            (f"({c} + {d}) / 2", "", "", None),
            (f"{a} + {b}", "", "billions", 1),
            (f"-({a} / {b}) ** 2", "", "", 1),
            (f"({c} / {d}) ** 2 ** 3", "x", "", None),
            (f"max({a}, abs({b})) - {a} / 365 * 12", "", "", None),
        ]
    ]
    told = [
        figure("F00000011", "-5.2", "%", 0, "(7,408 - 7,813) / 7,813"),
        figure("F00000012", "-219", formula="(-207) - 12"),
        figure("F00000013", "2.4", scale=9, formula="1,577 + 843"),
        figure("F00000014", "13.4", "%", 0, "(8,426 / 6,550) ^ (1 / 2) - 1"),
        figure("F00000015", "0", "%", 0, "(7,813 - 7,813) / 7,813"),
    ]
    figures = (*bound, *derived, *told)
    report = Report("job", "done", "?", "", (), (), figures)
    (tmp_path / "made.xlsx").write_bytes(book_of(report))
    assert SOFFICE is not None
    # Cached values are dropped, so that what is read was computed by LibreOffice.
    openpyxl.load_workbook(tmp_path / "made.xlsx").save(tmp_path / "bare.xlsx")
    subprocess.run(
        [SOFFICE, f"-env:UserInstallation=file://{tmp_path}/profile", "--headless",
         "--convert-to", "xlsx", "--outdir", str(tmp_path / "out"), str(tmp_path / "bare.xlsx")],
        check=True, capture_output=True, timeout=180,
    )  # fmt: skip
    sheet = openpyxl.load_workbook(tmp_path / "out" / "bare.xlsx", data_only=True)["Figures"]
    head = [cell.value for cell in sheet[1]]
    rows = [
        dict(zip(head, row, strict=True)) for row in sheet.iter_rows(min_row=2, values_only=True)
    ]
    computed = {row["id"]: (row["recomputed"], row["amount"]) for row in rows if row["formula"]}
    assert len(computed) == len(derived) + len(told)
    for name, (value, amount) in computed.items():
        assert value == pytest.approx(amount), name


def test_the_workbook_lists_everything(published: Published) -> None:
    book = openpyxl.load_workbook(published.folder / "report.xlsx", data_only=True)
    assert book.sheetnames == [
        *("About", "Figures", "Evidence", "Claims", "Conflicts", "Documents", "Charts"),
    ]
    assert book["Evidence"].max_row == 1 + len(published.evidence)
    assert book["Documents"].max_row == 3
    growth = next(f for f in published.figures.values() if f.formula)
    cached = {row[0]: row[14] for row in book["Figures"].iter_rows(min_row=2, values_only=True)}
    assert cached[growth.id] == pytest.approx(7.8)


def test_a_chart_stands_in_every_form_with_its_data(published: Published) -> None:
    (chart,) = published.report.charts
    text = (published.folder / "report.md").read_text()
    assert f"![Net sales of Acme](charts/{chart.id}.png)" in text
    assert (published.folder / "charts" / f"{chart.id}.png").read_bytes() == chart.png
    page = (published.folder / "report.html").read_text()
    assert 'alt="Net sales of Acme"' in page
    assert "charts/" not in page
    assert len(docx.Document(str(published.folder / "report.docx")).inline_shapes) == 3
    from pypdf import PdfReader

    assert sum(len(page.images) for page in PdfReader(published.folder / "report.pdf").pages) == 3
    sheet = openpyxl.load_workbook(published.folder / "report.xlsx", data_only=True)["Charts"]
    rows = list(sheet.iter_rows(min_row=2, values_only=True))
    assert {row[4] for row in rows} == {8_426_000_000, 7_813_000_000}
    assert "acme_10K.pdf" in str(rows[0][6])
