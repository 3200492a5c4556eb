"""A small SEC on loopback: two companies, their filings in two lists, facts and documents."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deskwork.tools.desk import DocumentDesk
from deskwork.tools.library import Library
from deskwork.tools.registry import default_tools
from deskwork.tools.tool import ToolResult
from deskwork.tools.web.access import Web
from deskwork.tools.web.options import WebOptions
from tests.tools.web.server import Reply, Site, article, site

CONTACT = "Ann Example ann@example.com"
NO_KEY = b'<?xml version="1.0"?><Error><Code>NoSuchKey</Code><Message>No such key</Message></Error>'
DENIED = b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>'
UNDECLARED = (
    b"<html><body><h1>Your Request Originates from an Undeclared Automated Tool</h1></body></html>"
)
TOO_OFTEN = (
    b"<html><head><title>SEC.gov | Request Rate Threshold Exceeded</title></head><body>limited for "
    b"10 minutes</body></html>"
)
TICKERS = {
    "0": {"cik_str": 1045810, "ticker": "NVDA", "title": "NVIDIA CORP"},
    "1": {"cik_str": 1835632, "ticker": "MRVL", "title": "Marvell Technology, Inc."},
    "2": {"cik_str": 1067983, "ticker": "BRK-A", "title": "BERKSHIRE HATHAWAY INC"},
    "3": {"cik_str": 1067983, "ticker": "BRK-B", "title": "BERKSHIRE HATHAWAY INC"},
    "4": {"cik_str": 764478, "ticker": "BBY", "title": "BEST BUY CO INC"},
    "5": {"cik_str": 1709505, "ticker": "BEST", "title": "BEST Inc."},
    "6": {"cik_str": 100, "ticker": "NTI", "title": "Northern Technology Inc"},
}


def columns(*rows: tuple[str, str, str, str, str]) -> dict[str, list[str]]:
    names = ("accessionNumber", "form", "filingDate", "reportDate", "primaryDocument")
    return {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


RECENT = columns(
    ("0001835632-22-000030", "8-K", "2022-06-01", "2022-05-31", "event.htm"),
    ("0001835632-22-000020", "10-K/A", "2022-04-01", "2022-01-29", "amended.htm"),
    ("0001835632-22-000016", "10-K", "2022-03-10", "2022-01-29", "mrvl-20220129.htm"),
)
OLDER = columns(("0001835632-20-000009", "10-K", "2020-03-10", "2020-02-01", "old.htm"))
ANCIENT = columns(("0001835632-10-000001", "10-K", "2010-03-10", "2010-01-30", "ancient.htm"))
SUBMISSIONS = {
    "cik": "1835632",
    "name": "Marvell Technology, Inc.",
    "tickers": ["MRVL"],
    "filings": {
        "recent": RECENT,
        "files": [
            {
                "name": "CIK0001835632-submissions-001.json",
                "filingCount": 1,
                "filingFrom": "2020-01-01",
                "filingTo": "2021-01-01",
            },
            {
                "name": "CIK0001835632-submissions-002.json",
                "filingCount": 1,
                "filingFrom": "2009-01-01",
                "filingTo": "2011-01-01",
            },
        ],
    },
}
HITS = {
    "hits": {
        "total": {"value": 1234, "relation": "eq"},
        "hits": [
            {
                "_id": "0001835632-22-000016:mrvl-20220129.htm",
                "_source": {
                    "ciks": ["0001835632"],
                    "display_names": ["Marvell Technology, Inc.  (MRVL)  (CIK 0001835632)"],
                    "form": "10-K",
                    "file_date": "2022-03-10",
                    "period_ending": "2022-01-29",
                    "adsh": "0001835632-22-000016",
                    "file_type": "10-K",
                },
            }
        ],
    }
}


def fact(
    start: str, end: str, val: object, accn: str, filed: str, **more: object
) -> dict[str, Any]:
    usual: dict[str, Any] = {"fy": int(end[:4]), "fp": "FY", "form": "10-K"}
    begun = {"start": start} if start else {}
    return {**begun, "end": end, "val": val, "accn": accn, "filed": filed, **usual, **more}


def company_facts(concepts: dict[str, dict[str, list[dict[str, Any]]]]) -> dict[str, Any]:
    """A companyfacts object from ``taxonomy:tag`` → unit → facts."""
    tree: dict[str, dict[str, Any]] = {}
    for name, units in concepts.items():
        taxonomy, _, tag = name.partition(":")
        tree.setdefault(taxonomy, {})[tag] = {"label": tag, "description": "", "units": units}
    return {"cik": 1835632, "entityName": "MARVELL TECHNOLOGY, INC", "facts": tree}


FACTS = company_facts(
    {
        "us-gaap:Revenues": {
            "USD": [
                fact("2021-01-31", "2022-01-29", 4462383000, "0001835632-22-000016", "2022-03-10")
            ]
        }
    }
)
Pages = dict[str, Reply | Callable[[], Reply]]


def as_json(value: object) -> Reply:
    return Reply(json.dumps(value).encode(), headers={"Content-Type": "application/json"})


def usual_pages() -> Pages:
    folder = "/Archives/edgar/data/1835632"
    return {
        "/files/company_tickers.json": as_json(TICKERS),
        "/submissions/CIK0001835632.json": as_json(SUBMISSIONS),
        "/submissions/CIK0001835632-submissions-001.json": as_json(OLDER),
        "/submissions/CIK0001835632-submissions-002.json": as_json(ANCIENT),
        "/submissions/CIK0009999999.json": Reply(NO_KEY, 404, {"Content-Type": "application/xml"}),
        "/api/xbrl/companyfacts/CIK0001835632.json": as_json(FACTS),
        "/LATEST/search-index": as_json(HITS),
        f"{folder}/000183563222000016/mrvl-20220129.htm": Reply(article()),
        f"{folder}/000183563220000009/old.htm": Reply(article("An old one says 77.7 million.")),
    }


@contextmanager
def sec(pages: Pages | None = None) -> Iterator[Site]:
    with site({**usual_pages(), **(pages or {})}) as running:
        yield running


def web_of(running: Site, home: Path, contact: str = CONTACT) -> Web:
    base = f"http://{running.place}"
    options = WebOptions(
        allow=(running.place,),
        contact=contact,
        sec_www=base,
        sec_data=base,
        sec_search=base,
    )
    return Web(options, home)


def desk_of(web: Web, home: Path) -> DocumentDesk:
    return DocumentDesk(Library(home).collect([]), online=web)


async def run(name: str, desk: DocumentDesk, /, **arguments: Any) -> ToolResult:
    return await default_tools()[name].run(arguments, desk)
