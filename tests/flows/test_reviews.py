"""Approving and correcting a report, and what later runs of the same job make of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from deskwork.flows.command import cli
from deskwork.flows.investigation import Research
from deskwork.tasks.entries import Draft
from deskwork.tasks.local_model import Asked, Said, ScriptedModel
from tests.flows.test_research import run_of, steps


async def published(tmp_path: Path, draft: str = "") -> tuple[str, dict[str, Any], ScriptedModel]:
    """Run the job once: its id, its report, and the model that was asked."""
    model = ScriptedModel(lambda asked: script(asked, draft))
    async with run_of(tmp_path, model) as run:
        await Research(run, tmp_path / "out").work()
        job = run.session.job
        meta = {"state": "done", "answer": run.answer, "files": list(run.files)}
        await run.session.append([Draft("outcome", {**meta, "report": run.report})])
    return job, report(tmp_path), model


def script(asked: Asked, draft: str) -> Said:
    """The model of `steps`, which also binds the figure that it cites."""
    if asked.system.startswith("Step: inv") and asked.replies == 1:
        (name,) = {w for m in asked.messages for w in _ids(m["text"])} or {""}
        call = {"evidence": name, "value": "842.6", "label": "Net sales", "period_end": "2025"}
        return Said(calls=[("bind_figure", call)])
    return steps(asked, draft=draft)


def _ids(text: str) -> list[str]:
    import re

    return re.findall(r"\bE[0-9a-f]{8}\b", text)


def report(tmp_path: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((tmp_path / "out" / "report.json").read_text())
    return data


def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> str:
    monkeypatch.setenv("DESKWORK_HOME", str(tmp_path / "home"))
    result = CliRunner().invoke(cli, list(words))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


async def test_an_approved_report_says_who_reviewed_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, before, _ = await published(tmp_path)
    assert before["reviewed"] is None
    told = command(tmp_path, monkeypatch, "approve", job, "--by", "A. Reviewer", "--note", "fine")
    assert str(tmp_path / "out" / "report.pdf") in told
    after = report(tmp_path)
    assert after["reviewed"]["by"] == "A. Reviewer"
    for form in ("md", "html"):
        text = (tmp_path / "out" / f"report.{form}").read_text()
        assert "Reviewed by A. Reviewer on 20" in text
        assert "Not reviewed" not in text
    listed = command(tmp_path, monkeypatch, "jobs", "--json")
    assert next(row for row in json.loads(listed) if row["job"] == job)["state"] == "done"
    command(tmp_path, monkeypatch, "verify", job)


async def test_a_corrected_claim_stands_in_this_report_and_in_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, _, _ = await published(tmp_path)
    sentence = "Net sales rose to 842.6 million, restated since."
    command(tmp_path, monkeypatch, "approve", job)
    command(tmp_path, monkeypatch, "correct", job, "--claim", "rose to 842", "--text", sentence)
    first = report(tmp_path)
    assert [claim["status"] for claim in first["claims"]] == ["corrected"]
    assert sentence in (tmp_path / "out" / "report.md").read_text()
    assert first["reviewed"] is None  # an approval covers what it saw, not what came after
    again, second, model = await published(tmp_path)
    assert again == f"{job}-2"
    assert sentence in second["text"]
    assert [claim["status"] for claim in second["claims"]] == ["corrected"]
    draft = next(asked for asked in model.requests if asked.system.startswith("Step: draft"))
    assert f"is to be: “{sentence}”" in draft.messages[0]["text"]


async def test_a_corrected_figure_is_printed_with_its_new_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, before, _ = await published(tmp_path)
    literal = next(row for row in before["figures"] if row["value"] == "842.6")
    command(tmp_path, monkeypatch, "correct", job, "--figure", literal["id"], "--value", "840.1")
    first = report(tmp_path)
    row = next(row for row in first["figures"] if row["id"] == literal["id"])
    assert (row["value"], row["status"]) == ("840.1", "corrected")
    assert "corrected from" in row["vintage"]
    assert "rose to 840.1 million" in (tmp_path / "out" / "report.md").read_text()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--claim", "nothing like it", "--text", "x"), "No claim of"),
        (("--figure", "F00000000", "--value", "1"), "has no figure"),
        (("--claim", "a"), "Say what to correct"),
        ((), "Say what to correct"),
    ],
)
async def test_what_can_not_be_corrected_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], problem: str
) -> None:
    job, _, _ = await published(tmp_path)
    with pytest.raises(Exception, match=problem):
        command(tmp_path, monkeypatch, "correct", job, *words)


def test_a_job_without_a_report_can_not_be_approved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Exception, match="There is no job"):
        command(tmp_path, monkeypatch, "approve", "research-none")
