"""How the web is used: which search, what may be fetched, and within which limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

SEARCHES = ("ddgs", "searxng", "brave", "tavily")


@dataclass(frozen=True)
class WebOptions:
    """The settings of the web tools.

    ``enabled``: jobs may use the web though nobody said so with the job. ``allow`` names hosts,
    ``host:port`` and networks that may be fetched though they aren't public. ``max_bytes`` and
    ``seconds`` bound one fetch; ``max_age`` is for how many seconds a snapshot or a search's
    results are taken again; ``per_second`` how often one host is asked. ``contact`` stands in the
    User-Agent: a name and a mail address. ``sec_www``, ``sec_data`` and ``sec_search`` are where
    EDGAR's documents, data and full text search are; ``filings`` is whether jobs with the web get
    the tools over filings, None for wherever ``contact`` is a name and a mail address.
    """

    enabled: bool = False
    search: str = "ddgs"
    searxng_url: str = ""
    brave_key: str = field(default="", repr=False)
    tavily_key: str = field(default="", repr=False)
    allow: tuple[str, ...] = ()
    max_bytes: int = 50_000_000
    seconds: float = 60.0
    max_age: float = 86_400.0
    per_second: float = 2.0
    contact: str = ""
    sec_www: str = "https://www.sec.gov"
    sec_data: str = "https://data.sec.gov"
    sec_search: str = "https://efts.sec.gov"
    filings: bool | None = None

    @property
    def with_filings(self) -> bool:
        """Whether a job with the web has the tools over filings."""
        return self.names_someone if self.filings is None else self.filings

    @property
    def names_someone(self) -> bool:
        """Whether ``contact`` is what the SEC asks for: a name and a mail address."""
        return "@" in self.contact and " " in self.contact.strip()

    def recorded(self) -> dict[str, Any]:
        """What a job keeps of them: what says where its results came from, and no secret."""
        return {
            "enabled": self.enabled,
            "search": self.search,
            "max_age": self.max_age,
            "filings": self.with_filings,
        }


BY_DEFAULT = WebOptions()
