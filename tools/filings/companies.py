"""Companies: found by ticker, by CIK or by name in the SEC's list of those that are traded.

The list, ``company_tickers.json``, has a row for each ticker: ``{"0": {cik_str, ticker, title}}``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from deskwork.tools.errors import NotFound, WebError
from deskwork.tools.filings.edgar import DAY, HOUR, Edgar

SHOWN = 20
_FORMS = (
    r"inc|incorporated|corp|corporation|co|company|companies|ltd|limited|plc|llc|lp|sa|nv|ag|se|"
    r"the|holdings?|group|trust"
)
_LEGAL = re.compile(rf"\b(?:{_FORMS})\b")


@dataclass(frozen=True)
class Company:
    """``cik`` has ten digits, as addresses want it; ``tickers`` may be none."""

    cik: str
    name: str
    tickers: tuple[str, ...] = ()

    def __str__(self) -> str:
        tickers = f" ({', '.join(self.tickers)})" if self.tickers else ""
        return f"{self.name}{tickers}, CIK {self.cik}"


async def find_companies(edgar: Edgar, text: str) -> list[Company]:
    """Every company that a text may mean: one where it is a CIK or a ticker, else by its name.

    Raises `NotFound`, and what `Edgar.get` raises.
    """
    wanted = text.strip()
    listed = await _listed(edgar)
    if number := re.fullmatch(r"(?:CIK)?\s*0*(\d{1,10})", wanted, re.I):
        cik = number.group(1).rjust(10, "0")
        return [next((one for one in listed if one.cik == cik), None) or await _by_cik(edgar, cik)]
    ticker = wanted.upper().replace(".", "-")
    by_ticker = [one for one in listed if ticker in one.tickers]
    if by_ticker and wanted == wanted.upper():
        return by_ticker
    # In another spelling the word may be a name as well: "Best" is a ticker and a store.
    found = list(dict.fromkeys([*by_ticker, *_by_name(listed, wanted)]))
    if not found:
        raise NotFound(
            f"The SEC lists no traded company {text!r}.",
            "Give its ticker or CIK, or a part of its name; filing_search finds others.",
        )
    return found


async def find_company(edgar: Edgar, text: str) -> Company:
    """The one company that a text means. Raises `NotFound` that lists them where it isn't one."""
    found = await find_companies(edgar, text)
    if len(found) > 1:
        more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        names = "; ".join(map(str, found[:SHOWN]))
        raise NotFound(
            f"{text!r} may be any of {len(found)} companies: {names}{more}.",
            "Name it by its CIK or ticker.",
        )
    return found[0]


async def _listed(edgar: Edgar) -> list[Company]:
    table = await edgar.json(f"{edgar.www}/files/company_tickers.json", DAY)
    tickers: dict[str, list[str]] = defaultdict(list)
    names: dict[str, str] = {}
    for row in table.values():
        try:
            cik = str(row["cik_str"]).rjust(10, "0")
            tickers[cik].append(str(row["ticker"]).upper())
            names.setdefault(cik, str(row["title"]))
        except (KeyError, TypeError):
            raise WebError("unreadable", "The SEC's list of tickers has another form.") from None
    return [Company(cik, names[cik], tuple(of)) for cik, of in tickers.items()]


async def _by_cik(edgar: Edgar, cik: str) -> Company:
    """A company that has no ticker (any more)."""
    value = await edgar.json(submissions_url(edgar, cik), HOUR, no_company(cik))
    return Company(cik, str(value.get("name", "")), tuple(value.get("tickers") or ()))


def submissions_url(edgar: Edgar, cik: str) -> str:
    """Where a company's filings are listed."""
    return f"{edgar.data}/submissions/CIK{cik}.json"


def no_company(cik: str) -> str:
    """The sentence for a CIK that is nobody's."""
    return f"The SEC knows no company with the CIK {cik}."


def _by_name(listed: Sequence[Company], text: str) -> list[Company]:
    """Those of exactly that name, legal forms aside; else those with all its words."""
    wanted = _bare(text)
    bare = [(one, _bare(one.name)) for one in listed]
    if exact := [one for one, name in bare if name == wanted and wanted]:
        return exact
    words = wanted.split()
    held = [(one, name) for one, name in bare if words and all(w in name.split() for w in words)]
    if not held:
        held = [(one, name) for one, name in bare if words and name.startswith(wanted)]
    return [one for one, _ in sorted(held, key=lambda item: len(item[1]))]


def _bare(name: str) -> str:
    text = re.sub(r"/[a-z]{2,3}/?$", "", name.casefold())
    text = re.sub(r"[^a-z0-9& ]+", " ", text.replace("'", "").replace(".", ""))
    return " ".join(_LEGAL.sub(" ", text).split())
