"""The research job's logic with plain steps; through Prefect, killed, it is in tests/kill."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from deskwork.flows.investigation import Research
from deskwork.flows.running import Run, prepare
from deskwork.tasks.limits import Limits
from deskwork.tasks.local_model import Asked, Said, ScriptedModel
from deskwork.tasks.records import decide_plan, plan_in
from deskwork.tasks.requests import ResearchRequest
from deskwork.tasks.starts import find_or_create, first_entry, make_start
from deskwork.tasks.states import NeedsReview, OutOfBudget, WaitingForPerson
from deskwork.tasks.steps import PLAIN
from deskwork.tasks.workbench import Workbench
from deskwork.tools.errors import Stop, WrongUse
from tests.jobs import settings_in

QUOTE = "Net sales rose to 842.6 million in fiscal 2025"
PLAN = {
    "title": "Sales",
    "investigations": [{"title": f"Part {n}", "question": f"Question {n}?"} for n in (1, 2, 3)],
}
Script = Callable[[Asked], Said]


def steps(asked: Asked, *, draft: str = "", quote: str = QUOTE) -> Said:
    """A model that plans, cites one quote in each investigation, and writes a draft."""
    step = asked.system.split(".")[0].removeprefix("Step: ")
    ids = re.findall(r"\bE[0-9a-f]{8}\b", str([m["text"] for m in asked.messages]))
    if step in ("check", "reflect"):
        return Said('{"unsupported": []}')
    if step == "plan":
        return Said(f"Here it is:\n```json\n{json.dumps(PLAN)}\n```")
    if step == "investigate":
        if asked.replies == 0:
            return Said(calls=[("cite", {"file": "a.md", "page": 1, "quote": quote})])
        return Said(f"Sales rose [{ids[0]}]." if ids else "Nothing found.")
    sentence = draft or f"Net sales rose to 842.6 million [{ids[-1]}]."
    return Said(f"# Sales\n\n## Summary\n\n{sentence}\n\n## Limits\n\nNone.")


@contextlib.asynccontextmanager
async def run_of(
    tmp_path: Path,
    model: ScriptedModel,
    limits: Limits | None = None,
    *,
    review_plan: bool = False,
    ends: str = "stopped",
) -> AsyncIterator[Run]:
    files = tmp_path / "files"
    files.mkdir(exist_ok=True)
    (files / "a.md").write_text(f"# Report\n\n{QUOTE}, after 781.3 million in fiscal 2024.\n")
    bench = Workbench(settings_in(tmp_path / "home"), transport=model.transport())
    request = ResearchRequest(
        question="How did sales do?",
        files=[files],
        limits=limits or Limits(),
        review_plan=review_plan,
    )
    start = make_start("research", request, bench.recorded_settings())
    job = find_or_create(bench.journal, start)
    writer = bench.journal.acquire(job.id)
    try:
        run = await prepare(bench, writer, start, first_entry(bench.journal, job.id))
        run.steps = PLAIN
        yield run
    finally:
        writer.release(ends)
        await bench.close()


async def test_a_report_whose_citations_stand(tmp_path: Path) -> None:
    model = ScriptedModel(steps)
    async with run_of(tmp_path, model) as run:
        await Research(run, tmp_path / "out").work()
        children = run.bench.journal.children(run.session.job)
    assert [child.state for child in children] == ["done"] * 3
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["state"] == "done"
    (claim,) = report["claims"]
    assert claim["status"] == "supported"
    (evidence,) = report["evidence"]
    assert (evidence["quote"], evidence["file"], evidence["page"]) == (QUOTE, "a.md", 1)
    markdown = (tmp_path / "out" / "report.md").read_text()
    assert "842.6 million [1]." in markdown
    assert f'1. a.md, page 1: "{QUOTE}"' in markdown
    page = (tmp_path / "out" / "report.html").read_text()
    assert f"<mark>{QUOTE}</mark>, after 781.3 million" in page
    assert not re.findall(r'(?:src|href)="(?!#)', page)
    # Run again, a finished job asks nothing and publishes the same.
    asked = len(model.requests)
    async with run_of(tmp_path, model) as run:
        await Research(run, tmp_path / "out").work()
    assert len(model.requests) == asked
    assert (tmp_path / "out" / "report.md").read_text() == markdown


@pytest.mark.parametrize(
    ("sentence", "problem"),
    [
        ("Net sales rose [E00000000].", "is no evidence of this job"),
        ("Net sales rose [E1].", "is no evidence of this job"),
        ("Net sales rose to 842.6 million.", "states a figure (“842.6”) and cites nothing"),
    ],
)
async def test_what_does_not_stand_is_repaired_or_marked(
    tmp_path: Path, sentence: str, problem: str
) -> None:
    model = ScriptedModel(lambda asked: steps(asked, draft=sentence))
    async with run_of(tmp_path, model) as run:
        with pytest.raises(NeedsReview, match="The report has 1 claim that"):
            await Research(run, tmp_path / "out").work()
        tiers = [(n, c.opening.tier) for n, c in run.session.history.conversations.items()]
    assert [tier for label, tier in tiers if label.split()[0] not in ("check", "reflect")] == [
        "high",
        "high",
        "high",
        "max",
    ]
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert problem in report["rejected"][0]["problem"]
    assert problem in (tmp_path / "out" / "report.md").read_text()
    assert problem in model.requests[-1].messages[0]["text"]


async def test_a_repair_can_succeed(tmp_path: Path) -> None:
    def script(asked: Asked) -> Said:
        wrong = "It was 5 million." if asked.system.startswith("Step: draft") else ""
        return steps(asked, draft=wrong)

    async with run_of(tmp_path, ScriptedModel(script)) as run:
        await Research(run, tmp_path / "out").work()
    assert json.loads((tmp_path / "out" / "report.json").read_text())["state"] == "done"


async def test_no_evidence_ends_in_a_report_that_says_what_was_tried(tmp_path: Path) -> None:
    def script(asked: Asked) -> Said:
        if asked.system.startswith("Step: inv") and asked.replies == 0:
            return Said(calls=[("search_documents", {"query": "unicorns"})])
        return steps(asked)

    model = ScriptedModel(script)
    async with run_of(tmp_path, model) as run:
        with pytest.raises(NeedsReview, match="No evidence was found"):
            await Research(run, tmp_path / "out").work()
    assert "searched for “unicorns”" in (tmp_path / "out" / "report.md").read_text()
    assert not any(asked.system.startswith("Step: draft") for asked in model.requests)


async def test_a_limit_ends_in_a_partial_report_and_can_be_raised(tmp_path: Path) -> None:
    model = ScriptedModel(steps)
    async with run_of(tmp_path, model, Limits(max_steps=3)) as run:
        with pytest.raises(OutOfBudget, match="limit of 3 steps"):
            await Research(run, tmp_path / "out").work()
    text = (tmp_path / "out" / "report.md").read_text()
    assert "**The job did not finish.**" in text
    # Its own limits are no claims of it.
    assert json.loads((tmp_path / "out" / "report.json").read_text())["rejected"] == []
    assert "[not supported]" not in text
    async with run_of(tmp_path, model, Limits(max_steps=50)) as run:
        await Research(run, tmp_path / "out").work()
    assert json.loads((tmp_path / "out" / "report.json").read_text())["state"] == "done"
    # Raising the limit lost nothing: each conversation was asked for each reply once.
    fingerprints = [str(asked.messages) + asked.system for asked in model.requests]
    assert len(set(fingerprints)) == len(fingerprints)


async def test_a_plan_that_is_none_is_asked_for_again_then_given_up(tmp_path: Path) -> None:
    few = json.dumps({"title": "x", "investigations": PLAN["investigations"][:1]})
    model = ScriptedModel(lambda asked: Said(few))
    async with run_of(tmp_path, model) as run:
        with pytest.raises(Stop, match="no usable plan in three tries"):
            await Research(run, tmp_path / "out").work()
    assert len(model.requests) == 3
    assert "at least 3" in model.requests[1].messages[-1]["text"]


async def test_a_second_look_that_fails_is_told(tmp_path: Path) -> None:
    def script(asked: Asked) -> Said:
        return Said("Sorry.") if asked.system.startswith("Step: check") else steps(asked)

    async with run_of(tmp_path, ScriptedModel(script)) as run:
        with pytest.raises(NeedsReview):
            await Research(run, tmp_path / "out").work()
    (claim,) = json.loads((tmp_path / "out" / "report.json").read_text())["rejected"]
    assert "second look failed" in claim["problem"]


async def test_a_sentence_that_its_quote_does_not_support_is_marked(tmp_path: Path) -> None:
    def script(asked: Asked) -> Said:
        if asked.system.startswith("Step: check"):
            assert QUOTE in asked.messages[0]["text"]
            return Said('{"unsupported": [{"claim": 1, "why": "it says nothing of a cause"}]}')
        return steps(asked)

    async with run_of(tmp_path, ScriptedModel(script)) as run:
        with pytest.raises(NeedsReview):
            await Research(run, tmp_path / "out").work()
    text = (tmp_path / "out" / "report.md").read_text()
    assert "**[not supported]**" in text
    assert "it says nothing of a cause" in text


async def test_a_plan_waits_for_a_person_and_goes_on_as_it_was_edited(tmp_path: Path) -> None:
    model = ScriptedModel(steps)
    async with run_of(tmp_path, model, review_plan=True) as run:
        with pytest.raises(
            WaitingForPerson, match="The plan waits for a person: 3 investigations, about"
        ):
            await Research(run, tmp_path / "out").work()
        job = run.session.job
    assert len(model.requests) == 1  # nothing but the plan was paid for
    plan = json.loads((tmp_path / "out" / "plan.json").read_text())
    assert plan == PLAN
    plan["investigations"].append({"title": "Mine", "question": "My own?", "steps": 5})
    (tmp_path / "mine.json").write_text(json.dumps(plan))
    bench = Workbench(settings_in(tmp_path / "home"))
    with pytest.raises(WrongUse, match="doesn't wait for its plan"):
        decide_plan(bench.journal, job, plan_in(tmp_path / "mine.json"))
    bench.journal.acquire(job).release("waiting for a person", "The plan waits for a person.")
    with pytest.raises(WrongUse, match="holds no plan"):
        plan_in(tmp_path / "files" / "a.md")
    decide_plan(bench.journal, job, plan_in(tmp_path / "mine.json"))
    bench.journal.database.close()
    async with run_of(tmp_path, model, review_plan=True) as run:
        await Research(run, tmp_path / "out").work()
        children = run.bench.journal.children(run.session.job)
        titles = [child.title for child in sorted(children, key=lambda child: child.id)]
    assert titles == ["Question 1?", "Question 2?", "Question 3?", "My own?"]
    assert sum(asked.system.startswith("Step: plan") for asked in model.requests) == 1


async def test_what_is_missing_is_investigated_once_more(tmp_path: Path) -> None:
    def script(asked: Asked) -> Said:
        if asked.system.startswith("Step: reflect"):
            rounds = sum(a.system.startswith("Step: reflect") for a in model.requests)
            add = [{"title": "More", "question": f"And then {min(rounds, 1)}?"}]
            return Said(json.dumps({"why": "x", "add": add}))
        return steps(asked)

    model = ScriptedModel(script)
    async with run_of(tmp_path, model) as run:
        await Research(run, tmp_path / "out").work()
        children = run.bench.journal.children(run.session.job)
        titles = [child.title for child in sorted(children, key=lambda child: child.id)]
    # The second round asks for the same again, which is no investigation.
    assert titles == ["Question 1?", "Question 2?", "Question 3?", "And then 1?"]


async def test_a_folder_that_can_not_be_written_loses_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    model = ScriptedModel(steps)
    async with run_of(tmp_path, model) as run:
        with pytest.raises(Stop, match="only the publishing is repeated"):
            await Research(run, tmp_path / "file").work()
    asked = len(model.requests)
    async with run_of(tmp_path, model) as run:
        await Research(run, tmp_path / "out").work()
    assert len(model.requests) == asked
