"""Approving and correcting a report, and what later runs of the same job make of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from deskwork.flows.command import cli
from deskwork.flows.investigation import Research
from deskwork.flows.running import Run
from deskwork.tasks.entries import Draft
from deskwork.tasks.limits import Limits
from deskwork.tasks.local_model import Asked, Said, ScriptedModel
from deskwork.tasks.states import NeedsReview, OutOfBudget
from deskwork.tools.errors import WrongUse
from tests.flows.test_research import run_of, steps


async def published(tmp_path: Path, draft: str = "") -> tuple[str, dict[str, Any], ScriptedModel]:
    """Run the job once: its id, its report, and the model that was asked."""
    model = ScriptedModel(lambda asked: script(asked, draft))
    async with run_of(tmp_path, model, ends="done") as run:
        await Research(run, tmp_path / "out").work()
        job = await outcome(run)
    return job, report(tmp_path), model


async def outcome(run: Run) -> str:
    """Record the end of a run, as `run_job` does; the job's id."""
    meta = {"state": "done", "answer": run.answer, "files": list(run.files)}
    await run.session.append([Draft("outcome", {**meta, "report": run.report})])
    return run.session.job


def script(asked: Asked, draft: str) -> Said:
    """The model of `steps`, which also binds the figure that it cites."""
    if asked.system.startswith("Step: inv") and asked.replies == 1:
        (name,) = {w for m in asked.messages for w in _ids(m["text"])} or {""}
        call = {"evidence": name, "value": "842.6", "label": "Net sales", "period_end": "2025"}
        return Said(calls=[("bind_figure", call)])
    return steps(asked, draft=draft)


def _ids(text: str) -> list[str]:
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


async def test_a_correction_is_told_in_every_form_with_its_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, before, _ = await published(tmp_path)
    literal = next(row for row in before["figures"] if row["value"] == "842.6")
    words = ("--figure", literal["id"], "--by", "A. Reviewer")
    command(tmp_path, monkeypatch, "correct", job, *words, "--value", "840.1", "--note", "amended")
    command(tmp_path, monkeypatch, "correct", job, *words, "--value", "839")
    for form in ("md", "html"):
        text = (tmp_path / "out" / f"report.{form}").read_text()
        assert "Corrected by a reviewer" in text
        assert "from 842.6 million to 840.1 million by A. Reviewer" in text
        assert "from 840.1 million to 839 million by A. Reviewer" in text
        assert "amended" in text
        assert "rose to 839 million" in re.sub("<[^>]+>", "", text)
    assert report(tmp_path)["claims"][0]["status"] == "corrected"
    # The next run keeps to it, although its model says what the source says.
    again, second, _ = await published(tmp_path)
    command(tmp_path, monkeypatch, "approve", again)
    assert "rose to 839 million" in (tmp_path / "out" / "report.md").read_text()
    assert [row["value"] for row in second["figures"]] == ["839"]
    assert "842.6" in second["figures"][0]["vintage"]


async def test_a_value_that_is_none_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, before, _ = await published(tmp_path)
    name = before["figures"][0]["id"]
    for value in ("nan", "1e999"):
        with pytest.raises(WrongUse, match=f"'{value}' is no number"):
            command(tmp_path, monkeypatch, "correct", job, "--figure", name, "--value", value)
    assert report(tmp_path) == before


async def test_a_report_without_evidence_is_approved_only_anyway(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(asked: Asked) -> Said:
        return Said("Nothing.") if asked.system.startswith("Step: inv") else steps(asked)

    async with run_of(tmp_path, ScriptedModel(nothing), ends="needs review") as run:
        with pytest.raises(NeedsReview):
            await Research(run, tmp_path / "out").work()
        job = await outcome(run)
    with pytest.raises(WrongUse, match="no evidence was found"):
        command(tmp_path, monkeypatch, "approve", job)
    command(tmp_path, monkeypatch, "approve", job, "--anyway", "--by", "A. Reviewer")
    assert "no evidence was found" in report(tmp_path)["reviewed"]["anyway"]
    text = (tmp_path / "out" / "report.md").read_text()
    assert re.search(r"Reviewed by A. Reviewer on \S+, although no evidence was found", text)


async def test_an_unfinished_job_is_not_approved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = Limits(max_steps=5)
    async with run_of(tmp_path, ScriptedModel(steps), limits, ends="out of budget") as run:
        with pytest.raises(OutOfBudget):
            await Research(run, tmp_path / "out").work()
        job = await outcome(run)
    with pytest.raises(WrongUse, match="not finished, its state is “out of budget”"):
        command(tmp_path, monkeypatch, "approve", job)


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
