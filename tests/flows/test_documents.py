"""The document job's logic with plain steps; through Prefect, killed, it is in tests/kill."""

from __future__ import annotations

import base64
import contextlib
import io
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from PIL import Image, ImageDraw
from reportlab.pdfgen.canvas import Canvas

from deskwork.flows.extracting import Documents
from deskwork.flows.running import Run, prepare
from deskwork.tasks.limits import Limits
from deskwork.tasks.local_model import Asked, Said, ScriptedModel
from deskwork.tasks.requests import DocumentsRequest
from deskwork.tasks.schema import load_schema
from deskwork.tasks.settings import load_settings
from deskwork.tasks.starts import find_or_create, first_entry, make_start
from deskwork.tasks.states import NeedsReview, OutOfBudget
from deskwork.tasks.steps import PLAIN
from deskwork.tasks.workbench import Workbench
from tests.jobs import settings_in
from tests.tools.hostile import zipped

SCHEMA = {
    "title": "Invoice",
    "type": "object",
    "required": ["invoice_number", "total"],
    "properties": {
        "vendor": {"type": "string"},
        "invoice_number": {"type": "string"},
        "invoice_date": {"type": "string", "format": "date"},
        "line_items": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "description": {"type": "string"},
                    "amount": {"type": "number"},
                },
            },
        },
        "subtotal": {"type": "number"},
        "tax": {"type": "number"},
        "total": {"type": "number"},
    },
}


def invoice(number: int, total: str = "33.55") -> str:
    return (
        f"# Invoice\n\nVendor: Acme Supplies Ltd\nInvoice No. 2026-{number:03d}\n"
        f"Invoice date: 0{number}.03.2026\n\n| Description | Amount |\n|---|---|\n"
        f"| Paper | 10.00 |\n| Ink | 20.50 |\n\nSubtotal: 30.50\nTax: 3.05\nTotal: {total}\n"
    )


def answered(number: int, **changes: Any) -> dict[str, Any]:
    """A right answer for `invoice`, with changes to the document."""
    line = f"Invoice No. 2026-{number:03d}"
    document = {
        "kind": "invoice",
        "pages": [1],
        "record": {"invoice_number": f"2026-{number:03d}", "total": 33.55},
        "evidence": {
            "/invoice_number": {"page": 1, "quote": line},
            "/total": {"page": 1, "quote": "Total: 33.55"},
        },
    }
    return {"documents": [{**document, **changes}]}


@contextlib.asynccontextmanager
async def run_of(
    tmp_path: Path,
    model: ScriptedModel | None,
    files: dict[str, str | bytes],
    *,
    limits: Limits | None = None,
    budget: str = "auto",
    schema: dict[str, Any] = SCHEMA,
    **asked: Any,
) -> AsyncIterator[Run]:
    folder = tmp_path / "files"
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        data = content.encode() if isinstance(content, str) else content
        (folder / name).write_bytes(data)
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    loaded = load_schema(str(tmp_path / "schema.json"))
    home = tmp_path / "home"
    settings = settings_in(home) if model else load_settings({"home": str(home)})
    if asked.get("ocr"):
        settings = replace(settings, reading=replace(settings.reading, ocr=True))
    bench = Workbench(settings, transport=model.transport() if model else None)
    request = DocumentsRequest(
        files=[folder],
        schema_source=loaded.source,
        record_schema=loaded.schema,
        limits=limits or Limits(max_steps=None),
        budget=budget,  # type: ignore[arg-type]
        **asked,
    )
    start = make_start("documents", request, bench.recorded_settings())
    job = find_or_create(bench.journal, start)
    writer = bench.journal.acquire(job.id)
    try:
        run = await prepare(bench, writer, start, first_entry(bench.journal, job.id))
        run.steps = PLAIN
        yield run
    finally:
        writer.release("stopped")
        await bench.close()


