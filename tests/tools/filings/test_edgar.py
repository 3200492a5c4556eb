"""EDGAR over loopback: who asks, refusals told apart, the rest of ten minutes, snapshots."""

from __future__ import annotations

import json
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from deskwork.tools.errors import NotFound, ToolError, WebError
from deskwork.tools.filings.companies import Company, find_companies, find_company
from deskwork.tools.filings.edgar import FOREVER, HOUR, Edgar
from deskwork.tools.filings.full_text import search_filings
from deskwork.tools.filings.submissions import find_filing, list_filings
from deskwork.tools.web.access import Web
from deskwork.tools.web.options import WebOptions
from deskwork.tools.web.pace import Pace, pace_name
from tests.conftest import SHARED
from tests.tools.filings.server import (
    CONTACT,
    DENIED,
    NO_KEY,
    TOO_OFTEN,
    UNDECLARED,
    as_json,
    sec,
    web_of,
)
from tests.tools.web.server import Reply

MARVELL = Company("0001835632", "Marvell Technology, Inc.", ("MRVL",))
XML = {"Content-Type": "application/xml"}
REFUSALS = {
    "/often": (Reply(TOO_OFTEN, 403), "throttled", "10 minutes"),
    "/429": (Reply(b"", 429), "throttled", "10 minutes"),
    "/tool": (Reply(UNDECLARED, 403), "forbidden", "Ann Example"),
    "/denied": (Reply(DENIED, 403, XML), "not found", r"no file .*/denied \(yet\)"),
    "/no-key": (Reply(NO_KEY, 404, XML), "not found", "no file"),
    "/other": (Reply(b"<p>Go away</p>", 403), "forbidden", "refuses us"),
    "/broken": (Reply(b"oops", 500), "server error", "the server failed"),
}


