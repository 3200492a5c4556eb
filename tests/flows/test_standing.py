"""Runs of a standing report with plain steps: changes, deliveries, corrections, and their failures.

Through Prefect, killed, they are in tests/kill.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from deskwork.flows import running
from deskwork.flows.command import cli
from deskwork.flows.deciding import decided
from deskwork.flows.launching import request_going_on
from deskwork.flows.running import Ended, Run, run_job
from deskwork.flows.standing import Standing
from deskwork.tasks.briefing_requests import BriefingRequest, request_by_hand
from deskwork.tasks.briefings import read_briefing
from deskwork.tasks.issues import issue_of
from deskwork.tasks.local_model import Asked, Said, ScriptedModel
from deskwork.tasks.requests import DecisionRequest
from deskwork.tasks.settings import load_settings
from deskwork.tasks.steps import PLAIN
from deskwork.tasks.workbench import Workbench
from deskwork.tools.errors import DeskworkError
from tests.tasks.delivery.mailbox import Mailbox, mailbox

RESULTS = "Net sales rose to {} million euros in fiscal 2025, from 781.3 million euros in 2024.\n"


class Desk:
    """A folder with a standing report over one file, and what its runs left."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "files").mkdir()
        self.sales("842.6")

    def sales(self, number: str) -> None:
        (self.folder / "files" / "acme_results.md").write_text(RESULTS.format(number))

    def file(self, delivery: list[dict[str, Any]], **more: Any) -> Path:
        path = self.folder / "briefing.yaml"
        spec: dict[str, Any] = {
            "name": "sales",
            "question": "How did net sales develop in fiscal 2025?",
        }
        spec |= {"sources": {"files": ["files"]}, "outputs": ["md", "html"], "delivery": delivery}
        path.write_text(json.dumps({**spec, **more}))  # JSON is YAML
        return path

    def bench(self) -> Workbench:
        return Workbench(load_settings())

    async def run(self, file: Path) -> Ended:
        """One run by hand, as the command makes it."""
        bench = self.bench()
        request = request_by_hand(read_briefing(file))
        issued = issue_of(bench.journal, request, datetime.now(UTC), by_hand=True)
        bench.journal.database.close()
        return await self._made(issued)

    async def resume(self, job: str) -> Ended:
        """What `deskwork resume` does."""
        bench = self.bench()
        _, request = request_going_on(bench.journal, job, {})
        bench.journal.database.close()
        assert isinstance(request, BriefingRequest)
        return await self._made(request)

    async def _made(self, request: BriefingRequest) -> Ended:
        async def work(run: Run) -> None:
            run.steps = PLAIN
            await Standing(run, self.out(run.session.job)).work()

        return await run_job("briefing", request, work, None)

    def out(self, job: str) -> Path:
        return load_settings().home / "reports" / job

    def report(self, job: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.out(job) / "report.json").read_text())
        return found

    def calls(self) -> int:
        """Model calls of all jobs that are on record."""
        bench = self.bench()
        count = sum(len(bench.journal.replies(job.id)) for job in bench.journal.jobs())
        bench.journal.database.close()
        return count


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def mail(box: Mailbox, **more: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {"kind": "mail", "to": ["a@example.com"], "from": "d@example.com"}
    return {**fields, "host": "127.0.0.1", "port": box.port, "security": "none", **more}


def body(box: Mailbox, number: int) -> str:
    part = box.mails[number].get_body(("plain",))
    assert part is not None
    return str(part.get_content())


def command(*words: str) -> str:
    result = CliRunner().invoke(cli, list(words), standalone_mode=False)
    if result.exception:
        raise result.exception
    return result.output


async def test_a_changed_file_is_named_in_the_report_and_in_the_mail(desk: Desk) -> None:
    with mailbox() as box:
        file = desk.file([mail(box)])
        first = await desk.run(file)
        assert first.state == "done"
        assert desk.report(first.job)["changes"] is None
        desk.sales("843.1")
        second = await desk.run(file)
    assert second.state == "done"
    assert second.job == f"{first.job}-2"
    changes = desk.report(second.job)["changes"]
    assert changes["previous"] == first.job
    (change,) = changes["changed_claims"]
    assert "842.6" in change["before"]
    assert "843.1" in change["after"]
    text = (desk.out(second.job) / "report.md").read_text()
    assert text.index("## What has changed since 20") < text.index("## Summary")
    assert "What has changed since" in (desk.out(second.job) / "report.html").read_text()
    assert not (desk.out(second.job) / "report.pdf").exists()
    assert "What has changed" not in body(box, 0)
    assert "What has changed since" in body(box, 1)
    assert "843.1" in body(box, 1)
    assert "842.6" in body(box, 1)
    names = [part.get_filename() for part in box.mails[1].iter_attachments()]
    assert names == [f"{second.job}.md", f"{second.job}.html"]
    attached = next(iter(box.mails[1].iter_attachments())).get_content()
    assert attached == text


async def test_an_unchanged_file_is_told_shortly_or_not_delivered(desk: Desk) -> None:
    with mailbox() as box:
        await desk.run(desk.file([mail(box)]))
        second = await desk.run(desk.file([mail(box)]))
        assert "Nothing has changed since the report of 20" in body(box, 1)
        third = await desk.run(desk.file([mail(box)], when_unchanged="skip"))
        assert len(box.mails) == 2
        desk.sales("843.1")
        await desk.run(desk.file([mail(box)], when_unchanged="skip"))
    assert (second.state, third.state) == ("done", "done")
    assert "nothing has changed" in command("show", third.job)
    assert desk.report(second.job)["changes"]["nothing"] is True
    assert len(box.mails) == 3


async def test_a_failed_delivery_is_tried_again_without_research(desk: Desk) -> None:
    busy = True
    with mailbox(lambda number: "554 Not now" if busy else None) as box:
        folder = {"kind": "folder", "path": "copies"}
        first = await desk.run(desk.file([mail(box), folder]))
        assert first.state == "failed"
        assert "mail to a@example.com" in first.reason
        assert "554 Not now" in first.reason
        assert f"deskwork resume {first.job}" in first.reason
        # One that fails keeps none of the others.
        assert (desk.folder / "copies" / first.job / "report.html").exists()
        calls, files = desk.calls(), desk.out(first.job)
        busy = False
        desk.sales("999.9")  # what the files have become is no matter any more
        (files / "report.html").unlink()
        again = await desk.resume(first.job)
    assert (again.state, again.job) == ("done", first.job)
    assert desk.calls() == calls > 0
    assert len(box.mails) == 2  # the one that was refused, and the one that was taken
    assert (files / "report.html").exists()
    assert "999.9" not in (files / "report.html").read_text()


async def test_a_mail_that_may_have_gone_waits_for_a_person(desk: Desk) -> None:
    with mailbox(lambda number: "hang up" if number == 1 else None) as box:
        first = await desk.run(desk.file([mail(box), {"kind": "folder", "path": "copies"}]))
        assert first.state == "waiting for a person"
        assert "It isn't known whether the mail to a@example.com went" in first.reason
        assert f"deskwork answer {first.job} --run-again" in first.reason
        again = await desk.resume(first.job)
        assert again.state == "waiting for a person"
        assert len(box.mails) == 1
        kept = DecisionRequest(job=first.job, decision="run the call again")
        with pytest.raises(DeskworkError, match="no interrupted call"):
            decided(kept)
        told = command("answer", first.job, "--sent")
        assert "decided: mail to a@example.com" in told
        assert (await desk.resume(first.job)).state == "done"
        assert len(box.mails) == 1
        with pytest.raises(DeskworkError, match="no delivery to decide about"):
            command("answer", first.job, "--sent")


async def test_a_person_may_have_it_sent_again(desk: Desk) -> None:
    with mailbox(lambda number: "hang up" if number == 1 else None) as box:
        first = await desk.run(desk.file([mail(box)]))
        flow, _ = decided(DecisionRequest(job=first.job, decision="send again"))
        assert flow == "briefing"
        assert (await desk.resume(first.job)).state == "done"
        assert len(box.mails) == 2
        assert box.mails[0]["Message-ID"] == box.mails[1]["Message-ID"]
        await desk.resume(first.job)  # a finished job run again delivers nothing
        assert len(box.mails) == 2
    assert "whole" in command("verify", first.job)


async def test_an_address_that_is_refused_is_for_review(desk: Desk) -> None:
    with mailbox(refused="b@example.com") as box:
        ended = await desk.run(desk.file([mail(box, to=["a@example.com", "b@example.com"])]))
    assert ended.state == "needs review"
    assert "b@example.com: 550 No such user" in ended.reason
    assert box.recipients == [["a@example.com"]]


async def test_a_correction_holds_in_the_next_run_and_is_no_change(desk: Desk) -> None:
    file = desk.file([])
    first = await desk.run(file)
    sentence = "Net sales were restated to 840.0 million euros."
    claims = desk.report(first.job)["claims"]
    words = next(claim["text"] for claim in claims if "842.6" in claim["text"])
    command("correct", first.job, "--claim", words, "--text", sentence)
    assert sentence in (desk.out(first.job) / "report.md").read_text()
    # The files of a standing report change between its runs; its corrections hold all the same.
    (desk.folder / "files" / "notes.md").write_text("Nothing of interest.\n")
    second = await desk.run(file)
    report = desk.report(second.job)
    assert sentence in report["text"]
    assert report["changes"]["nothing"] is True


async def test_an_unfinished_run_goes_on_and_another_definition_is_another_run(
    desk: Desk,
) -> None:
    with mailbox(lambda number: "554 Not now" if number == 1 else None) as box:
        first = await desk.run(desk.file([mail(box)]))
        assert first.state == "failed"
        again = await desk.run(desk.file([mail(box)]))
        assert (again.job, again.state) == (first.job, "done")
        command("fork", first.job, "--at", "3", "--job", f"{first.job}-fork")  # is no run of it
        anew = await desk.run(desk.file([mail(box)]))
        assert anew.job == f"{first.job}-2"
    other = await desk.run(desk.file([], question="How did net sales change?"))
    assert other.job == f"{first.job}-3"
    assert desk.report(other.job)["changes"]["previous"] == anew.job


async def test_a_figure_that_changed_is_restated_and_stands_in_the_mail(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DESKWORK_MODEL_URL", "http://test/v1")
    monkeypatch.setenv("DESKWORK_MODEL", "test-model")
    with mailbox() as box:
        file = desk.file([mail(box)])
        jobs = []
        for number in ("842.6", "843.1"):
            desk.sales(number)
            token = running.transport.set(ScriptedModel(binding(number)).transport())
            jobs.append(await desk.run(file))
            running.transport.reset(token)
    assert [(job.state, job.reason) for job in jobs] == [("done", "")] * 2
    changes = desk.report(jobs[1].job)["changes"]
    (row,) = changes["restated_figures"]
    assert (row["before"], row["after"]) == ("€842.6 million", "€843.1 million")
    assert row["file"] == "acme_results.md"
    assert "Sales came to €842.6 million" in body(box, 0)  # no id, and no citation
    assert "- Net sales, 2025: €843.1 million, before €842.6 million" in body(box, 1)
    assert not re.search(r"[EF][0-9a-f]{8}", body(box, 0) + body(box, 1))


def binding(number: str) -> Callable[[Asked], Said]:
    """A model that cites the sentence on sales, binds its number and reports it."""
    quote = RESULTS.format(number).strip()

    def say(asked: Asked) -> Said:
        step = asked.system.split(".")[0].removeprefix("Step: ")
        said = str([message["text"] for message in asked.messages])
        evidence, figures = (re.findall(rf"\b{kind}[0-9a-f]{{8}}\b", said) for kind in "EF")
        if step in ("check", "reflect"):
            return Said('{"unsupported": []}')
        if step == "plan":
            parts = [{"title": f"Part {n}", "question": f"Question {n}?"} for n in (1, 2, 3)]
            return Said(json.dumps({"title": "Sales", "investigations": parts}))
        if step == "investigate" and asked.replies == 0:
            return Said(calls=[("cite", {"file": "acme_results.md", "page": 1, "quote": quote})])
        if step == "investigate" and asked.replies == 1:
            told = {"label": "Net sales", "period_end": "2025", "currency": "EUR"}
            call = {"evidence": evidence[-1], "value": number, "scale": "millions", **told}
            return Said(calls=[("bind_figure", call)])
        sentence = f"Sales came to {{{figures[-1]}}} [{evidence[-1]}]." if figures else "None."
        return Said(f"# Sales\n\n## Summary\n\n{sentence}\n" if step == "draft" else sentence)

    return say


async def test_a_missing_secret_is_told_before_anything_is_spent(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    from deskwork.flows import briefing

    target = {"kind": "chat", "url": {"env": "CHAT_URL"}}
    with pytest.raises(DeskworkError, match="variable CHAT_URL is not set"):
        await briefing(desk.file([target]))
    assert not (desk.folder / "home").exists() or desk.calls() == 0


def test_a_scheduled_run_is_the_same_job_again(desk: Desk) -> None:
    bench = desk.bench()
    request = request_by_hand(read_briefing(desk.file([])))
    moment = datetime(2026, 12, 7, 6, 0, tzinfo=UTC)
    ended = asyncio.run(desk._made(issue_of(bench.journal, request, moment)))
    assert ended.job == "briefing-sales-2026-12-07T0600Z"
    again = issue_of(bench.journal, request, moment)
    assert again.job == ended.job
    later = issue_of(bench.journal, request, datetime(2026, 12, 8, 6, 0, tzinfo=UTC))
    assert later.issue is not None
    assert (later.issue.previous, later.issue.since) == (ended.job, "2026-12-07")
    bench.journal.database.close()
