"""Submissions: what a company filed, newest first.

``filings.recent`` holds a year or a thousand filings as columns; older ones stand in files of
their own, ``filings.files[].name``, with the dates between which they were filed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deskwork.tools.errors import NotFound, WebError
from deskwork.tools.filings.companies import Company, no_company, submissions_url
from deskwork.tools.filings.edgar import DAY, HOUR, Edgar

_COLUMNS = ("accessionNumber", "form", "filingDate", "reportDate", "primaryDocument")
_OTHERS = ("primaryDocDescription", "items")


@dataclass(frozen=True)
class Filing:
    """One filing. ``filed`` and ``period`` are ISO dates, ``period`` empty where it has none;
    ``url`` is its primary document's; ``items`` are those of an 8-K.
    """

    accession: str
    form: str
    filed: str
    period: str
    url: str
    description: str = ""
    items: str = ""


async def list_filings(
    edgar: Edgar,
    company: Company,
    *,
    forms: Sequence[str] = (),
    since: str = "",
    until: str = "",
    top: int = 20,
) -> list[Filing]:
    """The newest filings of these forms, with their amendments, filed between two ISO dates.

    Older lists are fetched only as far as they are needed. Raises what `Edgar.get` raises.
    """
    found: list[Filing] = []
    wanted = {form.strip().upper() for form in forms}
    async for filing in _all(edgar, company, since):
        form = filing.form.upper()
        if wanted and not {form, form.removesuffix("/A")} & wanted:
            continue
        if filing.filed < since or (until and filing.filed > until):
            continue
        found.append(filing)
        if len(found) == top:
            break
    return found


async def find_filing(edgar: Edgar, company: Company, accession: str) -> Filing:
    """The filing with this accession number. Raises `NotFound`."""
    async for filing in _all(edgar, company, ""):
        if filing.accession == accession:
            return filing
    raise NotFound(
        f"{company} has no filing {accession}.", "The tool filings lists those that it has."
    )


async def _all(edgar: Edgar, company: Company, since: str) -> AsyncIterator[Filing]:
    url = submissions_url(edgar, company.cik)
    value = await edgar.json(url, HOUR, no_company(company.cik))
    try:
        recent, older = value["filings"]["recent"], value["filings"].get("files") or []
    except (KeyError, TypeError, AttributeError):
        raise _odd(url) from None
    for filing in _rows(edgar, company, recent, url):
        yield filing
    for file in sorted(older, key=lambda each: str(each.get("filingTo", "")), reverse=True):
        if str(file.get("filingTo", "9")) < since:
            continue
        page = f"{edgar.data}/submissions/{file['name']}"
        for filing in _rows(edgar, company, await edgar.json(page, DAY), page):
            yield filing


def _rows(edgar: Edgar, company: Company, columns: Mapping[str, Any], url: str) -> list[Filing]:
    try:
        needed = [columns[name] for name in _COLUMNS]
        count = len(needed[0])
        others = [columns.get(name) or [""] * count for name in _OTHERS]
        rows = [
            Filing(
                accession=str(accession),
                form=str(form),
                filed=str(filed),
                period=str(period or ""),
                url=document_url(edgar, company.cik, str(accession), str(document or "")),
                description=str(description or ""),
                items=str(items or ""),
            )
            for accession, form, filed, period, document, description, items in zip(
                *needed, *others, strict=True
            )
        ]
    except (KeyError, TypeError, ValueError):
        raise _odd(url) from None
    return sorted(rows, key=lambda filing: filing.filed, reverse=True)


def document_url(edgar: Edgar, cik: str, accession: str, document: str) -> str:
    """The address of a document; of the whole submission as text where it has no name."""
    folder = f"{edgar.www}/Archives/edgar/data/{int(cik)}/{accession.replace('-', '')}"
    return f"{folder}/{document}" if document else f"{folder}/{accession}.txt"


def _odd(url: str) -> WebError:
    return WebError("unreadable", f"{url} has another form than the SEC's lists of filings.")
