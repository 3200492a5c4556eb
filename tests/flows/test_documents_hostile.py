"""One bad answer is that file's trouble alone; what the built-in answerer finds of hard files."""

from __future__ import annotations

import io
import json
import time
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import docx as word
import openpyxl
import pytest
from PIL import Image, ImageDraw, ImageFont

from deskwork.tasks.local_model import Asked, Said
from deskwork.tasks.records_book import write_book
from deskwork.tasks.records_spool import Records, Spool
from deskwork.tools.library import Library
from deskwork.tools.readers import Reading, ocr
from tests.flows.test_documents import answered, extracted, invoice, number_in, printed, says, scan

LINES = {
    "title": "Invoice",
    "type": "object",
    "required": ["invoice_number", "total"],
    "properties": {
        "vendor": {"type": "string"},
        "invoice_number": {"type": "string"},
        "total": {"type": "number"},
        "lines": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "description": {"type": "string"},
                    "quantity": {"type": "number"},
                    "unit_price": {"type": "number"},
                    "amount": {"type": "number"},
                },
            },
        },
    },
}
HEAD = ["Description", "Quantity", "Unit price", "Amount"]
ROWS = [["Steel bolts", "10", "12.50", "125.00"], ["Copper wire", "3", "99.00", "297.00"]]


def bill(number: str, rows: str) -> str:
    return f"INVOICE\nVendor: Acme Ltd\nInvoice number: {number}\n{rows}\nTotal: 422.00\n"


PLAIN_ROWS = "\n".join(" ".join(row) for row in [HEAD, *ROWS])


def record(document: str) -> str:
    return json.dumps(answered(2)).replace("33.55", document, 1)


@pytest.mark.parametrize(
    "answer",
    [
        record("1e999"),
        record("NaN"),
        record('"\\ud800"'),
        record("[" * 900 + "]" * 900),
        record("9" * 5000),
        '{"documents":[{"record":{}}]}',
        '{"documents":[null]}',
        '{"documents":[{"record":{"total":1},"evidence":[1],"pages":"1"}]}',
    ],
    ids=["inf", "nan", "surrogate", "deep", "long", "empty", "null", "odd"],
)
async def test_a_bad_answer_is_its_file_s_trouble_alone(tmp_path: Path, answer: str) -> None:
    def reply(asked: Asked) -> Said:
        return Said(answer) if number_in(asked) == 2 else says(answered(number_in(asked)))

    data, _ = await extracted(tmp_path, reply, {"1.md": invoice(1), "2.md": invoice(2)})
    rows = {row["file"]: row for row in data["files"]}
    assert rows["1.md"]["state"] == "done"
    assert rows["2.md"]["state"] == "needs review"
    assert rows["2.md"]["reason"]
    assert len(openpyxl.load_workbook(tmp_path / "out" / "records.xlsx").sheetnames) >= 4


async def test_pages_that_are_not_there_and_many_documents(tmp_path: Path) -> None:
    def reply(asked: Asked) -> Said:
        if number_in(asked) == 1:
            return says(answered(1, pages=[99, -1, 0]))
        return says({"documents": answered(2)["documents"] * 20_000})

    begun = time.monotonic()
    files: dict[str, str | bytes] = {"1.md": invoice(1), "2.md": invoice(2)}
    data, _ = await extracted(tmp_path, reply, files)
    assert time.monotonic() - begun < 40
    problems = [(row["file"], row["problem"]) for row in data["exceptions"]]
    assert ("1.md", "the answer names pages that are not there (99, -1, 0); they are 1 to 1") in (
        problems
    )
    told = [problem for file, problem in problems if file == "2.md"]
    assert len(told) == 2
    assert told[0].startswith("the answer lists 20,000 documents; the first 2,000 are taken")
    assert told[1] == "the same record 2000 times in this file"


async def test_a_short_quote_that_is_a_whole_line(tmp_path: Path) -> None:
    schema = {"properties": {"name": {"type": "string"}, "firm": {"type": "string"}}}
    found = {
        "record": {"name": "alpha", "firm": "株式会社テスト"},
        "evidence": {
            "/name": {"page": 1, "quote": "Group alpha"},
            "/firm": {"page": 1, "quote": "会社名：株式会社テスト"},
        },
    }
    page = "Report of the year\nGroup alpha\n会社名：株式会社テスト\n"
    data, _ = await extracted(
        tmp_path, lambda asked: says({"documents": [found]}), {"a.txt": page}, schema=schema
    )
    assert [row["state"] for row in data["files"]] == ["done"]


