"""Jobs that use the web: what was fetched is on record, a resume needs neither web nor cache."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from deskwork.flows import calls
from deskwork.flows.agent import LABEL
from deskwork.flows.command import cli
from deskwork.flows.investigation import Research
from deskwork.flows.loop import Budget, run_conversation
from deskwork.flows.running import Run, prepare
from deskwork.tasks.forks import verify
from deskwork.tasks.limits import Limits
from deskwork.tasks.local_model import Asked, Said, ScriptedModel
from deskwork.tasks.requests import ResearchRequest
from deskwork.tasks.session import Brief
from deskwork.tasks.settings import load_settings
from deskwork.tasks.starts import find_or_create, first_entry, make_start
from deskwork.tasks.states import NeedsReview
from deskwork.tasks.steps import PLAIN
from deskwork.tasks.usage import usage_rows
from deskwork.tasks.workbench import Workbench
from deskwork.tools.errors import WrongUse
from deskwork.tools.selection import fitting_tools
from deskwork.tools.web.options import WebOptions
from tests.jobs import settings_in
from tests.tools.web.server import SENTENCES, Reply, Site, article, site

QUOTE = SENTENCES[0][:-1]
PLAN = {
    "title": "Sales",
    "investigations": [{"title": f"Part {n}", "question": f"Question {n}?"} for n in (1, 2, 3)],
}
EMPTY = Reply(b'{"results": [], "unresponsive_engines": []}')
THROTTLED = Reply(b'{"results": [], "unresponsive_engines": [["brave", "too many requests"]]}')
RESULTS = {"results": [{"title": "Annual results", "url": "http://x.example/", "content": "up"}]}


@contextlib.asynccontextmanager
async def run_of(
    home: Path, model: ScriptedModel, running: Site, *, web: bool | None = True
) -> AsyncIterator[Run]:
    options = WebOptions(
        search="searxng",
        searxng_url=running.url(""),
        allow=(running.place,),
        per_second=1000,
        max_bytes=100_000,
    )
    settings = replace(settings_in(home), web=options)
    bench = Workbench(settings, transport=model.transport())
    request = ResearchRequest(question="How did sales do?", web=web)
    start = make_start("research", request, bench.recorded_settings())
    job = find_or_create(bench.journal, start)
    writer = bench.journal.acquire(job.id)
    try:
        run = await prepare(bench, writer, start, first_entry(bench.journal, job.id))
        run.steps = PLAIN
        yield run
    finally:
        writer.release("stopped")
        await bench.close()


def step_of(asked: Asked) -> str:
    return asked.system.split(".")[0].removeprefix("Step: ")


def ids_in(asked: Asked) -> list[str]:
    return re.findall(r"\bE[0-9a-f]{8}\b", str([message["text"] for message in asked.messages]))


def scripted(running: Site) -> ScriptedModel:
    """Plans; each investigation searches, fetches, cites from what it fetched, and writes."""

    def script(asked: Asked) -> Said:
        step = step_of(asked)
        if step == "plan":
            return Said(json.dumps(PLAN))
        if step in ("check", "reflect"):
            return Said('{"unsupported": []}')
        if step == "investigate":
            if asked.replies == 0:
                return Said(calls=[("search_web", {"query": "annual results"})])
            if asked.replies == 1:
                return Said(calls=[("fetch_page", {"url": running.url("/results")})])
            if asked.replies == 2:
                given = {"file": "127.0.0.1/results", "page": 1, "quote": QUOTE}
                return Said(calls=[("cite", given)])
            ids = ids_in(asked)
            return Said(f"Sales rose [{ids[0]}]." if ids else "Nothing was found.")
        return Said(
            f"# Sales\n\n## Summary\n\nNet sales rose to 842.6 million [{ids_in(asked)[-1]}].\n\n"
            "## Limits\n\nNone."
        )

    return ScriptedModel(script)


async def test_a_report_from_the_web_leads_back_to_the_page(tmp_path: Path) -> None:
    pages = {
        "/search": Reply(json.dumps(RESULTS).encode()),
        "/results": Reply(article()),
    }
    with site({**pages}) as running:
        model = scripted(running)
        async with run_of(tmp_path / "home", model, running) as run:
            await Research(run, tmp_path / "out").work()
            children = [child.id for child in run.bench.journal.children(run.session.job)]
            checked = [verify(run.bench.journal, run.bench.blobs, child) for child in children]
        assert running.paths().count("/results") == 1
        url = running.url("/results")
    assert [(row.problem, row.blobs) for row in checked] == [("", 1)] * 3
    plan = next(asked for asked in model.requests if step_of(asked) == "plan")
    assert "The web can be searched as well" in plan.messages[0]["text"]
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["state"] == "done"
    (evidence,) = report["evidence"]
    assert evidence["url"] == url
    assert evidence["retrieved"].endswith("Z")
    assert evidence["file"] == "127.0.0.1/results"
    markdown = (tmp_path / "out" / "report.md").read_text()
    assert f"(<{url}>, retrieved {evidence['retrieved']})" in markdown
    page = (tmp_path / "out" / "report.html").read_text()
    assert f'<a href="{url}"' in page
    assert f"<mark>{QUOTE}</mark>" in page

    # Again, with the web and the cache gone: nothing is asked, and the report is the same.
    shutil.rmtree(tmp_path / "home" / "snapshots")
    (tmp_path / "home" / "library.db").unlink()
    asked = len(model.requests)
    async with run_of(tmp_path / "home", model, running) as run:
        await Research(run, tmp_path / "out").work()
    assert len(model.requests) == asked
    assert (tmp_path / "out" / "report.md").read_text() == markdown


async def test_a_job_goes_on_from_its_record_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"

    async def answer(run: Run, model: ScriptedModel) -> str:
        tools = tuple(fitting_tools(documents=False, web=True))
        run.session.tools = {tool.name: tool for tool in tools}
        return await run_conversation(
            run.session,
            LABEL,
            lambda: Brief("You are tested.", "How did sales do?", tools),
            [Budget(Limits(), [run.session])],
            steps=PLAIN,
        )

    with site({"/results": Reply(article())}) as running:
        url = running.url("/results")
        first = ScriptedModel([Said(calls=[("fetch_page", {"url": url})])])
        async with run_of(home, first, running) as run:
            # The script ends here, as a process that is killed does.
            with pytest.raises(Exception, match="the script has 1 lines"):
                await answer(run, first)
            assert [source.url for source in run.session.history.sources] == [url]
    shutil.rmtree(home / "snapshots")
    (home / "library.db").unlink()
    given = {"file": "127.0.0.1/results", "page": 1, "quote": QUOTE}
    second = ScriptedModel(
        [
            Said(
                calls=[
                    ("cite", given),
                    ("list_documents", {}),
                    ("read_document", {"file": "127.0.0.1/results", "page": 1}),
                ]
            ),
            Said("They rose."),
        ]
    )
    async with run_of(home, second, running) as run:
        assert await answer(run, second) == "They rose."
        (evidence,) = run.session.history.evidence.values()
    assert evidence.url == url
    assert any("html · 1 page · fetched from" in text for text in second.requests[1].results)


async def test_each_failure_is_named_in_the_report(tmp_path: Path) -> None:
    # A host that throttles is left alone for a while: the throttled search comes last.
    calls = [
        ("search_web", {"query": "empty words"}, "Nothing found"),
        ("search_web", {"query": "throttled words"}, "Throttled"),
        ("fetch_page", {"url": "/forbidden"}, "Forbidden"),
        ("fetch_page", {"url": "/missing"}, "Not found"),
        ("fetch_page", {"url": "/blocked"}, "Block page"),
        ("fetch_page", {"url": "/half"}, "Half a download"),
        ("fetch_page", {"url": "http://169.254.169.254/latest"}, "Refused address"),
    ]
    pages = {
        "/search?q=throttled+words&format=json": THROTTLED,
        "/search?q=empty+words&format=json": EMPTY,
        "/forbidden": Reply(b"Forbidden", 403),
        "/missing": Reply(b"", 404),
        "/blocked": Reply(b"<html><title>Just a moment...</title></html>", 403),
        "/half": Reply(b"<html>", declared=9000),
    }

    with site({**pages}) as running:

        def whole(given: dict[str, str]) -> dict[str, str]:
            url = given.get("url", "")
            return {**given, "url": running.url(url)} if url.startswith("/") else given

        def script(asked: Asked) -> Said:
            if step_of(asked) == "plan":
                return Said(json.dumps(PLAN))
            if asked.replies < 2 and "Question 1?" in asked.messages[0]["text"]:
                now = calls[1:] if asked.replies else calls[:1]
                return Said(calls=[(name, whole(given)) for name, given, _ in now])
            return Said("Nothing was found.")

        model = ScriptedModel(script)
        async with run_of(tmp_path / "home", model, running) as run:
            with pytest.raises(NeedsReview, match="No evidence was found"):
                await Research(run, tmp_path / "out").work()
            rows = {row["tool"]: row for row in usage_rows(run.bench.journal, "tool")}
    report = (tmp_path / "out" / "report.md").read_text()
    assert "## What was tried" in report
    for name, given, kind in calls:
        word = next(iter(whole(given).values()))
        start = f"searched the web for “{word}”" if name == "search_web" else f"fetched {word}"
        assert f"- {start}: {kind}: " in report
    told = json.dumps(rows)
    for kind in ("throttled", "nothing found", "half a download", "block page"):
        assert kind in told
    notes = json.loads((tmp_path / "out" / "report.json").read_text())["notes"]
    assert len(notes) == len(calls)


async def test_a_job_without_the_web_has_no_such_tools(tmp_path: Path) -> None:
    with site({}) as running:
        model = scripted(running)
        async with run_of(tmp_path / "home", model, running, web=False) as run:
            with pytest.raises(NeedsReview):
                await Research(run, tmp_path / "out").work()
    assert running.asked == []
    investigation = next(asked for asked in model.requests if step_of(asked) == "investigate")
    assert "search_web" not in str(investigation.tools)
    assert "The web" not in investigation.messages[0]["text"]
    assert any(
        "unknown tool 'search_web'" in text for asked in model.requests for text in asked.results
    )


def test_the_command_runs_the_tools(tmp_path: Path) -> None:
    def run(*argv: str) -> Result:
        return CliRunner().invoke(cli, argv, standalone_mode=False)

    pages = {"/search": Reply(json.dumps(RESULTS).encode()), "/results": Reply(article())}
    with site({**pages}) as running:
        Path("deskwork.toml").write_text(
            f'[web]\nsearch = "searxng"\nsearxng_url = "{running.url("")}"\n'
            f'allow = ["{running.place}"]\n'
        )
        found = run("tool", "search_web", json.dumps({"query": "sales"}), "--json")
        assert json.loads(found.output)["data"][0]["url"] == "http://x.example/"
        page = json.loads(
            run("tool", "fetch_page", json.dumps({"url": running.url("/results")}), "--json").output
        )
        assert page["sources"][0]["final_url"] == running.url("/results")
        assert SENTENCES[0] in page["text"]
        refused = run("tool", "fetch_page", json.dumps({"url": "http://[::1]/"}))
        assert refused.output.startswith("Error: Refused address: ")
        assert refused.return_value == 6
    assert {"search_web(query, top)", "fetch_page(url)"} <= set(run("tools").output.splitlines())


async def test_a_search_that_lacks_its_address_is_told_before_there_is_a_job() -> None:
    Path("deskwork.toml").write_text('[web]\nenabled = true\nsearch = "searxng"\n')
    with pytest.raises(WrongUse, match="searxng_url"):
        await calls.research("How did sales do?")
    bench = Workbench(load_settings())
    assert bench.journal.jobs() == []
    bench.journal.database.close()
