"""The two tools as a model sees them: results, a page that becomes a document, quotes that hold."""

from __future__ import annotations

import dataclasses
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from deskwork.tools.collection import Collection
from deskwork.tools.desk import DocumentDesk
from deskwork.tools.errors import ToolError, WebError
from deskwork.tools.library import Library
from deskwork.tools.registry import default_tools
from deskwork.tools.selection import fitting_tools
from deskwork.tools.sources import Source
from deskwork.tools.tool import Evidence, ToolResult
from deskwork.tools.web.access import Web
from deskwork.tools.web.options import WebOptions
from deskwork.tools.web.pages import LEFT_OUT, first_pages
from deskwork.tools.web.search import Result
from tests.tools.made import docx, pdf
from tests.tools.web.server import SENTENCES, Reply, Site, article, site


async def run(name: str, desk: DocumentDesk, **arguments: Any) -> ToolResult:
    return await default_tools()[name].run(arguments, desk)


def desk_for(running: Site, home: Path, collection: Collection | None = None) -> DocumentDesk:
    web = Web(WebOptions(allow=(running.place,), per_second=1000), home)
    return DocumentDesk(collection or Library(home).collect([]), online=web)


async def test_a_page_becomes_a_document_that_can_be_cited(tmp_path: Path) -> None:
    with site({"/results": Reply(article())}) as running:
        desk = desk_for(running, tmp_path)
        result = await run("fetch_page", desk, url=running.url("/results"))
    (source,) = result.sources
    name = f"{running.place}/results".replace(f":{running.port}", "")
    assert source.name == name == "127.0.0.1/results"
    assert source.data == article()
    assert f"it is now the document {name!r}" in result.text
    assert f"{name} · page 1 of 1\n" in result.text
    assert SENTENCES[0] in result.text
    assert "| Net sales | 842.6 | 781.3 |" in result.text
    assert "Markets today" not in result.text
    assert LEFT_OUT in result.text
    assert f"read_document(file={name!r}, page=1)" in result.text
    assert result.data["sha256"] == source.sha256

    # What a job does with it: the collection has one document more.
    grown = desk.collection.with_source(source, lambda: source.data)
    desk = dataclasses.replace(desk, collection=grown)
    assert f"- {name} · html · 1 page · fetched from {running.url('/results')}" in (
        (await run("list_documents", desk)).text
    )
    assert "Markets today" in (await run("read_document", desk, file=name, page=1)).text
    assert (await run("search_documents", desk, query="dividend")).data[0]["file"] == name
    cited = await run("cite", desk, file=name, page=1, quote=SENTENCES[0][:-1])
    (evidence,) = cited.evidence
    assert evidence.url == running.url("/results")
    assert evidence.retrieved == source.retrieved
    assert evidence.sha256 == source.sha256


async def test_every_line_that_is_shown_can_be_cited(tmp_path: Path) -> None:
    with site({"/": Reply(article())}) as running:
        desk = desk_for(running, tmp_path)
        result = await run("fetch_page", desk, url=running.url("/"))
    (source,) = result.sources
    grown = desk.collection.with_source(source, lambda: source.data)
    lines = [
        (shown["page"], line)
        for shown in result.data["shown"]
        for line in shown["text"].splitlines()
        if line != LEFT_OUT and len(line) > 20
    ]
    assert len(lines) >= len(SENTENCES) + 2
    for page, line in lines:
        assert grown.find_quote(source.name, page, line).page == page


async def test_pdf_and_office_files_are_read_and_pictures_shown(tmp_path: Path) -> None:
    report = pdf([["Net sales rose to 842.6 million."], ["Second page with figure 12."]])
    pages = {
        "/report": Reply(report, headers={"Content-Type": "application/pdf"}),
        "/memo.docx": Reply(docx(["Capital spending came to 64.8 million."])),
        "/data": Reply(b"year,sales\n2025,842.6\n", headers={"Content-Type": "text/csv"}),
        "/fragment": Reply(b"<p>Sales of <b>842.6</b> million</p>"),
        "/broken": Reply(b"%PDF-1.7 nothing", headers={"Content-Type": "application/pdf"}),
    }
    with site({**pages}) as running:
        desk = desk_for(running, tmp_path)
        kinds = {}
        for path in ("/report", "/memo.docx", "/data", "/fragment"):
            result = await run("fetch_page", desk, url=running.url(path))
            kinds[path] = result.data["kind"]
            (source,) = result.sources
            grown = desk.collection.with_source(source, partial(getattr, source, "data"))
            desk = dataclasses.replace(desk, collection=grown)
        with pytest.raises(WebError) as caught:
            await run("fetch_page", desk, url=running.url("/broken"))
    assert kinds == {"/report": "pdf", "/memo.docx": "docx", "/data": "csv", "/fragment": "html"}
    assert caught.value.kind == "unreadable"
    assert (await run("look_at_page", desk, file="127.0.0.1/report", page=2)).images
    with pytest.raises(ToolError, match="no picture"):
        await run("look_at_page", desk, file="127.0.0.1/memo.docx", page=1)


