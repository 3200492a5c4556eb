"""Full text search over filings since 2001, as the SEC's own search page asks it.

``hits.hits[]._id`` is "accession:file"; ``_source`` names the company, form and dates.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from deskwork.tools.errors import WebError
from deskwork.tools.filings.companies import Company
from deskwork.tools.filings.edgar import HOUR, Edgar
from deskwork.tools.filings.submissions import document_url

_FIRST_DAY = "2001-01-01"


@dataclass(frozen=True)
class Match:
    """A document that holds the words; dates are ISO, ``period`` empty where it has none."""

    company: str
    form: str
    filed: str
    period: str
    accession: str
    url: str
    description: str


async def search_filings(
    edgar: Edgar,
    query: str,
    *,
    forms: Sequence[str] = (),
    company: Company | None = None,
    since: str = "",
    until: str = "",
) -> tuple[list[Match], int]:
    """The best matches, and how many there are. Raises `WebError`, "nothing found" for none."""
    asked = {"q": query, "forms": ",".join(forms), "ciks": company.cik if company else ""}
    if since or until:
        # The service takes both ends or none.
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        asked |= {
            "dateRange": "custom",
            "startdt": since or _FIRST_DAY,
            "enddt": until or today,
        }
    given = {name: text for name, text in asked.items() if text}
    url = f"{edgar.full_text}/LATEST/search-index?{urlencode(given)}"
    value = await edgar.json(url, HOUR)
    try:
        hits = value["hits"]
        total = int(hits["total"]["value"])
        matches = [_match(edgar, hit) for hit in hits["hits"]]
    except (KeyError, TypeError, ValueError, IndexError):
        raise WebError("search failed", "The SEC's search answered in another form.") from None
    if not matches:
        raise WebError(
            "nothing found",
            f"No filing since 2001 holds {query!r}" + (f" of {company}" if company else "") + ".",
            "Try fewer or other words; a phrase stands in quotation marks.",
        )
    return matches, total


def _match(edgar: Edgar, hit: dict[str, Any]) -> Match:
    accession, _, file = str(hit["_id"]).partition(":")
    source = hit["_source"]
    return Match(
        company="; ".join(" ".join(str(name).split()) for name in source["display_names"]),
        form=str(source.get("form") or source.get("file_type") or ""),
        filed=str(source.get("file_date") or ""),
        period=str(source.get("period_ending") or ""),
        accession=accession,
        url=document_url(edgar, str(source["ciks"][0]), accession, file),
        description=str(source.get("file_description") or source.get("file_type") or ""),
    )
