"""The command over a journal: no Prefect is needed for the record."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from deskwork.flows import calls
from deskwork.flows.command import cli
from deskwork.tasks.limits import Limits
from deskwork.tasks.local_model import Said, ScriptedModel
from deskwork.tasks.requests import AskRequest
from deskwork.tasks.settings import load_settings
from deskwork.tasks.starts import find_or_create, first_entry, make_start
from deskwork.tasks.workbench import Workbench
from deskwork.tools.errors import DeskworkError, WrongUse
from tests.jobs import answer, opened


def run(*argv: str) -> Result:
    result = CliRunner().invoke(cli, argv, standalone_mode=False)
    if result.exception and not isinstance(result.exception, DeskworkError):
        raise result.exception
    return result


@pytest.fixture
def home() -> Path:
    return Path(os.environ["DESKWORK_HOME"])


async def job_in(home: Path) -> None:
    model = ScriptedModel([Said(calls=[("echo", {"text": "a"})]), Said("The answer.")])
    async with opened(home, model) as session:
        await answer(session)


async def test_jobs_show_verify_usage(home: Path) -> None:
    await job_in(home)
    (row,) = json.loads(run("jobs", "--json").output)
    assert (row["job"], row["state"]) == ("job", "stopped")
    record = json.loads(run("show", "job", "--json").output)
    entries = record["entries"]
    assert [e["seq"] for e in entries] == list(range(len(entries)))
    assert [e["parent"] for e in entries[1:]] == [e["digest"] for e in entries[:-1]]
    assert {"role", "bytes", "message"} <= set(entries[0])
    assert "whole" in run("verify", "job").output
    (tool,) = json.loads(run("usage", "--by", "tool", "--json").output)
    assert tool["tool"] == "echo"
    assert tool["ok"] == 1
    (tier,) = json.loads(run("usage", "--by", "budget", "--json").output)
    assert (tier["budget"], tier["calls"]) == ("high", 2)


def start_of(question: str) -> None:
    bench = Workbench(load_settings())
    request = AskRequest(question=question)
    find_or_create(bench.journal, make_start("ask", request, bench.recorded_settings()))
    bench.journal.database.close()


def test_a_fork_keeps_settings_and_can_be_gone_on_with() -> None:
    start_of("why?")
    (row,) = json.loads(run("jobs", "--json").output)
    name = run("fork", row["job"], "--at", "1", "--job", "mine").output.split()[0]
    assert name == "mine"
    bench = Workbench(load_settings())
    recorded = first_entry(bench.journal, "mine")
    request = AskRequest(**recorded["request"], budget=recorded["settings"]["budget"])
    start = make_start("ask", request, bench.recorded_settings())
    assert find_or_create(bench.journal, start, "mine").id == "mine"
    # The same question asked plainly still means the first job, not the fork.
    assert find_or_create(bench.journal, start).id == row["job"]
    bench.journal.database.close()


def test_wrong_use_is_a_sentence_and_makes_no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    for argv in (
        ("ask", ""),
        ("ask", "   "),
        ("ask", "x", "--job", "../../etc"),
        ("ask", "x", "--tool", "nosuch"),
        ("ask", "x", "--tool", "os:system"),
        ("ask", "x", "--image", "/etc/passwd"),
        ("ask", "x", "--files", "/nope"),
        ("ask", "x", "--max-cost", "nan"),
        ("show", "nosuch"),
    ):
        result = run(*argv)
        assert isinstance(result.exception, DeskworkError), argv
        assert result.exception.exit_code == 2, argv
    monkeypatch.setenv("DESKWORK_MODEL_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("DESKWORK_MODEL", "m")
    assert "no price" in str(run("ask", "x", "--max-cost", "1").exception)
    monkeypatch.setenv("DESKWORK_MODEL_URL", "http://me:hunter2@host/v1")
    assert "hunter2" not in str(run("jobs").exception)
    monkeypatch.delenv("DESKWORK_MODEL_URL")
    assert json.loads(run("jobs", "--json").output) == []
    monkeypatch.setenv("DESKWORK_DATABASE_URL", "garbage")
    assert "no database address" in str(run("jobs").exception)


def test_limits_are_checked() -> None:
    with pytest.raises(WrongUse, match="max_steps can't be 0"):
        calls.checked(Limits, max_steps=0)


def test_documents(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Report\n\nNet sales rose to 842.6 million in 2025.\n")
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    found = run("search", "net sales 2025", "--files", str(tmp_path), "--json")
    (hit,) = json.loads(found.stdout)
    assert (hit["file"], hit["page"]) == ("a.md", 1)
    document = json.loads(run("read", str(tmp_path / "a.md"), "--json").output)
    assert document["pages"][0]["number"] == 1
    assert "842.6" in run("read", str(tmp_path / "a.md"), "--page", "1").output
    assert "there is no page 7" in str(run("read", str(tmp_path / "a.md"), "--page", "7").exception)
    assert run("tool", "calculate", '{"expression": "0.1 + 0.2"}').output == "0.1 + 0.2 = 0.3\n"
    names = [tool["name"] for tool in json.loads(run("tools", "--json").output)]
    assert {"search_documents", "cite", "calculate", "read_result"} <= set(names)


@pytest.mark.parametrize("module", ["deskwork.flows", "deskwork.flows.command"])
def test_importing_loads_no_prefect(module: str) -> None:
    code = f"import sys, {module}; from deskwork.flows import ask; print('prefect' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
