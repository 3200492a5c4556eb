import asyncio
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from deskwork.tools.desk import DocumentDesk
from deskwork.tools.errors import NotFound, ToolError
from deskwork.tools.library import Library
from deskwork.tools.registry import default_tools
from deskwork.tools.tool import ToolResult
from tests.tools.made import docx, pdf


@pytest.fixture
def desk(tmp_path: Path) -> DocumentDesk:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "report.pdf").write_bytes(
        pdf([["Net sales rose 7.8% to $842.6 million."], ["Risk: one supplier makes all chips."]])
    )
    (folder / "memo.docx").write_bytes(docx(["Capital spending came to $64.8 million."]))
    (folder / "broken.pdf").write_bytes(b"%PDF-")
    return DocumentDesk(Library(tmp_path / "home").collect([folder]))


def run(name: str, desk: DocumentDesk, **arguments: Any) -> ToolResult:
    return asyncio.run(default_tools()[name].run(arguments, desk))


def test_search_results_are_a_line_and_a_snippet_each(desk: DocumentDesk) -> None:
    result = run("search_documents", desk, query="net sales")
    head, snippet, *_ = result.text.split("\n")
    assert re.fullmatch(r"\[1\] report\.pdf · page 1 · score \d+\.\d{3}", head)
    assert snippet == "Net sales rose 7.8% to $842.6 million."
    assert result.data[0]["file"] == "report.pdf"
    assert "Nothing in the documents matches" in run("search_documents", desk, query="zebra").text


def test_reading_tells_the_page_and_how_many_there_are(desk: DocumentDesk) -> None:
    text = run("read_document", desk, file="report.pdf", page=1, pages=9).text
    assert text == (
        "report.pdf · page 1 of 2\nNet sales rose 7.8% to $842.6 million.\n\n"
        "report.pdf · page 2 of 2\nRisk: one supplier makes all chips."
    )
    with pytest.raises(NotFound, match="Its pages are 1 to 2"):
        run("read_document", desk, file="report.pdf", page=3)


def test_the_list_has_every_file(desk: DocumentDesk) -> None:
    lines = run("list_documents", desk).text.split("\n")
    assert lines[0] == "3 documents."
    assert lines[1].startswith("- broken.pdf · failed · broken.pdf is broken")
    assert lines[2:] == ["- memo.docx · docx · 1 page", "- report.pdf · pdf · 2 pages"]


def test_citing_gives_evidence_or_refuses(desk: DocumentDesk) -> None:
    result = run("cite", desk, file="report.pdf", page=1, quote="rose 7.8% to $842.6 million")
    (evidence,) = result.evidence
    assert result.text.startswith(f"{evidence.id} · report.pdf · page 1\n“rose 7.8% to")
    assert f"[{evidence.id}]" in result.text
    with pytest.raises(ToolError, match="closest passage"):
        run("cite", desk, file="report.pdf", page=1, quote="rose 8.7% to $842.6 million")
    kept = DocumentDesk(desk.collection, {evidence.id: evidence})
    assert kept.evidence(evidence.id) == evidence
    assert kept.evidence("E00000000") is None


def test_looking_brings_a_picture(desk: DocumentDesk) -> None:
    result = run("look_at_page", desk, file="report.pdf", page=2)
    assert result.images[0].startswith(b"\x89PNG")


def test_every_tool_is_described_and_repeatable() -> None:
    tools = default_tools()
    assert list(tools) == [
        "list_documents",
        "search_documents",
        "read_document",
        "look_at_page",
        "cite",
        "calculate",
        "list_tables",
        "query_table",
        "cite_picture",
        "bind_figure",
        "derive_figure",
        "draw_chart",
        "search_web",
        "fetch_page",
        "company",
        "filings",
        "read_filing",
        "filing_search",
        "facts",
        "run_python",
        "run_command",
    ]
    for tool in tools.values():
        assert tool.repeatable
        assert tool.description
        assert "desk" not in tool.parameters["properties"]
    with pytest.raises(NotFound, match=r"There is no tool 'web'\. Tools: list_documents, "):
        tools.select(["cite", "web"])
    assert list(tools.select(["cite"])) == ["cite"]


def test_importing_the_tools_loads_no_heavy_library() -> None:
    code = (
        "import sys, deskwork.tools.registry, deskwork.tools.pictures, deskwork.tools.desk;"
        "heavy = {'docx', 'duckdb', 'matplotlib', 'mcp', 'openpyxl', 'pypdfium2', 'lxml', 'PIL',"
        "'pydantic_monty', 'prefect'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
