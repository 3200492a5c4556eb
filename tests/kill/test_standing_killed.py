"""Standing reports as real processes, killed while they deliver and while they watch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from deskwork.tasks import faults
from deskwork.tasks.journal import Journal
from deskwork.tasks.machine import down
from tests.kill.desk import COMMAND, ROOT
from tests.tasks.delivery.mailbox import Mailbox, mailbox
from tests.tools.filings.server import CONTACT, SUBMISSIONS, as_json, columns, sec
from tests.tools.web.server import Reply

pytestmark = pytest.mark.xdist_group("standing")
LIMIT = 180


class Machine:
    """A home with a standing report over one file, and its commands."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir()
        kept = {n: v for n, v in os.environ.items() if not n.startswith(("DESKWORK_", "PREFECT_"))}
        self.env = {**kept, "DESKWORK_HOME": str(self.home), "PYTHONPATH": str(ROOT)}
        (folder / "files").mkdir()
        text = "Net sales of Marvell Technology rose to 842.6 million euros in fiscal 2025.\n"
        (folder / "files" / "acme_results.md").write_text(text)

    def file(self, box: Mailbox, **more: Any) -> Path:
        mail = {"kind": "mail", "to": ["a@example.com"], "from": "d@example.com"}
        server: dict[str, Any] = {"host": "127.0.0.1", "port": box.port, "security": "none"}
        spec = {
            "name": "sales",
            "question": "How did net sales develop in fiscal 2025?",
            "sources": {"files": ["files"], "web": False},
            "outputs": ["md"],
            "delivery": [{"kind": "folder", "path": "copies"}, {**mail, **server}],
        }
        path = self.folder / "briefing.yaml"
        path.write_text(json.dumps({**spec, **more}))
        return path

    def call(self, *argv: str, die_at: str = "") -> subprocess.CompletedProcess[str]:
        env = {**self.env, faults.VARIABLE: die_at} if die_at else self.env
        return subprocess.run(
            argv, env=env, cwd=self.folder, capture_output=True, text=True, timeout=LIMIT
        )

    def deskwork(self, *words: str, die_at: str = "") -> subprocess.CompletedProcess[str]:
        return self.call(str(COMMAND), *words, die_at=die_at)

    def killed(self, *argv: str, die_at: str) -> None:
        died = self.call(*argv, die_at=die_at)
        assert died.returncode == -9, died.stderr

    def calls(self) -> int:
        journal = Journal.open(None, self.home)
        count = sum(len(journal.replies(job.id)) for job in journal.jobs())
        journal.database.close()
        return count


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path)
    try:
        yield made
    finally:
        down(made.home)


def test_a_run_killed_while_it_delivers_sends_no_mail_twice(machine: Machine) -> None:
    with mailbox() as box:
        run = (str(COMMAND), "briefing", str(machine.file(box)))
        machine.killed(*run, die_at="delivering:1")  # in the copy to the folder
        calls = machine.calls()
        assert calls > 0
        machine.killed(*run, die_at="delivered:2")  # the mail is taken, and not recorded
        assert len(box.mails) == 1
        waits = machine.call(*run)
        assert waits.returncode == 4, waits.stderr
        assert "It isn't known whether the mail to a@example.com went" in waits.stderr
        job = next(iter((machine.folder / "copies").iterdir())).name
        assert (machine.folder / "copies" / job / "report.md").exists()
        assert machine.deskwork("answer", job, "--sent").returncode == 0
        machine.killed(str(COMMAND), "resume", job, die_at="before-outcome:1")
        ended = machine.deskwork("resume", job)
        assert ended.returncode == 0, ended.stderr
        assert len(box.mails) == 1
        assert machine.calls() == calls
        assert machine.deskwork("verify", job).returncode == 0


def test_a_watch_killed_anywhere_reports_each_filing_once(machine: Machine) -> None:
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    old = ("0001835632-26-000001", "10-K", today, today, "old.htm")
    new = ("0001835632-26-000002", "10-K/A", today, today, "new.htm")
    other = ("0001835632-26-000003", "8-K", today, today, "event.htm")
    filed = [old]

    def submissions() -> Reply:
        listed = {"recent": columns(*filed), "files": []}
        return as_json({**SUBMISSIONS, "filings": listed})

    with mailbox() as box, sec({"/submissions/CIK0001835632.json": submissions}) as site:
        base = f"http://{site.place}"
        options = {"allow": [site.place], "contact": CONTACT, "sec_www": base, "sec_data": base}
        lines = [f"{name} = {json.dumps(value)}" for name, value in options.items()]
        (machine.folder / "deskwork.toml").write_text("[web]\n" + "\n".join(lines) + "\n")
        trigger = {"filings": {"forms": ["10-K"], "companies": ["MRVL"]}}
        question = "What did {company} say of net sales in its {form}?"
        path = machine.file(box, trigger=trigger, question=question)
        look = (sys.executable, "-m", "tests.kill.look", str(path))

        first = machine.call(*look)  # what is there already is remembered only
        assert first.stdout == "done: no new filing\n", first.stderr
        filed[:0] = [other, new]
        machine.killed(*look, die_at="filing-found:1")
        machine.killed(*look, die_at="after-reply:2")
        assert not box.mails
        machine.killed(*look, die_at="filing-reported:1")
        assert len(box.mails) == 1
        assert machine.call(*look).stdout == "done: no new filing\n"
    assert len(box.mails) == 1
    journal = Journal.open(None, machine.home)
    runs = {job.id: job.state for job in journal.jobs(roots=True)}
    journal.database.close()
    assert runs == {"watch-sales": "done", "briefing-sales-0001835632-26-000002": "done"}
    text = next((machine.folder / "copies").rglob("report.md")).read_text()
    assert "briefing-sales-0001835632-26-000002" in text
