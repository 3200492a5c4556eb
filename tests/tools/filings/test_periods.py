"""The period engine on made calendars: 52 and 53 weeks, subtraction, vintages, names of years."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskwork.tools.errors import NotFound, ToolError
from deskwork.tools.filings.answer import Answer, answer
from deskwork.tools.filings.facts import CompanyFacts
from deskwork.tools.filings.periods import Calendar, Own, Period
from deskwork.tools.filings.series import only_rounded
from tests.tools.filings.server import company_facts, fact

SALES = "us-gaap:Revenues"


def read(concepts: dict[str, dict[str, list[dict[str, Any]]]]) -> CompanyFacts:
    return CompanyFacts.read(json.dumps(company_facts(concepts)).encode(), "made.json")


def values(found: Answer) -> dict[str, Decimal]:
    return {row.label: row.entry.latest.amount for row in found.rows}


@dataclass
class Year:
    """A fiscal year in weeks: its number, the ends of its quarters, and the quarters' values."""

    number: int
    start: date
    ends: list[date]
    amounts: list[int]


@st.composite
def years(draw: st.DrawFn) -> list[Year]:
    """Some years one after the other, by 12 to 14 weeks a quarter or by calendar months."""
    begin = draw(st.dates(date(2009, 1, 15), date(2012, 12, 15)))
    offset = draw(st.sampled_from([-1, 0]))
    made = []
    for _ in range(draw(st.integers(2, 5))):
        long = draw(st.booleans())
        shape = draw(st.sampled_from([(13, 13, 13, 13), (12, 12, 12, 16), (16, 12, 12, 12)]))
        weeks = list(shape)
        weeks[3] += 1 if long else 0
        ends, at = [], begin
        for each in weeks:
            at += timedelta(weeks=each)
            ends.append(at - timedelta(days=1))
        amounts = draw(st.lists(st.integers(-(10**12), 10**12), min_size=4, max_size=4))
        number = (ends[3] - timedelta(days=14)).year + offset
        made.append(Year(number, begin, ends, amounts))
        begin = at
    return made


def filed_facts(made: list[Year], *, alone: bool) -> list[dict[str, Any]]:
    """What is filed of them: spans from the year's begin; quarters alone where it is so asked.

    Every report shows the year before's values as well, under its own ``fy`` and ``fp``.
    """
    rows = []
    for year in made:
        for quarter, end in enumerate(year.ends):
            fp = "FY" if quarter == 3 else f"Q{quarter + 1}"
            form = "10-K" if quarter == 3 else "10-Q"
            accession = f"0000000001-{year.number % 100:02}-{quarter + 1:06}"
            more = {"fp": fp, "form": form, "fy": year.number}
            filed = (end + timedelta(days=40)).isoformat()
            for of in [one for one in made if one.number in (year.number, year.number - 1)]:
                last = of.ends[quarter].isoformat()
                total = sum(of.amounts[: quarter + 1])
                rows.append(fact(of.start.isoformat(), last, total, accession, filed, **more))
                if alone and 0 < quarter < 3:
                    begin = (of.ends[quarter - 1] + timedelta(days=1)).isoformat()
                    amount = of.amounts[quarter]
                    rows.append(fact(begin, last, amount, accession, filed, **more))
    return rows


