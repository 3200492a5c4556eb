"""Looks for new filings at an SEC on loopback; the runs they start have plain steps.

Through Prefect, killed, they are in tests/kill.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from deskwork.flows.running import Run, run_job
from deskwork.flows.standing import Standing
from deskwork.flows.watching import Watch
from deskwork.tasks.briefing_requests import BriefingRequest, WatchRequest, watch_of
from deskwork.tasks.briefings import Briefing
from deskwork.tasks.settings import load_settings
from deskwork.tasks.starts import find_or_create, make_start
from deskwork.tasks.states import NeedsReview
from deskwork.tasks.steps import PLAIN
from deskwork.tasks.watched import Seen
from deskwork.tasks.workbench import Workbench
from deskwork.tools.errors import Stop, ToolError
from tests.tools.filings.server import CONTACT, SUBMISSIONS, as_json, columns, sec
from tests.tools.web.server import Reply

Row = tuple[str, str, str, str, str]
LIST = "/submissions/CIK0001835632.json"


def row(number: int, form: str = "10-K", days: int = 0) -> Row:
    day = f"{datetime.now(UTC) - timedelta(days=days):%Y-%m-%d}"
    return (f"0001835632-26-{number:06d}", form, day, day, f"n{number}.htm")


@dataclass
class Sec:
    """What is filed, and a standing report that watches it."""

    folder: Path
    filed: list[Row] = field(default_factory=list)
    down: bool = False
    started: list[str] = field(default_factory=list)
    fails: bool = False

    def submissions(self) -> Reply:
        if self.down:
            return Reply(b"<html>no</html>", 503)
        listed = {"recent": columns(*self.filed) if self.filed else columns(row(0, "3"))}
        return as_json({**SUBMISSIONS, "filings": {**listed, "files": []}})

    def request(self, *forms: str, companies: tuple[str, ...] = ("MRVL",)) -> WatchRequest:
        (self.folder / "a.md").write_text(
            "Net sales of Marvell Technology rose to 842.6 million in fiscal 2025.\n"
        )
        spec: dict[str, Any] = {
            "name": "sales",
            "question": "How did net sales of {company} develop?",
            "sources": {"files": [self.folder / "a.md"], "web": False},
            "trigger": {"filings": {"forms": forms or ("10-K",), "companies": companies}},
            "outputs": ["md"],
        }
        return watch_of(Briefing.model_validate(spec))

    async def look(self, request: WatchRequest | None = None) -> str:
        bench = Workbench(load_settings())
        request = request or self.request()
        start = make_start("watch", request, bench.recorded_settings())
        find_or_create(bench.journal, start, request.name)
        writer = bench.journal.acquire(request.name)
        try:
            return await Watch(bench, writer, request, self.run).look()
        finally:
            writer.release("done")
            bench.journal.database.close()

    async def run(self, request: BriefingRequest) -> None:
        async def work(run: Run) -> None:
            run.steps = PLAIN
            if self.fails:
                raise Stop("The model is away.")
            out = run.bench.settings.home / "reports" / run.session.job
            await Standing(run, out).work()

        self.started.append(str(request.job).removeprefix("briefing-sales-"))
        await run_job("briefing", request, work, None)


@pytest.fixture
def edgar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sec]:
    made = Sec(tmp_path)
    with contextlib.ExitStack() as stack:
        site = stack.enter_context(sec({LIST: made.submissions}))
        base = f"http://{site.place}"
        lines = [f'allow = ["{site.place}"]', f'sec_www = "{base}"', f'sec_data = "{base}"']
        (tmp_path / "deskwork.toml").write_text("[web]\n" + "\n".join(lines) + "\n")
        monkeypatch.setenv("DESKWORK_CONTACT", CONTACT)
        yield made


async def test_the_first_look_only_remembers(edgar: Sec) -> None:
    edgar.filed = [row(1)]
    assert await edgar.look() == "no new filing"
    assert await edgar.look() == "no new filing"
    edgar.filed = [row(3, "8-K"), row(2), row(1)]
    assert await edgar.look() == "briefing-sales-0001835632-26-000002: done"
    assert await edgar.look() == "no new filing"
    assert edgar.started == [row(2)[0]]


async def test_several_come_in_the_order_in_which_they_were_filed(edgar: Sec) -> None:
    await edgar.look()
    edgar.filed = [row(2, days=1), row(1, days=2)]
    told = await edgar.look()
    assert edgar.started == [row(1)[0], row(2)[0]]
    # The second is compared with the first: both are of one company.
    bench = Workbench(load_settings())
    text = (bench.settings.home / "reports" / f"briefing-sales-{row(2)[0]}").joinpath("report.md")
    assert "Nothing has changed since the report of" in text.read_text()
    bench.journal.database.close()
    assert told.count("done") == 2


async def test_a_filing_that_comes_late_into_the_list_is_not_missed(edgar: Sec) -> None:
    edgar.filed = [row(5)]
    await edgar.look()
    edgar.filed = [row(5), row(4, days=6)]
    await edgar.look()
    assert edgar.started == [row(4)[0]]


async def test_a_form_that_is_added_later_is_at_first_remembered(edgar: Sec) -> None:
    edgar.filed = [row(2, "8-K"), row(1)]
    await edgar.look()
    both = edgar.request("10-K", "8-K")
    assert await edgar.look(both) == "no new filing"
    edgar.filed = [row(3, "8-K/A"), *edgar.filed]
    await edgar.look(both)
    assert edgar.started == [row(3)[0]]


async def test_a_look_that_fails_loses_nothing(edgar: Sec) -> None:
    await edgar.look()
    edgar.filed = [row(1)]
    edgar.down = True
    with pytest.raises(ToolError, match="503"):
        await edgar.look()
    edgar.down = False
    assert "000001: done" in await edgar.look()


async def test_a_company_that_is_unknown_keeps_no_other(edgar: Sec) -> None:
    request = edgar.request(companies=("NOSUCH", "MRVL"))
    with pytest.raises(ToolError, match="NOSUCH"):
        await edgar.look(request)
    edgar.filed = [row(1)]
    with pytest.raises(ToolError, match="NOSUCH"):
        await edgar.look(request)
    assert edgar.started == [row(1)[0]]


async def test_a_run_that_does_not_end_is_told_and_not_started_again(edgar: Sec) -> None:
    await edgar.look()
    edgar.filed, edgar.fails = [row(1)], True
    with pytest.raises(NeedsReview, match="briefing-sales-0001835632-26-000001: failed"):
        await edgar.look()
    edgar.fails = False
    assert await edgar.look() == "no new filing"
    assert edgar.started == [row(1)[0]]


def test_how_far_back_is_looked() -> None:
    now = datetime(2026, 12, 1, tzinfo=UTC)
    seen = Seen()
    assert seen.since(now) == "2026-11-01"
    seen.take("1", [], ["10-K"], now)
    assert seen.since(datetime(2027, 6, 1, tzinfo=UTC)) == "2026-11-01"  # after a long sleep too
    seen.take("1", [("a", "2027-05-31")], [], now)
    assert seen.since(datetime(2027, 6, 1, tzinfo=UTC)) == "2027-05-01"
