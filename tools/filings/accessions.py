"""Accession numbers: the SEC's own name for a filing, ``0001835632-22-000016``.

Ten digits of who handed it in, two of the year, six of a count.
"""

from __future__ import annotations

import re

from deskwork.tools.errors import ToolError

_DASHED = re.compile(r"(?<![\d-])(\d{10}-\d{2}-\d{6})(?![\d-])")
_IN_ADDRESS = re.compile(r"/Archives/edgar/data/\d+/(\d{10})-?(\d{2})-?(\d{6})(?=[/.-]|$)")


def accession_of(url: str, line: str = "") -> str:
    """The filing that an address of EDGAR leads to, else the only one a line names; else empty."""
    if found := _IN_ADDRESS.search(url):
        return "-".join(found.groups())
    named = set(_DASHED.findall(line))
    return named.pop() if len(named) == 1 else ""


def read_accession(text: str) -> str:
    """An accession number with its dashes, from any way it is written. Raises `ToolError`."""
    bare = text.strip().replace("-", "")
    if not re.fullmatch(r"\d{18}", bare):
        raise ToolError(
            f"{text!r} is no accession number.", "It looks like 0001835632-22-000016; see filings."
        )
    return f"{bare[:10]}-{bare[10:12]}-{bare[12:]}"