async def extracted(
    tmp_path: Path,
    answer: Callable[[Asked], Said] | None,
    files: dict[str, str | bytes],
    **how: Any,
) -> tuple[dict[str, Any], ScriptedModel | None]:
    """The job's data, and the model that was asked."""
    model = ScriptedModel(answer) if answer else None
    out = tmp_path / "out" / "records.xlsx"
    async with run_of(tmp_path, model, files, **how) as run:
        with contextlib.suppress(NeedsReview):
            await Documents(run, out).work()
    return json.loads(out.with_suffix(".json").read_text()), model


def says(value: Any) -> Said:
    return Said(json.dumps(value))


def number_in(asked: Asked) -> int:
    return int(asked.messages[0]["text"].partition("Invoice No. 2026-")[2][:3])


async def test_every_file_has_a_row_and_every_field_its_evidence(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a.md": invoice(1),
        "b.md": invoice(2),
        "twin.md": invoice(1),
        "wrong-sum.md": invoice(3, total="43.55"),
        "letter.txt": "Dear Sir, this letter holds nothing of the kind.\n",
        "broken.pdf": b"%PDF-1.4 nothing",
    }
    data, _ = await extracted(tmp_path, None, files)
    states = {row["file"]: row["state"] for row in data["files"]}
    assert states == {
        "a.md": "done",
        "b.md": "done",
        "twin.md": "duplicate",
        "wrong-sum.md": "needs review",
        "letter.txt": "needs review",
        "broken.pdf": "failed",
    }
    first = next(row for row in data["records"] if row["file"] == "a.md")
    assert first["record"]["invoice_date"] == "2026-03-01"
    assert first["record"]["line_items"][1] == {"description": "Ink", "amount": 20.5}
    assert first["evidence"]["/line_items/1/amount"]["quote"] == "| Ink | 20.50 |"
    assert first["evidence"]["/total"]["page"] == 1
    problems = {row["file"]: row["problem"] for row in data["exceptions"]}
    assert "make 33.55, but total is 43.55" in problems["wrong-sum.md"]
    assert problems["twin.md"] == "the same content as a.md"

    book = openpyxl.load_workbook(tmp_path / "out" / "records.xlsx")
    assert book.sheetnames == ["Records", "line_items", "Evidence", "Exceptions", "Files"]
    rows = list(book["Files"].values)
    assert len(rows) == 1 + len(files)
    records = list(book["Records"].values)
    column = records[0].index("total")
    assert {row[column] for row in records[1:]} == {33.55, 43.55}
    page = (tmp_path / "out" / "records.html").read_text()
    assert "<mark>Total: 43.55</mark>" in page
    assert "http" not in page.replace("http://www.w3.org", "")


async def test_files_of_an_archive_have_rows_and_records_of_their_own(tmp_path: Path) -> None:
    inner = zipped({"b.md": invoice(2).encode()})
    archive = zipped(
        {
            "2026/a.md": invoice(1).encode(),
            "2026/inner.zip": inner,
            "scan.png": scan(),
            "broken.pdf": b"%PDF-1.4 nothing",
        }
    )
    files: dict[str, str | bytes] = {"batch.zip": archive, "z-loose.md": invoice(2)}
    data, _ = await extracted(tmp_path, None, files)
    rows = {row["file"]: row for row in data["files"]}
    assert {name: row["state"] for name, row in rows.items()} == {
        "batch.zip": "unpacked",
        "batch.zip/2026/a.md": "done",
        "batch.zip/2026/inner.zip/b.md": "done",
        "batch.zip/scan.png": "needs review",
        "batch.zip/broken.pdf": "failed",
        "z-loose.md": "duplicate",
    }
    assert rows["batch.zip"]["reason"] == "holds 4 files, each with its own row"
    assert rows["z-loose.md"]["reason"] == "the same content as batch.zip/2026/inner.zip/b.md"
    assert rows["batch.zip/2026/a.md"]["pages"] == 1
    first = next(row for row in data["records"] if row["file"] == "batch.zip/2026/a.md")
    assert first["evidence"]["/total"]["quote"] == "Total: 33.55"
    assert "batch.zip" not in {row["file"] for row in data["exceptions"]}


