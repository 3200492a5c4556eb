"""Jobs that use filings: facts are on record with their file; a resume asks the SEC nothing."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from deskwork.flows.agent import LABEL
from deskwork.flows.loop import Budget, run_conversation
from deskwork.flows.running import Run, prepare, settings_of
from deskwork.tasks.forks import verify
from deskwork.tasks.limits import Limits
from deskwork.tasks.local_model import Said, ScriptedModel
from deskwork.tasks.requests import AskRequest
from deskwork.tasks.session import Brief
from deskwork.tasks.starts import find_or_create, first_entry, make_start
from deskwork.tasks.steps import PLAIN
from deskwork.tasks.workbench import Workbench
from deskwork.tools.selection import fitting_tools
from tests.jobs import settings_in
from tests.tools.filings.server import CONTACT, sec, web_of
from tests.tools.web.server import Site

FILE = "127.0.0.1/api/xbrl/companyfacts/CIK0001835632.json"


@contextlib.asynccontextmanager
async def run_of(home: Path, model: ScriptedModel, running: Site) -> AsyncIterator[Run]:
    settings = replace(settings_in(home), web=web_of(running, home).options)
    bench = Workbench(settings, transport=model.transport())
    request = AskRequest(question="What was the revenue?", web=True)
    start = make_start("ask", request, bench.recorded_settings())
    job = find_or_create(bench.journal, start)
    writer = bench.journal.acquire(job.id)
    try:
        run = await prepare(bench, writer, start, first_entry(bench.journal, job.id))
        run.steps = PLAIN
        yield run
    finally:
        writer.release("stopped")
        await bench.close()


async def answer(run: Run) -> str:
    tools = tuple(fitting_tools(documents=False, web=True, filings=True))
    run.session.tools = {tool.name: tool for tool in tools}
    return await run_conversation(
        run.session,
        LABEL,
        lambda: Brief("You are tested.", "What was the revenue?", tools),
        [Budget(Limits(), [run.session])],
        steps=PLAIN,
    )


async def test_facts_stay_with_the_job(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with sec() as running:
        first = ScriptedModel(
            [Said(calls=[("facts", {"company": "MRVL", "concept": "Revenues", "kind": "year"})])]
        )
        async with run_of(home, first, running) as run:
            # The script ends here, as a process that is killed does.
            with pytest.raises(Exception, match="the script has 1 lines"):
                await answer(run)
            (before,) = run.session.history.evidence.values()
        asked = len(running.asked)
        shutil.rmtree(home / "snapshots")
        (home / "library.db").unlink()
        second = ScriptedModel(
            [
                Said(calls=[("cite", {"file": FILE, "page": 1, "quote": before.quote})]),
                Said(f"4,462,383,000 [{before.id}]."),
            ]
        )
        async with run_of(home, second, running) as run:
            assert await answer(run) == f"4,462,383,000 [{before.id}]."
            assert [*run.session.history.evidence.values()] == [before]
            assert verify(run.bench.journal, run.bench.blobs, run.session.job).problem == ""
        assert len(running.asked) == asked
    assert before.accession == "0001835632-22-000016"
    assert before.id in second.requests[0].results[0]


def test_a_job_keeps_whether_it_has_filings(monkeypatch: pytest.MonkeyPatch) -> None:
    request = AskRequest(question="q")
    recorded = Workbench(settings_of(request)).recorded_settings()
    monkeypatch.setenv("DESKWORK_CONTACT", CONTACT)
    assert settings_of(request).web.with_filings
    assert not settings_of(request, recorded).web.with_filings
    # As a job of before recorded it.
    del recorded["web"]["filings"]
    assert not settings_of(request, recorded).web.with_filings