async def test_long_documents_are_read_on(tmp_path: Path) -> None:
    long = "\n\n".join(f"Paragraph {n} of a long report. " + "word " * 100 for n in range(400))
    with site({"/": Reply(long.encode(), headers={"Content-Type": "text/plain"})}) as running:
        result = await run("fetch_page", desk_for(running, tmp_path), url=running.url("/"))
    assert 10_000 < len(result.text) < 22_000
    shown = [row["page"] for row in result.data["shown"]]
    assert f"read_document(file='127.0.0.1', page={shown[-1] + 1})" in result.text


async def test_results_are_lines_with_their_address(tmp_path: Path) -> None:
    class Found:
        name = host = "test"

        async def search(self, query: str, top: int) -> list[Result]:
            return [Result("Annual results", "https://a.example/", "Sales rose", "test", 1)]

    desk = DocumentDesk(
        Library(tmp_path).collect([]), online=Web(WebOptions(), tmp_path, engine=Found())
    )
    result = await run("search_web", desk, query=" net sales ")
    assert result.text == "[1] Annual results\n    https://a.example/\n    Sales rose"
    assert result.data[0]["url"] == "https://a.example/"
    with pytest.raises(ToolError, match="can't be reached from here"):
        await run("search_web", DocumentDesk(desk.collection), query="x")


def source_of(data: bytes, name: str) -> Source:
    return Source.of(
        data,
        name=name,
        url="https://a.example/",
        final_url="https://a.example/",
        media_type="text/plain",
        retrieved="2026-12-01T00:00:00Z",
    )


def test_names_stay_apart(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a").write_text("A file of one's own with figure 12")
    collection = Library(tmp_path / "home").collect([tmp_path / "files"])
    first, second = source_of(b"One page says 34", "a"), source_of(b"Another says 56", "a")
    grown = collection
    for source in (first, second, first):
        grown = grown.with_source(source, partial(getattr, source, "data"))
    assert [file.name for file in grown.files] == [
        "a",
        f"a#{first.sha256[:8]}",
        f"a#{second.sha256[:8]}",
    ]
    assert grown.page(f"a#{second.sha256[:8]}", 1).text == "Another says 56"
    assert len(collection.files) == 1
    assert grown.fingerprint()[0] == collection.fingerprint()[0]


def test_a_known_source_is_not_loaded_again(tmp_path: Path) -> None:
    empty = Library(tmp_path).collect([])
    source = source_of(b"One page says 34", "a")
    empty.with_source(source, lambda: source.data)

    def never() -> bytes:
        raise AssertionError("loaded again")

    assert empty.with_source(source, never).page("a", 1).text == "One page says 34"


def test_the_web_is_among_a_jobs_tools_only_where_it_is_on() -> None:
    def names(**given: bool) -> set[str]:
        return {tool.name for tool in fitting_tools(**given)}

    web = {"search_web", "fetch_page"}
    assert not web & names(documents=True)
    assert names(documents=False) == {"calculate", "read_result"}
    assert web | {"cite", "read_document"} <= names(documents=False, web=True)


def test_evidence_of_before_has_no_address() -> None:
    row = {"id": "E1", "file": "a", "page": 1, "quote": "q", "sha256": "s", "start": 0}
    assert Evidence.from_json(row).url == ""


def test_without_a_main_text_the_page_is_shown_whole() -> None:
    pages = [(1, "Menu\nShort text")]
    assert first_pages(pages, "", 1000)[0].text == "Menu\nShort text"
    assert first_pages(pages, "unlike " * 100, 1000)[0].text == "Menu\nShort text"
    (cut,) = first_pages([(1, "line of text\n" * 100)], "", 100)
    assert cut.trimmed
    assert len(cut.text) <= 100
