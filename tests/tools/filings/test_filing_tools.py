"""The tools as a model sees them: facts with evidence that holds, filings that can be cited."""

from __future__ import annotations

import dataclasses
import json
from functools import partial
from pathlib import Path

import pytest

from deskwork.tools.desk import DocumentDesk
from deskwork.tools.errors import ToolError, WebError
from deskwork.tools.filings.accessions import accession_of, read_accession
from deskwork.tools.library import Library
from deskwork.tools.readers import read_bytes
from deskwork.tools.selection import fitting_tools
from deskwork.tools.tool import Evidence, ToolResult
from deskwork.tools.web.options import WebOptions
from tests.conftest import SHARED
from tests.tools.filings.server import FACTS, NO_KEY, company_facts, desk_of, fact, run, sec, web_of
from tests.tools.web.server import SENTENCES, Reply

ACCESSION = "0001835632-22-000016"


def grown(desk: DocumentDesk, result: ToolResult) -> DocumentDesk:
    """The desk as a job has it after the call."""
    collection = desk.collection
    for source in result.sources:
        collection = collection.with_source(source, partial(getattr, source, "data"))
    return dataclasses.replace(desk, collection=collection)


def held(desk: DocumentDesk, evidence: Evidence) -> bool:
    """Whether a later check finds the evidence again, with the same id."""
    found = desk.collection.find_quote(evidence.file, evidence.page, evidence.quote)
    return found == evidence


async def test_facts_come_with_evidence_that_names_the_filing(tmp_path: Path) -> None:
    with sec() as running:
        desk = desk_of(web_of(running, tmp_path), tmp_path)
        result = await run("facts", desk, company="MRVL", concept="Revenues")
        again = await run("facts", grown(desk, result), company="MRVL", concept="Revenues")
    (row,) = result.data["rows"]
    assert (row["label"], row["value"], row["accession"]) == ("FY2022", "4462383000", ACCESSION)
    (evidence,) = result.evidence
    assert row["evidence"] == [evidence.id]
    assert evidence.id in result.text
    assert evidence.accession == ACCESSION
    assert "| 4462383000 | 0001835632-22-000016 |" in evidence.quote
    assert "| us-gaap:Revenues | USD |" in evidence.quote
    assert evidence.url == running.url("/api/xbrl/companyfacts/CIK0001835632.json")
    assert evidence.retrieved
    desk = grown(desk, result)
    assert held(desk, evidence)
    cited = await run(
        "cite", desk, file=evidence.file, page=evidence.page, quote=evidence.quote.strip()
    )
    assert cited.evidence[0].accession == ACCESSION
    assert again.evidence == result.evidence
    assert [source.name for source in again.sources] == [source.name for source in result.sources]


async def test_facts_of_a_file_need_no_network(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "facts.json").write_text(json.dumps(FACTS))
    (tmp_path / "files" / "other.json").write_text('{"a": 1}')
    desk = DocumentDesk(Library(tmp_path / "home").collect([tmp_path / "files"]))
    result = await run("facts", desk, company="facts.json", concept="revenue")
    (evidence,) = result.evidence
    assert evidence.accession == ACCESSION
    assert held(desk, evidence)
    assert not result.sources
    with pytest.raises(ToolError, match=r"other\.json holds no facts"):
        await run("facts", desk, company="other.json", concept="revenue")
    with pytest.raises(ToolError, match=r"no file 'none\.json'"):
        await run("facts", desk, company="none.json", concept="revenue")


async def test_a_derived_value_has_the_evidence_of_both_filings(tmp_path: Path) -> None:
    months = fact(
        "2021-01-31", "2021-10-30", 3119405000, "0001835632-21-000032", "2021-12-03", form="10-Q"
    )
    year = fact("2021-01-31", "2022-01-29", 4462383000, ACCESSION, "2022-03-10")
    value = company_facts({"us-gaap:Revenues": {"USD": [months, year]}})
    (tmp_path / "facts.json").write_text(json.dumps(value))
    desk = DocumentDesk(Library(tmp_path / "home").collect([tmp_path / "facts.json"]))
    result = await run("facts", desk, company="facts.json", concept="Revenues", kind="quarter")
    assert "DERIVED 4,462,383,000 (0001835632-22-000016) - 3,119,405,000 (0001" in result.text
    assert [item.accession for item in result.evidence] == ["0001835632-21-000032", ACCESSION]
    (row,) = result.data["rows"]
    assert len(row["evidence"]) == 2
    assert set(row["evidence"]) == {item.id for item in result.evidence}


async def test_the_real_file_gives_evidence_for_every_value(tmp_path: Path) -> None:
    path = SHARED / "corpus" / "companyfacts_CIK0001835632_MRVL.json"
    if not path.exists():
        pytest.skip(f"{path} is missing (set DESKWORK_SHARED)")
    desk = DocumentDesk(Library(tmp_path).collect([path]))
    result = await run("facts", desk, company=path.name, concept="Revenues", kind="quarter")
    assert len(result.data["rows"]) == 12
    for row in result.data["rows"]:
        assert all(row["evidence"])
        assert all(row["original_evidence"])
    assert all(held(desk, item) for item in result.evidence)
    assert all(item.accession in item.quote for item in result.evidence)


