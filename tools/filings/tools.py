"""The tools over filings: find a company, list and read its filings, and ask for its facts."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Annotated, Literal

from pydantic import Field

from deskwork.tools.collection import Collection
from deskwork.tools.errors import NotFound, ToolError
from deskwork.tools.filings.accessions import accession_of, read_accession
from deskwork.tools.filings.answer import answer
from deskwork.tools.filings.bearing_out import bear_out, bytes_of
from deskwork.tools.filings.companies import SHOWN, find_companies, find_company
from deskwork.tools.filings.edgar import FOREVER, HOUR, Edgar
from deskwork.tools.filings.facts import CompanyFacts, Vintage
from deskwork.tools.filings.full_text import search_filings
from deskwork.tools.filings.submissions import find_filing, list_filings
from deskwork.tools.sources import Source
from deskwork.tools.tool import Desk, ToolResult, tool
from deskwork.tools.web.tools import as_document

CompanyName = Annotated[
    str, Field(description="Ticker, CIK or name; a ticker in capitals.", min_length=1)
]
Forms = Annotated[
    list[str] | None, Field(description='Such as ["10-K", "10-Q", "8-K"], amendments included.')
]
Day = Annotated[
    str | None, Field(description="A filing date, YYYY-MM-DD.", pattern=r"^\d{4}-\d{2}-\d{2}$")
]


@tool(repeatable=True)
async def company(name: CompanyName, desk: Desk) -> ToolResult:
    """Find a company that files with the SEC, by ticker, CIK or a part of its name.

    Several that fit are all listed; the other tools then want the CIK or ticker.
    """
    found = await find_companies(Edgar(desk.web), name)
    lines = [f"- {one}" for one in found[:SHOWN]]
    if len(found) > SHOWN:
        lines.append(f"{len(found) - SHOWN} more: give more of the name.")
    return ToolResult("\n".join(lines), data=[asdict(one) for one in found])


@tool(repeatable=True)
async def filings(
    company: CompanyName,
    desk: Desk,
    forms: Forms = None,
    since: Day = None,
    until: Day = None,
    top: Annotated[int, Field(description="How many, newest first.", ge=1, le=200)] = 20,
) -> ToolResult:
    """List a company's filings with the SEC, newest first: form, dates, accession, address.

    "period" is the end of the period that a report is about. read_filing reads one of them.
    """
    edgar = Edgar(desk.web)
    found = await find_company(edgar, company)
    rows = await list_filings(
        edgar, found, forms=forms or (), since=since or "", until=until or "", top=top
    )
    if not rows:
        asked = ", ".join(forms or ["any form"])
        raise NotFound(f"{found} has no such filing ({asked}).", "Leave out forms or dates.")
    lines = [
        f"{row.form} · filed {row.filed} · period {row.period or '-'} · {row.accession} · {row.url}"
        + (f" · items {row.items}" if row.items else "")
        for row in rows
    ]
    return ToolResult(
        "\n".join([f"Filings of {found}:", *lines]),
        data={"company": asdict(found), "filings": [asdict(row) for row in rows]},
    )


@tool(repeatable=True)
async def read_filing(
    company_or_url: Annotated[
        str,
        Field(description="The company, or the address that filings or filing_search gave."),
    ],
    desk: Desk,
    accession: Annotated[
        str, Field(description="The filing's accession number; not with an address.")
    ] = "",
    page: Annotated[int, Field(description="The first page to show.", ge=1)] = 1,
) -> ToolResult:
    """Fetch a filing's primary document and make it a document of this job.

    Other documents of a filing, such as the press release of an 8-K, are read by their address. The
    result names the document and shows its first pages. Read on with read_document, search in
    it with search_documents, and cite from it with the same name and page.
    """
    edgar = Edgar(desk.web)
    if company_or_url.startswith(("http://", "https://")):
        url = company_or_url.strip()
        if not url.startswith(f"{edgar.www}/Archives/"):
            raise ToolError(f"{url} is no address of a filing.", "fetch_page fetches other pages.")
    else:
        if not accession:
            raise ToolError("The accession number is missing.", "filings lists them.")
        number = read_accession(accession)
        found = await find_company(edgar, company_or_url)
        url = (await find_filing(edgar, found, number)).url
    source = await edgar.get(url, FOREVER, f"EDGAR has no document {url} (yet).")
    # A filing has no menus, and looking for its main text takes seconds.
    result = await asyncio.to_thread(as_document, source, desk.collection, page, whole=True)
    number = accession_of(source.final_url)
    text = f"SEC filing {number}.\n{result.text}" if number else result.text
    folder = url.rpartition("/")[0]
    if number and not url.endswith("-index.htm"):
        text += f"\nIts exhibits are listed in {folder}/{number}-index.htm (read_filing)."
    return ToolResult(text, sources=result.sources, data={**result.data, "accession": number})


@tool(repeatable=True)
async def filing_search(
    query: Annotated[
        str, Field(description='Words that a filing holds; a "phrase" in quotation marks.')
    ],
    desk: Desk,
    forms: Forms = None,
    company: CompanyName | None = None,
    since: Day = None,
    until: Day = None,
) -> ToolResult:
    """Search the full text of all filings with the SEC since 2001.

    A match is no evidence: read_filing its address before you conclude or quote from it.
    """
    if not query.strip():
        raise ToolError("The query is empty.")
    edgar = Edgar(desk.web)
    found = await find_company(edgar, company) if company else None
    matches, total = await search_filings(
        edgar,
        query.strip(),
        forms=forms or (),
        company=found,
        since=since or "",
        until=until or "",
    )
    lines = [f"{total:,} documents match; the best {len(matches)}:"]
    lines += [
        f"{one.form} · {one.company} · filed {one.filed} · period {one.period or '-'} · "
        f"{one.accession} · {one.description}\n    {one.url}"
        for one in matches
    ]
    return ToolResult(
        "\n".join(lines), data={"total": total, "matches": [asdict(one) for one in matches]}
    )


@tool(repeatable=True)
async def facts(
    company: Annotated[
        str,
        Field(
            description="Ticker, CIK or name; or a companyfacts file among the documents.",
            min_length=1,
        ),
    ],
    concept: Annotated[
        str,
        Field(
            description='A tag such as "Revenues" or "us-gaap:Assets" (then this tag alone), or '
            'words such as "operating cash flow".',
            min_length=1,
        ),
    ],
    desk: Desk,
    periods: Annotated[
        list[str] | None,
        Field(
            description='Such as "FY2022", "Q4 FY2022", an end "2022-01-29", "latest"; else the '
            "latest twelve."
        ),
    ] = None,
    kind: Annotated[
        Literal["year", "quarter", "half", "nine months", "instant"] | None,
        Field(description="The length of the periods; an instant is a balance."),
    ] = None,
    unit: Annotated[str | None, Field(description='Such as "USD" or "USD/shares".')] = None,
) -> ToolResult:
    """Get figures that a company filed with the SEC (XBRL), by period, exact and with evidence.

    A row has label, value, period, filing, and how it stands: as filed, restated or rounded later
    (with the original value and both filings), or DERIVED, as a quarter is from longer periods
    that were filed. Fiscal years are named as the company names them: check the dates. Cite a
    value by the ids in its row, a derived one by both. Values are in single units.
    """
    source, collection, file = await _facts_file(desk, company)
    known = await asyncio.to_thread(CompanyFacts.read, bytes_of(collection.file(file)), file)
    found = await asyncio.to_thread(answer, known, concept, periods or (), kind, unit or "")
    evidence = await asyncio.to_thread(bear_out, collection, file, found.vintages())

    def cited(vintage: Vintage) -> str:
        return evidence[vintage].id if vintage in evidence else ""

    entry = collection.file(file)
    retrieved = f", retrieved {entry.retrieved}" if entry.retrieved else ""
    text = f"{found.text(cited)}\nSource: the document {file!r}{retrieved}."
    data = {
        "company": known.name,
        "cik": known.cik,
        "file": file,
        "concepts": list(found.concepts),
        "unit": found.unit,
        "kind": found.kind,
        "rows": [row.as_json(cited) for row in found.rows],
        "notes": list(found.notes),
    }
    unique = {item.id: item for item in evidence.values()}
    sources = (source,) if source else ()
    return ToolResult(text, evidence=tuple(unique.values()), sources=sources, data=data)


async def _facts_file(desk: Desk, company: str) -> tuple[Source | None, Collection, str]:
    """The facts as a document: one that the job has, or fetched now."""
    collection = desk.collection
    if any(file.name == company for file in collection.files) or company.endswith(".json"):
        return None, collection, collection.file(company).name
    edgar = Edgar(desk.web)
    found = await find_company(edgar, company)
    url = f"{edgar.data}/api/xbrl/companyfacts/CIK{found.cik}.json"
    missing = f"The SEC has no facts (XBRL) of {found}: read its filings instead."
    source = await edgar.get(url, HOUR, missing)
    source = source.called(collection.name_for(source))
    grown = await asyncio.to_thread(collection.with_source, source, lambda: source.data)
    return source, grown, source.name