def two_pages(first: str, second: str) -> bytes:
    from reportlab.pdfgen.canvas import Canvas

    data = io.BytesIO()
    canvas = Canvas(data, pagesize=(400, 300))
    for text in (first, second):
        for number, line in enumerate(text.splitlines()):
            canvas.drawString(30, 270 - 15 * number, line)
        canvas.showPage()
    canvas.save()
    return data.getvalue()


def mail_of(*attached: bytes) -> bytes:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "a@x.org", "b@x.org", "Two bills"
    message["Message-ID"] = "<1@x.org>"
    message.set_content("Please find two invoices attached.\n")
    for number, data in enumerate(attached, 1):
        message.add_attachment(
            data, maintype="application", subtype="pdf", filename=f"bill{number}.pdf"
        )
    return message.as_bytes()


async def test_the_built_in_finds_every_document_of_a_file(tmp_path: Path) -> None:
    one, two = bill("A-1003", PLAIN_ROWS), bill("A-1004", PLAIN_ROWS)
    files: dict[str, str | bytes] = {
        "two.pdf": two_pages(one, two),
        "mail.eml": mail_of(printed(bill("B-1", PLAIN_ROWS)), printed(bill("B-2", PLAIN_ROWS))),
        "one.txt": f"{bill('C-1', PLAIN_ROWS)}\n{bill('C-2', PLAIN_ROWS)}",
        "long.pdf": two_pages(bill("D-1", PLAIN_ROWS), "Invoice number: D-1\nTerms: none\n"),
        "speaks.pdf": two_pages(bill("E-2", PLAIN_ROWS), "See Invoice number: E-1 of May.\n"),
    }
    data, _ = await extracted(tmp_path, None, files, schema=LINES)
    found: dict[str, list[tuple[str, list[int]]]] = {}
    for row in data["records"]:
        number = row["record"]["invoice_number"]
        found.setdefault(row["file"], []).append((number, row["pages"]))
        assert len(row["record"]["lines"]) == 2
    assert found == {
        "long.pdf": [("D-1", [1, 2])],
        "mail.eml": [("B-1", [2]), ("B-2", [3])],
        "one.txt": [("C-1", [1]), ("C-2", [1])],
        "speaks.pdf": [("E-2", [1, 2])],
        "two.pdf": [("A-1003", [1]), ("A-1004", [2])],
    }
    assert {row["state"] for row in data["files"]} == {"done"}


def with_table(rows: list[list[str]]) -> bytes:
    document, data = word.Document(), io.BytesIO()
    document.add_paragraph("Invoice number: C-1")
    table = document.add_table(0, len(rows[0]))
    for row in rows:
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = text
    document.add_paragraph("Total: 422.00")
    document.save(data)
    return data.getvalue()


def sheet(rows: list[list[Any]]) -> bytes:
    book, data = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)  # type: ignore[union-attr]
    book.save(data)
    return data.getvalue()


async def test_the_built_in_finds_the_lines_of_every_kind_of_file(tmp_path: Path) -> None:
    numbers = [[name, *map(float, values)] for name, *values in ROWS]
    files: dict[str, str | bytes] = {
        "a.pdf": printed(bill("A-1", PLAIN_ROWS)),
        "b.txt": bill("B-1", "\n".join("   ".join(row) for row in [HEAD, *ROWS])),
        "c.docx": with_table([HEAD, *ROWS]),
        "d.xlsx": sheet([["Invoice number", "D-1"], HEAD, *numbers, ["Total", 422.0]]),
    }
    data, _ = await extracted(tmp_path, None, files, schema=LINES)
    assert {row["file"]: row["state"] for row in data["files"]} == dict.fromkeys(files, "done")
    for row in data["records"]:
        assert row["record"]["lines"] == [
            {"description": name, "quantity": float(n), "unit_price": float(p), "amount": float(a)}
            for name, n, p, a in ROWS
        ]