async def test_a_filing_becomes_a_document_with_its_accession(tmp_path: Path) -> None:
    with sec() as running:
        desk = desk_of(web_of(running, tmp_path), tmp_path)
        listed = await run("filings", desk, company="MRVL", forms=["10-K"], until="2022-03-31")
        assert [row["accession"] for row in listed.data["filings"]] == [
            ACCESSION,
            "0001835632-20-000009",
            "0001835632-10-000001",
        ]
        assert "10-K · filed 2022-03-10 · period 2022-01-29" in listed.text
        result = await run(
            "read_filing", desk, company_or_url="MRVL", accession=ACCESSION.replace("-", "")
        )
        url = listed.data["filings"][1]["url"]
        older = await run("read_filing", desk, company_or_url=url)
        with pytest.raises(ToolError, match="no address of a filing"):
            await run("read_filing", desk, company_or_url="https://a.example/x")
        with pytest.raises(ToolError, match="accession number is missing"):
            await run("read_filing", desk, company_or_url="MRVL")
        with pytest.raises(ToolError, match="no accession number"):
            await run("read_filing", desk, company_or_url="MRVL", accession="12")
    assert result.text.startswith(f"SEC filing {ACCESSION}.\nFetched ")
    assert SENTENCES[0] in result.text
    assert "77.7 million" in older.text
    desk = grown(desk, result)
    (name,) = [file.name for file in desk.collection.files]
    cited = await run("cite", desk, file=name, page=1, quote=SENTENCES[0])
    assert cited.evidence[0].accession == ACCESSION


async def test_a_filing_is_read_on_from_a_page(tmp_path: Path) -> None:
    long = "".join(f"<p>Paragraph {n} of a long report. {'word ' * 100}</p>" for n in range(300))
    path = "/Archives/edgar/data/1835632/000183563222000016/mrvl-20220129.htm"
    with sec({path: Reply(f"<html><body>{long}</body></html>".encode())}) as running:
        desk = desk_of(web_of(running, tmp_path), tmp_path)
        call = {"company_or_url": "MRVL", "accession": ACCESSION}
        later = await run("read_filing", desk, **call, page=5)
        with pytest.raises(ToolError, match="has no page 999"):
            await run("read_filing", desk, **call, page=999)
    assert later.data["shown"][0]["page"] == 5
    assert "Paragraph 0 of" not in later.text


async def test_companies_and_search_are_lines(tmp_path: Path) -> None:
    with sec() as running:
        desk = desk_of(web_of(running, tmp_path), tmp_path)
        several = await run("company", desk, name="technology")
        assert several.data[1]["cik"] == "0001835632" or several.data[0]["cik"] == "0001835632"
        assert "- Marvell Technology, Inc. (MRVL), CIK 0001835632" in several.text
        found = await run("filing_search", desk, query="custom silicon", company="MRVL")
    assert found.text.startswith("1,234 documents match; the best 1:\n10-K · Marvell")
    assert found.data["matches"][0]["accession"] == ACCESSION


async def test_a_company_without_facts(tmp_path: Path) -> None:
    pages = {"/api/xbrl/companyfacts/CIK0001835632.json": Reply(NO_KEY, 404)}
    with sec({**pages}) as running:
        desk = desk_of(web_of(running, tmp_path), tmp_path)
        with pytest.raises(WebError, match=r"no facts \(XBRL\) of Marvell"):
            await run("facts", desk, company="MRVL", concept="Revenues")


def test_a_line_of_facts_stands_on_its_own() -> None:
    document = read_bytes(json.dumps(FACTS).encode(), "facts.json")
    (table,) = [table for page in document.pages for table in page.tables]
    assert table.title == "facts.us-gaap.Revenues.units.USD"
    assert table.rows[1] == (
        *("2021-01-31", "2022-01-29", "4462383000", ACCESSION, "2022", "FY", "10-K"),
        *("2022-03-10", "", "us-gaap:Revenues", "USD"),
    )
    # What only looks like facts is read as any other file.
    broken = {**FACTS, "facts": {"us-gaap": {"Revenues": {"units": {"USD": [1, 2]}}}}}
    assert "facts.us-gaap.Revenues.units.USD: 1, 2" in (
        read_bytes(json.dumps(broken).encode(), "facts.json").pages[0].text
    )


def test_accession_numbers() -> None:
    folder = "https://www.sec.gov/Archives/edgar/data/1835632"
    assert accession_of(f"{folder}/000183563222000016/a.htm") == ACCESSION
    assert accession_of(f"{folder}/{ACCESSION}.txt") == ACCESSION
    assert accession_of(f"{folder}/000183563222000016/") == ACCESSION
    assert accession_of("https://a.example/000183563222000016/") == ""
    assert accession_of("", f"| {ACCESSION} |") == ACCESSION
    assert accession_of("", f"{ACCESSION} and 0001835632-22-000017") == ""
    assert read_accession(" 000183563222000016") == ACCESSION


def test_evidence_of_before_has_no_accession() -> None:
    row = {"id": "E1", "file": "a", "page": 1, "quote": "q", "sha256": "s", "start": 0}
    assert Evidence.from_json(row).accession == ""


def test_the_tools_are_a_jobs_where_the_sec_can_be_told_who_asks() -> None:
    def names(**given: bool) -> set[str]:
        return {tool.name for tool in fitting_tools(documents=True, **given)}

    mine = {"company", "filings", "read_filing", "filing_search", "facts"}
    assert names(web=True, filings=True) - names(web=True) == mine
    assert names(filings=True) == names()
    assert WebOptions(contact="Ann Example ann@example.com").with_filings
    assert not WebOptions().with_filings
    # A job that began without them goes on without them.
    assert not WebOptions(contact="Ann Example ann@example.com", filings=False).with_filings
    assert WebOptions(filings=True).recorded()["filings"] is True
