"""The evaluation's logic with plain steps: scores, variants side by side, nothing asked twice."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from deskwork.flows.evaluating import Evaluation
from deskwork.flows.running import Run, prepare, transport
from deskwork.tasks.limits import Limits
from deskwork.tasks.local_model import Asked, Said, ScriptedModel
from deskwork.tasks.requests import EvaluationRequest
from deskwork.tasks.starts import find_or_create, first_entry, make_start
from deskwork.tasks.states import OutOfBudget
from deskwork.tasks.steps import PLAIN
from deskwork.tasks.workbench import Workbench
from tests.jobs import settings_in

PAGE = "# Acme\n\n(in millions) 2025 2024\n\nNet sales 8,426 7,813\n\nIt was founded by Ada.\n"
SET: list[dict[str, Any]] = [
    {"id": "q1", "question": "Net sales of 2025 in USD millions?", "answer": "$8,426.00",
     "evidence": [{"doc": "acme", "page_index": 0}]},
    {"id": "q2", "question": "Who founded it?", "answer": "A pioneer of computing",
     "evidence": [{"doc": "acme", "page_index": 0}]},
    {"id": "q3", "question": "Net sales of 2024 in USD millions?", "answer": "7,813"},
]  # fmt: skip


def answering(asked: Asked) -> Said:
    """Right about q1 and, in other words, q2; wrong about q3, with a number it makes up."""
    text = str(asked.messages[0]["text"])
    if asked.system.startswith("Step: grade"):
        return Said(json.dumps({"right": "founded" in text, "why": "the same person"}))
    if "2024" in text:
        return Said("It was 9,999 million.")
    quote = "Net sales 8,426 7,813" if "2025" in text else "It was founded by Ada."
    if asked.replies == 0:
        return Said(calls=[("cite", {"file": "acme.md", "page": 1, "quote": quote})])
    (name,) = set(re.findall(r"\bE[0-9a-f]{8}\b", str(asked.messages)))
    said = "Net sales were $8,426 million in 2025" if "2025" in text else "Ada did"
    return Said(f"{said} [{name}].")


@contextlib.asynccontextmanager
async def run_of(folder: Path, model: ScriptedModel, **more: Any) -> AsyncIterator[Run]:
    (folder / "files").mkdir(exist_ok=True)
    (folder / "files" / "acme.md").write_text(PAGE)
    (folder / "files" / "other.md").write_text("# Other\n\nNothing of the kind.\n")
    (folder / "set.jsonl").write_text("\n".join(map(json.dumps, SET)))
    bench = Workbench(settings_in(folder / "home"), transport=model.transport())
    more.setdefault("limits", Limits(max_steps=None))
    request = EvaluationRequest(
        files=[folder / "files"], question_set=folder / "set.jsonl", set_hash="x", **more
    )
    start = make_start("evaluate", request, bench.recorded_settings())
    job = find_or_create(bench.journal, start)
    writer = bench.journal.acquire(job.id)
    transport.set(model.transport())
    try:
        run = await prepare(bench, writer, start, first_entry(bench.journal, job.id))
        run.steps = PLAIN
        yield run
    finally:
        writer.release("stopped")
        await bench.close()


def scores(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    data = json.loads((folder / "out" / "evaluation.json").read_text())
    return {(row["variant"], row["id"]): row for row in data["scores"]}


async def test_answers_are_scored(tmp_path: Path) -> None:
    async with run_of(tmp_path, ScriptedModel(answering)) as run:
        await Evaluation(run, tmp_path / "out").work()
        model = run.session.settings.model
    rows = {name: row for (_, name), row in scores(tmp_path).items()}
    first, second, third = rows["q1"], rows["q2"], rows["q3"]
    assert (first["right"], first["cited"], first["found"]) == (True, True, 1)
    assert (first["citations"], first["standing"], first["unbound"]) == (1, 1, 0)
    assert first["pages"] == [["acme.md", 1]]
    assert (second["right"], second["why"]) == (True, "judged: the same person")
    assert (third["right"], third["cited"], third["unbound"]) == (False, None, 1)
    assert third["why"] == "no number in it is 7,813"
    page = (tmp_path / "out" / "evaluation.html").read_text()
    assert "9,999 million" in page
    assert f"| {model}, high | 3 | 0.67 (2 of 3) | 0 |" in run.answer


async def test_models_and_budgets_stand_side_by_side_and_nothing_is_asked_twice(
    tmp_path: Path,
) -> None:
    model = ScriptedModel(answering)
    both = {"models": ["one", "two"], "budgets": ["low", "max"]}
    async with run_of(tmp_path, model, **both, limits=Limits(max_steps=9)) as run:
        with pytest.raises(OutOfBudget):
            await Evaluation(run, tmp_path / "out").work()
    some = len(scores(tmp_path))
    assert 0 < some < 12
    async with run_of(tmp_path, model, **both) as run:
        await Evaluation(run, tmp_path / "out").work()
    rows = scores(tmp_path)
    assert {name for name, _ in rows} == {"one, low", "one, max", "two, low", "two, max"}
    assert len(rows) == 12
    assert sum(row["right"] for row in rows.values()) == 8
    # Two budgets of a model give the same answer here, and each is graded.
    answers = [a for a in model.requests if a.system.startswith("Step: answer")]
    asked = [(a.body["model"], a.body["thinking_budget"], str(a.messages)) for a in answers]
    assert len(set(asked)) == len(asked)
    before = len(model.requests)
    async with run_of(tmp_path, model, **both) as run:
        await Evaluation(run, tmp_path / "out").work()
    assert len(model.requests) == before


async def test_a_question_can_be_asked_over_its_own_file(tmp_path: Path) -> None:
    seen: list[str] = []

    def listing(asked: Asked) -> Said:
        if asked.replies == 0 and asked.tools:
            return Said(calls=[("list_documents", {})])
        if not asked.system.startswith("Step: grade"):
            seen.append(str(asked.messages[-1]["text"]))
        return Said("8,426")

    async with run_of(tmp_path, ScriptedModel(listing), scope="file") as run:
        await Evaluation(run, tmp_path / "out").work()
    assert sorted(text.splitlines()[0] for text in seen) == [
        "1 document.",
        "1 document.",
        "2 documents.",
    ]
