"""Jobs with what the settings connect: the tools are there, and what was decided is on record."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from deskwork.flows.agent import _work
from deskwork.flows.command_documents import tool, tools
from deskwork.flows.running import prepare
from deskwork.tasks.local_model import Said, ScriptedModel
from deskwork.tasks.requests import AskRequest
from deskwork.tasks.settings import load_settings
from deskwork.tasks.starts import find_or_create, first_entry, make_start
from deskwork.tasks.steps import PLAIN
from deskwork.tasks.workbench import Workbench
from deskwork.tools.errors import WrongUse
from tests.jobs import settings_in
from tests.tools.workspace.boxes import needs_bwrap

SETTINGS = """
[databases]
books = "sqlite:///{home}/books.db"

[workspace]
seconds = 20
"""


@needs_bwrap
async def test_a_job_asks_a_database_and_runs_a_program(tmp_path: Path) -> None:
    (tmp_path / "deskwork.toml").write_text(SETTINGS.format(home=tmp_path))
    with sqlite3.connect(tmp_path / "books.db") as made:
        made.execute("CREATE TABLE t (n)")
        made.execute("INSERT INTO t VALUES (41)")
    read = load_settings()
    settings = replace(
        settings_in(tmp_path / "home"), connections=read.connections, workspace=read.workspace
    )
    model = ScriptedModel(
        [
            Said(calls=[("query_database", {"name": "books", "sql": "SELECT n FROM t"})]),
            Said(calls=[("run_python", {"code": "print(41 + 1)"})]),
            Said("42"),
        ]
    )
    bench = Workbench(settings, transport=model.transport())
    request = AskRequest(question="How many?", workspace=True)
    start = make_start("ask", request, bench.recorded_settings())
    assert start.request["workspace"] is True
    assert start.key != make_start("ask", AskRequest(question="How many?"), {}).key
    job = find_or_create(bench.journal, start)
    writer = bench.journal.acquire(job.id)
    try:
        run = await prepare(bench, writer, start, first_entry(bench.journal, job.id))
        run.steps = PLAIN
        await _work(run)
        assert run.answer == "42"
        results = [result for asked in model.requests for result in asked.results]
        assert "| 41 |" in results[0]
        assert results[1] == "Exit code 0.\n42"
    finally:
        writer.release("stopped")
        await bench.close()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[workspace]\nsecnds = 1", r"\[workspace\]"),
        ("[workspace]\nenabled = 1", r"\[workspace\]"),
        ("[workspace]\nfiles = 1.5", r"\[workspace\]"),
        ("databases = 1", "databases in deskwork.toml is no table"),
        ("[mcp]\na = 1", r"\[mcp\.a\]"),
    ],
)
def test_wrong_settings_are_told(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "deskwork.toml").write_text(text)
    with pytest.raises(WrongUse, match=told):
        load_settings()


def test_the_commands_know_connected_tools(tmp_path: Path) -> None:
    (tmp_path / "deskwork.toml").write_text(SETTINGS.format(home=tmp_path))
    with sqlite3.connect(tmp_path / "books.db") as made:
        made.execute("CREATE TABLE t (n)")
    runner = CliRunner()
    listed = runner.invoke(tools, [])
    assert "query_database(name, sql)" in listed.output
    asked = runner.invoke(tool, ["query_database", '{"name": "books", "sql": "SELECT 40 + 2"}'])
    assert "| 42 |" in asked.output
    wrong = runner.invoke(tool, ["query_nothing"])
    assert "There is no tool 'query_nothing'" in str(wrong.exception)
