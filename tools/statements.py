"""Telling a filing's primary statements from its other pages.

Most questions about a company's figures are answered on three pages of a hundred and sixty, which
share their words with every note and discussion. What sets them apart is a heading near the top,
a few rows that only they have together, and numbers everywhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

KINDS = ("income", "balance", "cash")

# Compared without white space: PDFs break headings apart ("Statement of Incom e").
_HEADINGS = {
    "income": re.compile(
        r"(statements?of(consolidated)?(net)?(income|earnings|operations|profitandloss|profitorloss)"
        r"|(income|earnings|operations)statements?|profitandlossaccount)(?!tax)"
    ),
    "balance": re.compile(
        r"balancesheets?|statements?of(consolidated)?financial(position|condition)"
    ),
    "cash": re.compile(r"statements?of(consolidated)?cashflows?|cashflows?statements?"),
}
_ROWS = {
    "income": (
        r"(net )?(sales|revenues?)\b",
        r"cost of|operating expenses|total expenses|total costs",
        r"(income|earnings|loss|profit)\W.{0,20}before|income taxes|provision for",
        r"net (income|earnings|loss|\(loss\)|\(earnings\))|profit for the",
        r"per (common )?share|\bbasic\b|\bdiluted\b",
    ),
    "balance": (
        r"total assets",
        r"total current assets|cash and cash equivalents",
        r"total (current )?liabilities|liabilities and",
        r"total (shareholders|stockholders|equity|shareowners)|retained earnings|total equity",
        r"accounts payable|payables",
    ),
    "cash": (
        r"operating activities|from operations",
        r"investing activities|(from|in) investing",
        r"financing activities|(from|in) financing",
        r"(depreciation|amortization)",
        r"(beginning|end) of (the )?(year|period|fiscal)|net (increase|decrease|change)",
    ),
}
_ROW_PATTERNS = {kind: [re.compile(row) for row in rows] for kind, rows in _ROWS.items()}
_FIGURE = re.compile(r"\(?\$? ?\d[\d,]*(\.\d+)?\)?%?")
_NUMBERS = re.compile(r"\d[\d,.]*")


@dataclass(frozen=True)
class Traits:
    """How much of a page is each statement, from 0 to 1; ``figures`` is the share of rows."""

    income: float = 0.0
    balance: float = 0.0
    cash: float = 0.0
    figures: float = 0.0


def traits(text: str) -> Traits:
    """Judge one page by its heading, its rows and its figures."""
    lines = [line for line in text.lower().split("\n") if line.strip()]
    if len(lines) < 4:
        return Traits()
    figures = sum(_is_row(line) for line in lines) / len(lines)
    top = re.sub(r"[^a-z]", "", "".join(lines[:8]))
    squeezed = [re.sub(r"[^a-z]", "", line) for line in lines]
    # A heading is short and stands alone; a sentence that names the statement is not one.
    headings = [line if len(line) < 70 and "note" not in line else "" for line in squeezed]
    labels = [line for line in lines if _is_row(line)]
    scores = {}
    for kind in KINDS:
        patterns = _ROW_PATTERNS[kind]
        found = sum(any(row.search(label) for label in labels) for row in patterns) / len(patterns)
        at = next((n for n, line in enumerate(headings) if _HEADINGS[kind].search(line)), None)
        if at is not None:
            # Short releases print two statements on a page; the second's heading is further down.
            heading = 1.0 if at < 12 else 0.8 * (found >= 0.6)
        else:
            heading = 0.5 if _HEADINGS[kind].search(top) else 0.0
        dense = min(1.0, figures / 0.5)
        scores[kind] = round(dense * (0.55 * heading * (found >= 0.4) + 0.45 * found * found), 3)
    return Traits(figures=round(figures, 3), **scores)


def _is_row(line: str) -> bool:
    """A table row: a label, then at least one figure at the end (or two anywhere)."""
    numbers = _NUMBERS.findall(line)
    if not numbers:
        return False
    stripped = line.rstrip(" |")
    return len(numbers) >= 2 and len(line) < 300 and bool(_FIGURE.search(stripped[-16:]))