@given(years(), st.booleans(), st.randoms())
def test_quarters_come_out_exactly_whatever_the_calendar(
    made: list[Year], alone: bool, random: Any
) -> None:
    rows = filed_facts(made, alone=alone)
    random.shuffle(rows)
    facts = read({SALES: {"USD": rows}})
    asked = [f"Q{n} FY{year.number}" for year in made for n in (1, 2, 3, 4)]
    quarters = answer(facts, "Revenues", asked)
    assert values(quarters) == {
        f"Q{n + 1} FY{year.number}": year.amounts[n] for year in made for n in range(4)
    }
    for row in quarters.rows:
        quarter = int(row.label[1])
        assert row.entry.derived == (quarter == 4 or (quarter > 1 and not alone))
        if row.entry.derived:
            long, short = row.entry.latest.rests_on
            assert long.value - short.value == row.entry.latest.amount
            for vintage in (long, short):
                assert f"({vintage.accession})" in row.entry.latest.formula
    annual = answer(facts, "Revenues", [str(year.number) for year in made])
    assert values(annual) == {f"FY{year.number}": sum(year.amounts) for year in made}
    assert {row.entry.period.days // 7 for row in annual.rows} <= {52, 53}
    assert not annual.notes


@given(st.lists(st.tuples(st.dates(date(2020, 1, 1)), st.integers(-999, 999)), min_size=1))
def test_every_vintage_is_kept(filings: list[tuple[date, int]]) -> None:
    rows = [
        fact("2018-01-01", "2018-12-31", value, f"0000000001-20-{n:06}", day.isoformat())
        for n, (day, value) in enumerate(filings)
    ]
    (kept,) = read({SALES: {"USD": rows}}).units(SALES)["USD"]
    ordered = sorted(
        (
            (day.isoformat(), f"0000000001-20-{n:06}", Decimal(value))
            for n, (day, value) in enumerate(filings)
        )
    )
    assert [(v.filed, v.accession, v.value) for v in kept.vintages] == ordered
    (row,) = answer(read({SALES: {"USD": rows}}), SALES).rows
    assert row.entry.original.amount == ordered[0][2]
    assert row.entry.latest.amount == ordered[-1][2]
    assert row.entry.difference == ordered[-1][2] - ordered[0][2]


@pytest.mark.parametrize(
    ("start", "end", "kind"),
    [
        ("2021-01-31", "2022-01-29", "year"),
        ("2023-01-29", "2024-02-03", "year"),
        ("2021-01-01", "2021-12-31", "year"),
        ("2023-10-29", "2024-02-03", "quarter"),
        ("2021-02-01", "2021-04-30", "quarter"),
        ("2020-05-11", "2020-08-30", "quarter"),
        ("2021-01-01", "2021-04-30", "other"),
        ("2021-01-31", "2021-07-31", "half"),
        ("2021-01-31", "2021-10-30", "nine months"),
        ("", "2022-01-29", "instant"),
        ("2021-01-01", "2021-01-31", "other"),
    ],
)
def test_kinds_go_by_length(start: str, end: str, kind: str) -> None:
    assert Period.of(start, end).kind == kind


@pytest.mark.parametrize(
    ("ends", "told", "end", "name"),
    [
        # A year's end that drifts over New Year's Day.
        (["2020-01-04", "2021-01-02", "2022-01-01", "2022-12-31"], {}, "2021-01-02", "FY2020"),
        (["2020-01-04", "2021-01-02", "2022-01-01", "2022-12-31"], {}, "2022-12-31", "FY2022"),
        # Retailers name the year by its begin, chip makers by its end.
        (["2022-01-29"], {"2022-01-29": 2021}, "2022-01-29", "FY2021"),
        (["2022-01-29"], {"2022-01-29": 2022}, "2022-01-29", "FY2022"),
        # One filing that is off by one does not rename its year.
        (
            ["2021-06-30", "2022-06-30", "2023-06-30"],
            {"2021-06-30": 2021, "2022-06-30": 2023, "2023-06-30": 2023},
            "2022-06-30",
            "FY2022",
        ),
    ],
)
def test_years_are_named_as_the_company_names_them(
    ends: list[str], told: dict[str, int], end: str, name: str
) -> None:
    own = {date.fromisoformat(day): Own(year, "FY", "A-1") for day, year in told.items()}
    calendar = Calendar.of(map(date.fromisoformat, ends), own)
    last = date.fromisoformat(end)
    period = Period(last, last - timedelta(days=363))
    assert calendar.label(period) == name
    doubted = bool(own) and str(own[last]) != name
    assert bool(calendar.doubt(period)) == doubted


def test_a_derived_quarter_does_not_mix_vintages() -> None:
    rows = [
        fact("2021-01-01", "2021-09-30", 70, "0000000001-21-000003", "2021-11-01", form="10-Q"),
        fact("2021-01-01", "2021-12-31", 100, "0000000001-22-000001", "2022-02-01"),
        fact("2021-01-01", "2021-09-30", 63, "0000000001-22-000003", "2022-11-01", form="10-Q"),
        fact("2021-01-01", "2021-12-31", 90, "0000000001-23-000001", "2023-02-01"),
    ]
    (row,) = answer(read({SALES: {"USD": rows}}), SALES, kind="quarter").rows
    assert row.entry.original.amount == 30
    assert row.entry.latest.amount == 27
    assert row.entry.latest.formula == "90 (0000000001-23-000001) - 63 (0000000001-22-000003)"
    assert row.vintage.startswith("restated: originally 30 (10-K 0000000001-22-000001")

    found = answer(read({SALES: {"USD": [rows[0], rows[1], rows[3]]}}), SALES, kind="quarter")
    assert "may mix two bases" in " ".join(found.notes)


def test_what_does_not_add_up_is_not_subtracted() -> None:
    rows = [
        fact("2021-01-01", "2021-09-30", 1.5, "0000000001-21-000003", "2021-11-01", form="10-Q"),
        fact("2021-01-01", "2021-12-31", 2.25, "0000000001-22-000001", "2022-02-01"),
        fact("2021-07-01", "2021-09-30", 0.75, "0000000001-21-000003", "2021-11-01", form="10-Q"),
    ]
    found = answer(
        read({"us-gaap:EarningsPerShareDiluted": {"USD/shares": rows}}), "eps", kind="quarter"
    )
    assert list(values(found)) == ["Q3 FY2021"]
    assert "don't add up" in " ".join(found.notes)


def test_only_fewer_digits_are_no_restatement() -> None:
    assert only_rounded(Decimal(4462383000), Decimal(4462400000))
    assert not only_rounded(Decimal(4462383000), Decimal(4462500000))
    assert not only_rounded(Decimal(7_600_000_000), Decimal(8_000_000_000))
    assert not only_rounded(Decimal("1.25"), Decimal("1.3"))


def test_tags_over_time_are_one_series_and_it_says_so() -> None:
    def year(n: int, value: int, filed: int) -> dict[str, Any]:
        accession = f"0000000001-{filed % 100:02}-000001"
        return fact(f"{n}-01-01", f"{n}-12-31", value, accession, f"{filed}-02-01")

    facts = read(
        {
            "us-gaap:SalesRevenueNet": {"USD": [year(2016, 10, 2017), year(2017, 11, 2018)]},
            "us-gaap:RevenueFromContractWithCustomerExcludingAssessedTax": {
                "USD": [year(2017, 12, 2019), year(2018, 13, 2019)]
            },
        }
    )
    found = answer(facts, "revenue")
    assert values(found) == {"FY2016": 10, "FY2017": 12, "FY2018": 13}
    notes = " ".join(found.notes)
    assert "Joined from several concepts" in notes
    assert "us-gaap:SalesRevenueNet says 11 for the period to 2017-12-31" in notes
    # With its taxonomy a tag is taken alone.
    assert values(answer(facts, "us-gaap:SalesRevenueNet")) == {"FY2016": 10, "FY2017": 11}


def test_filers_under_ifrs_and_units() -> None:
    def year(value: int) -> dict[str, Any]:
        accession = "0000000001-22-000001"
        return fact("2021-01-01", "2021-12-31", value, accession, "2022-02-01", form="20-F")

    facts = read({"ifrs-full:Revenue": {"EUR": [year(10), year(10)], "USD": [year(12)]}})
    found = answer(facts, "revenue")
    assert found.unit == "EUR"
    assert values(found) == {"FY2021": 10}
    assert "Also filed in other units, not shown: USD (1)." in found.notes
    assert values(answer(facts, "revenue", unit="usd")) == {"FY2021": 12}
    with pytest.raises(NotFound, match=r"in GBP\. Units: EUR, USD"):
        answer(facts, "revenue", unit="GBP")
    with pytest.raises(NotFound, match=r"no facts under 'total revenues of cloud'.*Revenue"):
        answer(facts, "total revenues of cloud")
    with pytest.raises(NotFound, match=r"no instant .*Kinds of period it has: year"):
        answer(facts, "revenue", kind="instant")


@pytest.mark.parametrize("told", [True, False])
def test_splits_are_told(told: bool) -> None:
    def year(n: int, value: object, filed: int) -> dict[str, Any]:
        accession = f"0000000001-{filed % 100:02}-000001"
        return fact(f"{n}-01-01", f"{n}-12-31", value, accession, f"{filed}-02-01")

    concepts: dict[str, dict[str, list[dict[str, Any]]]] = {
        "us-gaap:EarningsPerShareDiluted": {
            "USD/shares": [year(2019, 8.0, 2020), year(2022, 12.05, 2023), year(2022, 1.21, 2024)]
        },
        "us-gaap:WeightedAverageNumberOfDilutedSharesOutstanding": {
            "shares": [year(2022, 2_500_000, 2023), year(2022, 25_010_000, 2024)]
        },
    }
    if told:
        concepts["us-gaap:StockholdersEquityNoteStockSplitConversionRatio1"] = {
            "pure": [fact("2023-06-07", "2023-06-07", 10, "0000000001-23-000005", "2023-08-01")]
        }
    found = answer(read(concepts), "eps")
    assert [bool(row.basis) for row in found.rows] == [True, False]
    (note,) = [note for note in found.notes if note.startswith("Stock split")]
    assert "10 for 1" in note
    assert ("reported in 0000000001-23-000005" in note) == told
    assert "not restated for it" in found.rows[0].basis


def test_restated_earnings_are_no_split() -> None:
    # The share counts jump as well, but in another filing.
    shares = [
        fact("2022-01-01", "2022-12-31", 1000, "0000000001-23-000001", "2023-02-01"),
        fact("2022-01-01", "2022-12-31", 2000, "0000000001-23-000009", "2023-12-01"),
    ]
    rows = [
        fact("2022-01-01", "2022-12-31", 3.0, "0000000001-23-000001", "2023-02-01"),
        fact("2022-01-01", "2022-12-31", 1.5, "0000000001-24-000001", "2024-02-01"),
    ]
    counts = {"us-gaap:WeightedAverageNumberOfSharesOutstandingBasic": {"shares": shares}}
    found = answer(read({"us-gaap:EarningsPerShareDiluted": {"USD/shares": rows}, **counts}), "eps")
    assert not [note for note in found.notes if "split" in note]
    assert found.rows[0].vintage.startswith("restated")


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b'{"cik": 1, "entityName": "x", "facts": {"us-gaap": 3}}', b"\xff"]
)
def test_what_holds_no_facts_is_refused(data: bytes) -> None:
    with pytest.raises(ToolError, match="holds no facts of a company"):
        CompanyFacts.read(data, "a.json")