class Clock:
    """Unix seconds that pass only when someone waits."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.waits: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds


@pytest.mark.parametrize("path", REFUSALS)
async def test_refusals_are_told_apart_by_their_body(path: str, tmp_path: Path) -> None:
    reply, kind, told = REFUSALS[path]
    with sec({path: reply}) as running:
        edgar = Edgar(web_of(running, tmp_path))
        with pytest.raises(WebError, match=told) as caught:
            await edgar.get(f"{edgar.www}{path}", FOREVER)
    assert caught.value.kind == kind


async def test_the_page_that_the_sec_really_sends_is_a_refusal(tmp_path: Path) -> None:
    page = SHARED / "corpus" / "rate-exceeded.html"
    if not page.exists():
        pytest.skip(f"{page} is missing (set DESKWORK_SHARED)")
    with sec({"/x": Reply(page.read_bytes(), 403)}) as running:
        edgar = Edgar(web_of(running, tmp_path))
        with pytest.raises(WebError) as caught:
            await edgar.get(f"{edgar.www}/x", FOREVER)
    assert caught.value.kind == "throttled"


async def test_after_a_block_nothing_is_asked_for_ten_minutes(tmp_path: Path) -> None:
    clock = Clock()
    with sec({"/often": Reply(TOO_OFTEN, 403)}) as running:
        web = web_of(running, tmp_path)
        web.pace = Pace(tmp_path / "pace", clock=clock, sleep=clock.sleep)
        edgar = Edgar(web)
        with pytest.raises(WebError):
            await edgar.get(f"{edgar.www}/often", FOREVER)
        asked = len(running.asked)
        clock.now += 500
        # Another flow of this machine, and another of the SEC's hosts.
        other = web_of(running, tmp_path)
        other.pace = Pace(tmp_path / "pace", clock=clock, sleep=clock.sleep)
        with pytest.raises(WebError, match="not asked again for 100 seconds") as caught:
            await find_company(Edgar(other), "MRVL")
        assert caught.value.kind == "throttled"
        assert len(running.asked) == asked
        clock.now += 100
        assert (await find_company(Edgar(other), "MRVL")).cik == MARVELL.cik


async def test_ten_a_second_at_most_under_one_name(tmp_path: Path) -> None:
    clock = Clock()
    pages = {f"/{n}": Reply(b"<p>A page with 12 figures</p>") for n in range(21)}
    with sec({**pages}) as running:
        web = web_of(running, tmp_path)
        web.pace = Pace(tmp_path / "pace", clock=clock, sleep=clock.sleep)
        for n in range(21):
            await Edgar(web).get(f"http://{running.place}/{n}", FOREVER)
    assert clock.now - 1_000_000.0 == pytest.approx(2.0)
    assert {pace_name(host) for host in ("www.sec.gov", "data.sec.gov", "sec.gov")} == {"sec"}
    assert pace_name("notsec.gov") == "notsec.gov"


@pytest.mark.parametrize("contact", ["", "Ann Example", "ann@example.com"])
async def test_without_a_contact_nothing_is_asked(contact: str, tmp_path: Path) -> None:
    with sec() as running:
        with pytest.raises(ToolError, match=r"DESKWORK_CONTACT") as caught:
            await find_company(Edgar(web_of(running, tmp_path, contact)), "MRVL")
        assert not running.asked
    assert 'contact = "Ann Example ann@example.com"' in str(caught.value)


async def test_we_name_ourselves_as_the_sec_wants_it(tmp_path: Path) -> None:
    with sec() as running:
        await find_company(Edgar(web_of(running, tmp_path)), "MRVL")
    ((_, headers),) = running.asked
    assert headers["User-Agent"] == CONTACT


async def test_without_a_network_it_says_so(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{unused.getsockname()[1]}"
        base = f"http://{place}"
        options = WebOptions(allow=(place,), contact=CONTACT, sec_www=base, sec_data=base)
        with pytest.raises(WebError, match="EDGAR can't be reached from this machine") as caught:
            await find_company(Edgar(Web(options, tmp_path)), "MRVL")
    assert caught.value.kind == "unreachable"
    assert "companyfacts file" in str(caught.value)


async def test_filings_are_kept_forever_and_lists_for_an_hour(tmp_path: Path) -> None:
    with sec() as running:
        web = web_of(running, tmp_path)
        edgar = Edgar(web)
        page = f"{edgar.www}/Archives/edgar/data/1835632/000183563222000016/mrvl-20220129.htm"
        lists = f"{edgar.data}/submissions/CIK0001835632.json"
        for _ in range(2):
            await edgar.get(page, FOREVER)
            await edgar.get(lists, HOUR)
        assert len(running.asked) == 2
        fresh = Web(replace(web.options, max_age=0), tmp_path)
        await Edgar(fresh).get(page, FOREVER)
        assert len(running.asked) == 2
        await Edgar(fresh).get(lists, HOUR)
        assert len(running.asked) == 3


async def test_companies_by_ticker_cik_and_name(tmp_path: Path) -> None:
    with sec() as running:
        edgar = Edgar(web_of(running, tmp_path))
        for text in ("MRVL", "mrvl", "1835632", "CIK0001835632", "marvell", "Marvell Technology"):
            assert await find_company(edgar, text) == MARVELL
        assert (await find_company(edgar, "BRK.B")).tickers == ("BRK-A", "BRK-B")
        assert (await find_company(edgar, "BEST")).name == "BEST Inc."
        assert {one.name for one in await find_companies(edgar, "Best Buy")} == {"BEST BUY CO INC"}
        with pytest.raises(NotFound, match=r"any of 2 companies: .*Northern.*CIK 0000000100"):
            await find_company(edgar, "technology")
        with pytest.raises(NotFound, match="no traded company 'Nobody'"):
            await find_company(edgar, "Nobody")
        with pytest.raises(WebError, match="no company with the CIK 0009999999") as caught:
            await find_company(edgar, "9999999")
        assert caught.value.kind == "not found"


async def test_filings_by_form_and_date_over_older_lists(tmp_path: Path) -> None:
    with sec() as running:
        edgar = Edgar(web_of(running, tmp_path))
        first = await list_filings(edgar, MARVELL, top=2)
        assert [row.form for row in first] == ["8-K", "10-K/A"]
        assert running.paths() == ["/submissions/CIK0001835632.json"]
        annual = await list_filings(edgar, MARVELL, forms=["10-k"], since="2015-01-01")
        assert [(row.form, row.filed) for row in annual] == [
            ("10-K/A", "2022-04-01"),
            ("10-K", "2022-03-10"),
            ("10-K", "2020-03-10"),
        ]
        # The oldest list ends before the day asked for.
        assert not any("002.json" in path for path in running.paths())
        old = await find_filing(edgar, MARVELL, "0001835632-10-000001")
        assert old.url == (
            f"{edgar.www}/Archives/edgar/data/1835632/000183563210000001/ancient.htm"
        )
        until = await list_filings(edgar, MARVELL, until="2019-12-31")
        assert [row.period for row in until] == ["2010-01-30"]
        with pytest.raises(NotFound, match="has no filing 0001835632-99-000001"):
            await find_filing(edgar, MARVELL, "0001835632-99-000001")


async def test_the_real_list_of_filings_is_read(tmp_path: Path) -> None:
    path = SHARED / "corpus" / "company_submission.json"
    if not path.exists():
        pytest.skip(f"{path} is missing (set DESKWORK_SHARED)")
    tesla = Company("0001318605", "Tesla, Inc.")
    pages = {"/submissions/CIK0001318605.json": Reply(path.read_bytes())}
    with sec({**pages}) as running:
        edgar = Edgar(web_of(running, tmp_path))
        rows = await list_filings(edgar, tesla, forms=["10-K"], top=3)
    recent = json.loads(path.read_bytes())["filings"]["recent"]
    wanted = [
        (recent["accessionNumber"][n], recent["reportDate"][n], recent["primaryDocument"][n])
        for n, form in enumerate(recent["form"])
        if form in ("10-K", "10-K/A")
    ]
    assert [(row.accession, row.period, row.url.rpartition("/")[2]) for row in rows] == wanted[:3]


async def test_full_text_search(tmp_path: Path) -> None:
    empty = {"hits": {"total": {"value": 0}, "hits": []}}
    with sec() as running:
        edgar = Edgar(web_of(running, tmp_path))
        (match,), total = await search_filings(
            edgar, '"custom silicon"', forms=["10-K", "10-Q"], company=MARVELL, since="2022-01-01"
        )
        assert total == 1234
        assert match.accession == "0001835632-22-000016"
        assert match.url.endswith("/data/1835632/000183563222000016/mrvl-20220129.htm")
        (asked,) = running.paths()
        assert "q=%22custom+silicon%22&forms=10-K%2C10-Q&ciks=0001835632" in asked
        assert "dateRange=custom&startdt=2022-01-01&enddt=2" in asked
    with sec({"/LATEST/search-index": as_json(empty)}) as running:
        with pytest.raises(WebError) as caught:
            await search_filings(Edgar(web_of(running, tmp_path)), "nothing of the kind")
        assert caught.value.kind == "nothing found"
    with sec({"/LATEST/search-index": as_json({"error": "x"})}) as running:
        with pytest.raises(WebError) as caught:
            await search_filings(Edgar(web_of(running, tmp_path)), "another form")
        assert caught.value.kind == "search failed"
