"""A real companyfacts file (Marvell): its truths computed here by plain code, then asked for."""

from __future__ import annotations

import json
from decimal import Decimal
from functools import cache
from typing import Any

import pytest

from deskwork.tools.errors import NotFound
from deskwork.tools.filings.answer import Answer, answer
from deskwork.tools.filings.facts import CompanyFacts
from tests.conftest import SHARED

FILE = SHARED / "corpus" / "companyfacts_CIK0001835632_MRVL.json"
REVENUE = "RevenueFromContractWithCustomerExcludingAssessedTax"
pytestmark = pytest.mark.skipif(
    not FILE.exists(), reason=f"{FILE} is missing (set DESKWORK_SHARED)"
)


@cache
def raw() -> dict[str, Any]:
    value: dict[str, Any] = json.loads(FILE.read_bytes())
    return value


@cache
def known() -> CompanyFacts:
    return CompanyFacts.read(FILE.read_bytes(), FILE.name)


def rows(tag: str, unit: str, start: str, end: str) -> list[dict[str, Any]]:
    """The file's own rows for a period, by when they were filed."""
    found = [
        row
        for row in raw()["facts"]["us-gaap"][tag]["units"][unit]
        if (row.get("start", ""), row["end"]) == (start, end)
    ]
    return sorted(found, key=lambda row: (row["filed"], row["accn"]))


def one(found: Answer) -> dict[str, Any]:
    (row,) = found.rows
    return row.as_json(lambda vintage: vintage.line)


def test_the_revenue_of_a_year_with_both_its_values() -> None:
    filed = rows(REVENUE, "USD", "2021-01-31", "2022-01-29")
    assert [row["val"] for row in filed] == [4462383000, 4462400000, 4462400000]
    row = one(answer(known(), "Revenues", ["FY2022"]))
    assert (row["value"], row["original"]) == ("4462400000", "4462383000")
    assert (row["accession"], row["filed"]) == (filed[1]["accn"], filed[1]["filed"])
    assert row["original_accession"] == filed[0]["accn"]
    assert (row["difference"], row["vintage"], row["derived"]) == ("17000", "rounded", False)
    assert (row["start"], row["end"], row["days"]) == ("2021-01-31", "2022-01-29", 364)
    assert (row["form"], row["unit"], row["own_label"]) == ("10-K", "USD", "FY2022")


def test_every_year_bears_the_companys_own_number() -> None:
    named = {row.label: row.entry.period for row in answer(known(), "revenue").rows}
    own = {
        f"FY{row['fy']}": row["end"]
        for row in raw()["facts"]["us-gaap"][REVENUE]["units"]["USD"]
        # An annual report's newest year is its own.
        if row["fp"] == "FY"
        and row["end"]
        == max(
            other["end"]
            for other in raw()["facts"]["us-gaap"][REVENUE]["units"]["USD"]
            if other["accn"] == row["accn"]
        )
    }
    assert {label: str(named[label].end) for label in own} == own
    assert named["FY2024"].days == 371


def test_the_revenue_of_a_quarter_is_not_that_of_nine_months() -> None:
    (quarter, _) = rows(REVENUE, "USD", "2022-07-31", "2022-10-29")
    (months, _) = rows(REVENUE, "USD", "2022-01-30", "2022-10-29")
    assert quarter["fp"] == months["fp"] == "Q3"
    row = one(answer(known(), "Revenues", ["Q3 FY2023"]))
    assert (row["value"], row["derived"]) == (str(quarter["val"]), False)
    row = one(answer(known(), "Revenues", ["Q3 FY2023"], "nine months"))
    assert row["value"] == str(months["val"])


@pytest.mark.parametrize("end", ["2022-01-29", "2023-01-28", "2024-02-03", "2025-02-01"])
def test_a_fourth_quarter_is_the_year_minus_nine_months(end: str) -> None:
    all_rows = raw()["facts"]["us-gaap"][REVENUE]["units"]["USD"]
    start = next(row["start"] for row in all_rows if row["end"] == end)
    year = rows(REVENUE, "USD", start, end)
    last = max(
        row["end"] for row in all_rows if row["start"] == start and "-10-" < row["end"][4:] < "-12-"
    )
    months = rows(REVENUE, "USD", start, last)
    row = one(answer(known(), "Revenues", [end], "quarter"))
    assert row["derived"] is True
    assert row["label"].startswith("Q4 ")
    assert row["value"] == str(year[-1]["val"] - months[-1]["val"])
    assert row["original"] == str(year[0]["val"] - months[0]["val"])
    for of in (year, months):
        first = next(each for each in of if each["val"] == of[-1]["val"])
        assert f"{first['val']:,} ({first['accn']})" in row["formula"]


def test_restated_values_are_those_of_the_file() -> None:
    """Each concept in USD, all years: the first and the last value filed, and by which filing."""
    checked = restated = 0
    for tag, concept in raw()["facts"]["us-gaap"].items():
        if "USD" not in concept["units"]:
            continue
        try:
            found = answer(known(), f"us-gaap:{tag}", (), "year", "USD")
        except NotFound:
            continue
        for row in found.rows:
            period = row.entry.period
            filed = rows(tag, "USD", str(period.start), str(period.end))
            original, latest = row.entry.original, row.entry.latest
            assert original.amount == filed[0]["val"]
            assert original.rests_on[0].accession == filed[0]["accn"]
            assert latest.amount == filed[-1]["val"]
            holding = {each["accn"] for each in filed if each["val"] == filed[-1]["val"]}
            assert latest.rests_on[0].accession in holding
            assert row.entry.difference == Decimal(filed[-1]["val"] - filed[0]["val"])
            checked += 1
            restated += bool(row.entry.difference)
    assert checked > 500
    assert restated > 50


def test_balances_and_cover_facts() -> None:
    (first, *_) = rows("Assets", "USD", "", "2023-01-28")
    row = one(answer(known(), "total assets", ["FY2023"]))
    assert (row["value"], row["label"], row["start"]) == (
        str(first["val"]),
        "end of Q4 FY2023",
        "",
    )
    shares = raw()["facts"]["dei"]["EntityCommonStockSharesOutstanding"]["units"]["shares"]
    cover = answer(known(), "dei:EntityCommonStockSharesOutstanding", ["latest"])
    row = one(cover)
    assert (row["label"], row["value"]) == (
        f"cover, {shares[-1]['end']}",
        str(shares[-1]["val"]),
    )


def test_all_facts_are_read_and_no_vintage_is_lost() -> None:
    count = sum(
        len(fact.vintages)
        for concept in known().concepts
        for of in known().units(concept).values()
        for fact in of
    )
    assert count == 8053


def test_what_is_not_there_is_told_with_what_is() -> None:
    with pytest.raises(NotFound, match=r"has no year FY1999\. It has FY2020, .*FY2026"):
        answer(known(), "Revenues", ["FY1999"])
    with pytest.raises(NotFound, match=r"in EUR\. Units: USD"):
        answer(known(), "Revenues", unit="EUR")
    with pytest.raises(NotFound, match=r"Close: .*us-gaap:DeferredRevenueCurrent"):
        answer(known(), "deferred revenue")
    found = answer(known(), "Revenues", ["FY2022", "FY1999"])
    assert "Not among the facts: FY1999." in found.notes