async def test_a_scan_in_an_archive_is_shown_to_a_model(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"two.zip": zipped({"a.txt": b"A letter.", "scan.png": scan()})}
    _, model = await extracted(tmp_path, lambda asked: says({"documents": []}), files)
    assert model is not None
    shown = [request for request in model.requests if "two.zip/scan.png" in str(request.messages)]
    assert shown
    assert "data:image/png;base64," in str(shown[0].body)


async def test_doubt_is_asked_again_at_a_higher_budget(tmp_path: Path) -> None:
    def answer(asked: Asked) -> Said:
        if "these problems were found" not in asked.messages[0]["text"]:
            return says(answered(1, evidence={"/total": {"page": 1, "quote": "Total: 99,999.00"}}))
        return says(answered(1))

    data, model = await extracted(tmp_path, answer, {"a.md": invoice(1)})
    assert model is not None
    assert [asked.body["thinking_budget"] for asked in model.requests] == ["low", "high"]
    again = model.requests[1].messages[0]["text"]
    assert "/invoice_number: no evidence for" in again
    assert "/total: The quote is not in a.md" in again
    assert [row["state"] for row in data["files"]] == ["done"]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"record": {"total": 33.55}}, "'invoice_number' is a required property"),
        ({"record": {"invoice_number": "2026-001", "total": "33.55"}}, "is not of type 'number'"),
        (
            {"record": {"invoice_number": "2026-001", "total": 34.0}},
            "34.0 does not stand in its quote",
        ),
        ({"evidence": {}}, "no evidence for"),
    ],
)
async def test_what_does_not_stand_is_an_exception(
    tmp_path: Path, changes: dict[str, Any], problem: str
) -> None:
    data, model = await extracted(
        tmp_path, lambda asked: says(answered(1, **changes)), {"a.md": invoice(1)}
    )
    assert model is not None
    assert len(model.requests) == 2
    (row,) = data["files"]
    assert row["state"] == "needs review"
    assert any(problem in item["problem"] for item in data["exceptions"])
    assert len(data["records"]) == 1


async def test_an_answer_of_no_use_is_told_and_the_file_accounted_for(tmp_path: Path) -> None:
    data, _ = await extracted(tmp_path, lambda asked: Said("I can't."), {"a.md": invoice(1)})
    (row,) = data["files"]
    assert (row["state"], row["documents"]) == ("needs review", 0)
    assert "holds no JSON object" in row["reason"]


async def test_several_documents_in_one_file(tmp_path: Path) -> None:
    both = invoice(1) + "\n\n" + invoice(2)
    answer = {"documents": answered(1)["documents"] + answered(2)["documents"]}
    data, _ = await extracted(tmp_path, lambda asked: says(answer), {"batch.md": both})
    assert [row["record"]["invoice_number"] for row in data["records"]] == ["2026-001", "2026-002"]
    assert data["files"][0]["documents"] == 2


