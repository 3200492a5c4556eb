"""Documents and pictures that are named by their address: fetched first, then files like others."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from PIL import Image

from deskwork.flows import calls
from deskwork.flows.running import Run, run_job
from deskwork.tasks.arrivals import arrived
from deskwork.tasks.requests import AskRequest, DocumentsRequest, ResearchRequest
from deskwork.tasks.settings import load_settings
from deskwork.tasks.steps import PLAIN
from deskwork.tasks.workbench import opened
from deskwork.tools.errors import DeskworkError, WebError
from tests.tools.web.server import Reply, site

TEXT = b"# Results\n\nNet sales rose 7.8% to 842.6 million euros in fiscal 2025.\n"


def picture() -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (40, 30), "red").save(stream, "PNG")
    return stream.getvalue()


PAGES = {
    "/files/results.md": Reply(TEXT, headers={"Content-Type": "text/markdown"}),
    "/again?of=/files//results.md": Reply(TEXT, headers={"Content-Type": "text/plain"}),
    "/chart": Reply(picture(), headers={"Content-Type": "image/png"}),
}


@pytest.fixture(autouse=True)
def allowed(tmp_path: Path) -> None:
    (tmp_path / "deskwork.toml").write_text('[web]\nallow = ["127.0.0.1"]\nmax_age = 0\n')


async def test_what_arrives_is_a_file_with_its_origin(tmp_path: Path) -> None:
    with site({**PAGES}) as running:
        addresses = [running.url("/files/results.md"), running.url("/again?of=/files//results.md")]
        request = AskRequest(question="?", addresses=[*addresses, running.url("/chart")])
        settings = load_settings()
        made = await arrived(request, settings)
        assert made.addresses == []
        assert [path.suffix for path in made.files] == [".md", ".txt"]
        assert [path.read_bytes() for path in made.files] == [TEXT, TEXT]
        assert [path.read_bytes() for path in made.images] == [picture()]
        # The same content from the same address is the same file, so the same job.
        again = await arrived(request, settings)
        assert (again.files, again.images) == (made.files, made.images)
        # The document flow extracts from pictures too.
        filed = DocumentsRequest(schema_source="x", addresses=[running.url("/chart")])
        assert [path.suffix for path in (await arrived(filed, settings)).files] == [".png"]
    with opened() as bench:
        collection = bench.collect(made.files, "job")
    assert [file.url for file in collection.files] == addresses
    assert all(file.retrieved.endswith("Z") for file in collection.files)


async def test_a_report_leads_back_to_the_address(tmp_path: Path) -> None:
    from deskwork.flows.investigation import Research

    async def work(run: Run) -> None:
        run.steps = PLAIN
        await Research(run, tmp_path / "report").work()

    with site({**PAGES}) as running:
        address = running.url("/files/results.md")
        request = ResearchRequest(question="How did net sales develop?", addresses=[address])
        ended = await run_job("research", request, work, None)
    assert ended.state == "done", ended.reason
    report = json.loads((tmp_path / "report" / "report.json").read_text())
    assert {item["url"] for item in report["evidence"]} == {address}
    assert report["sources"][0]["url"] == address


async def test_what_can_t_be_had_is_told_before_there_is_a_job(tmp_path: Path) -> None:
    with site({**PAGES}) as running:
        address = running.url("/nothing")
        with pytest.raises(WebError) as told:
            await arrived(AskRequest(question="?", addresses=[address]), load_settings())
    assert told.value.kind == "not found"
    assert address in told.value.message
    (tmp_path / "deskwork.toml").write_text("")
    with pytest.raises(DeskworkError, match="this machine itself"):
        await calls.ask("?", files=["http://127.0.0.1:9/x"])
    with opened() as bench:
        assert bench.journal.jobs() == []