async def test_rows_whose_columns_are_the_fields_are_records(tmp_path: Path) -> None:
    schema = {
        "properties": {
            "date": {"type": "string", "format": "date"},
            "name": {"type": "string"},
            "amount": {"type": "number"},
        }
    }
    rows = [
        ["Date", "Name", "Amount"],
        *[[f"2025-01-0{n}", f"N{n}", f"{n}.50"] for n in range(1, 9)],
    ]
    text = "\n".join(",".join(row) for row in rows) + "\n"
    data, _ = await extracted(tmp_path, None, {"a.csv": text, "b.xlsx": sheet(rows)}, schema=schema)
    assert [row["documents"] for row in data["files"]] == [8, 8]
    first = data["records"][0]
    assert first["record"] == {"date": "2025-01-01", "name": "N1", "amount": 1.5}
    assert {row["file"]: row["state"] for row in data["files"]}["a.csv"] == "done"


async def test_the_built_in_is_asked_once_and_never_quotes_a_problem(tmp_path: Path) -> None:
    data, _ = await extracted(
        tmp_path, None, {"a.txt": "Report\nTotal: 12.00\nNothing more here.\n"}, schema=LINES
    )
    (row,) = data["records"]
    assert row["record"] == {"total": 12.0}


async def test_a_locked_file_and_a_scan_say_what_to_do(tmp_path: Path) -> None:
    from tests.tools.made import pdf

    data, _ = await extracted(
        tmp_path, None, {"a.pdf": pdf([["x"]], password="secret"), "scan.pdf": scan()}
    )
    reasons = {row["file"]: row["reason"] for row in data["files"]}
    assert "Put its password into `passwords` in deskwork.toml" in reasons["a.pdf"]
    assert "--password" not in reasons["a.pdf"]
    assert "`deskwork documents --ocr`" in reasons["scan.pdf"]
    assert "[reading]" in reasons["scan.pdf"]


@pytest.mark.skipif(not ocr.installed(), reason="the OCR is an extra")
def test_with_ocr_a_reading_without_it_is_not_used(tmp_path: Path) -> None:
    file, home = tmp_path / "scan.pdf", tmp_path / "home"
    picture = Image.new("RGB", (800, 400), "white")
    font = ImageFont.load_default(size=48)
    ImageDraw.Draw(picture).text((50, 50), "Invoice No. 77", fill="black", font=font)
    picture.save(file)
    plain = Library(home).collect([file])
    assert not plain.page("scan.pdf", 1).text.strip()
    seen = Library(home, Reading(ocr=True)).collect([file])
    assert "77" in seen.page("scan.pdf", 1).text
    again = Library(home, Reading(ocr=True)).collect([file])
    assert again.files[0].document == seen.files[0].document, "it was read by OCR again"


def test_the_workbook_keeps_fields_of_any_name_and_lists_in_lists(tmp_path: Path) -> None:
    taken = {"file": "F", "record": 7, "document": "D", "problems": "P", "field: file": "G"}
    groups = [
        {"row": "own", "lines": [{"amount": 1}, {"amount": 2, "tags": ["a", "b"]}]},
        {"lines": [{"amount": 3, "parts": [{"n": 1}, {"n": 2}]}]},
    ]
    row = {
        "file": "a.md",
        "document": "invoice",
        "pages": [1],
        "record": {**taken, "groups": groups, "big": 10**20},
        "evidence": {},
        "problems": [],
    }
    with Spool(tmp_path / "rows") as spool:
        spool.add(row)
        write_book(tmp_path / "r.xlsx", Records("j", "done", [], spool))
    book = openpyxl.load_workbook(tmp_path / "r.xlsx")

    def lines(sheet: str) -> list[dict[str, Any]]:
        head, *rows = book[sheet].values
        return [dict(zip(map(str, head), row, strict=True)) for row in rows]

    (record,) = lines("Records")
    assert (record["file"], record["record"]) == ("a.md", 1)
    assert {name: record[f"field: {name}"] for name in taken} == taken
    assert record["big"] == str(10**20)
    assert [(r["row"], r["field: row"]) for r in lines("groups")] == [(1, "own"), (2, None)]
    inner = [(r["in row"], r["row"], r["amount"]) for r in lines("groups.lines")]
    assert inner == [("1", 1, 1), ("1", 2, 2), ("2", 1, 3)]
    parts = [(r["in row"], r["row"], r["n"]) for r in lines("groups.lines.parts")]
    assert parts == [("2.1", 1, 1), ("2.1", 2, 2)]