async def test_at_a_limit_the_rest_is_not_done_and_goes_on_later(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {f"{n}.md": invoice(n) for n in range(1, 7)}

    def answer(asked: Asked) -> Said:
        return says(answered(number_in(asked)))

    first = ScriptedModel(answer)
    out = tmp_path / "out" / "records.xlsx"
    async with run_of(tmp_path, first, files, limits=Limits(max_steps=3)) as run:
        with pytest.raises(OutOfBudget):
            await Documents(run, out).work()
    data = json.loads(out.with_suffix(".json").read_text())
    states = [row["state"] for row in data["files"]]
    assert states.count("not done") == 6 - len(first.requests)
    assert len(data["files"]) == 6

    # What is done counts: the same limit leaves nothing, and nothing is asked.
    async with run_of(tmp_path, ScriptedModel([]), files, limits=Limits(max_steps=3)) as run:
        with pytest.raises(OutOfBudget):
            await Documents(run, out).work()
    second = ScriptedModel(answer)
    async with run_of(tmp_path, second, files) as run:
        documents = Documents(run, out)
        await documents.work()
        assert documents.budget.sessions == [run.session], "histories of done files are held"
        assert documents.budget.spend().steps == 6
    data = json.loads(out.with_suffix(".json").read_text())
    assert [row["state"] for row in data["files"]] == ["done"] * 6
    assert len(first.requests) + len(second.requests) == 6
    asked = [number_in(request) for request in (*first.requests, *second.requests)]
    assert sorted(asked) == [1, 2, 3, 4, 5, 6]


async def test_a_budget_that_was_asked_for_stands_alone(tmp_path: Path) -> None:
    _, model = await extracted(
        tmp_path, lambda asked: Said("no"), {"a.md": invoice(1)}, budget="max"
    )
    assert model is not None
    assert [asked.body["thinking_budget"] for asked in model.requests] == ["max"]


def scan() -> bytes:
    page, data = Image.new("RGB", (800, 1000), "white"), io.BytesIO()
    ImageDraw.Draw(page).text((50, 50), "Invoice No. 77  Total: 12.00", fill="black")
    page.save(data, "PDF")
    return data.getvalue()


async def test_a_scan_with_nobody_to_see_it(tmp_path: Path) -> None:
    data, _ = await extracted(tmp_path, None, {"scan.pdf": scan(), "a.md": invoice(1)})
    states = {row["file"]: row["state"] for row in data["files"]}
    assert states == {"scan.pdf": "needs review", "a.md": "done"}
    (problem,) = (row["problem"] for row in data["exceptions"])
    assert "pictures without text" in problem


async def test_a_scan_is_shown_to_a_model(tmp_path: Path) -> None:
    _data, model = await extracted(
        tmp_path, lambda asked: says({"documents": []}), {"scan.pdf": scan()}
    )
    assert model is not None
    assert "data:image/" in json.dumps(model.requests[0].body)


async def test_a_scan_and_a_model_without_eyes(tmp_path: Path) -> None:
    class Blind(ScriptedModel):
        def respond(self, path: str, body: bytes) -> tuple[int, str, list[bytes]]:
            error = {"error": {"message": "image input is not supported", "code": 500}}
            return 500, "application/json", [json.dumps(error).encode()]

    out = tmp_path / "out" / "records.xlsx"
    async with run_of(tmp_path, Blind([]), {"scan.pdf": scan()}) as run:
        with pytest.raises(NeedsReview):
            await Documents(run, out).work()
    (row,) = json.loads(out.with_suffix(".json").read_text())["files"]
    assert row["state"] == "needs review"
    assert "a scan, and" in row["reason"]
    assert "takes no pictures" in row["reason"]


def printed(text: str) -> bytes:
    """A PDF page with a text layer, a line at each fifteen points."""
    data = io.BytesIO()
    page = Canvas(data, pagesize=(400, 300))
    for number, line in enumerate(text.splitlines()):
        page.drawString(30, 270 - 15 * number, line)
    page.save()
    return data.getvalue()


async def test_the_review_page_shows_the_field_s_place_on_its_page(tmp_path: Path) -> None:
    text = "Invoice No. 2026-001\nSubtotal: 30.50\nTax: 3.05\nTotal: 43.55\n"
    await extracted(tmp_path, None, {"a.pdf": printed(text)})
    page = (tmp_path / "out" / "records.html").read_text()
    encoded = page.partition("data:image/jpeg;base64,")[2].partition('"')[0]
    picture = Image.open(io.BytesIO(base64.b64decode(encoded))).convert("RGB")
    across, up = picture.width / 400, picture.height / 300

    def at(left: float, bottom: float) -> tuple[int, int, int]:
        colour = picture.getpixel((int(left * across), int((300 - bottom) * up)))
        assert isinstance(colour, tuple)
        return colour[0], colour[1], colour[2]

    for line in range(4):
        red, _, blue = at(31, 270 - 15 * line + 9)  # just above the letters, in the marker's stroke
        assert red > 200
        assert blue < 190
    assert min(at(300, 150)) > 240
