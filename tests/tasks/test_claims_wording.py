"""Right sentences as analysts write them are left alone; wrong ones of the same wording are not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.tasks.test_claims import CAPEX, EPS, MARGIN, OTHER_INCOME, SALES, Desk

ROWS = {"S": SALES, "C": CAPEX, "O": OTHER_INCOME, "M": MARGIN, "E": EPS}

RIGHT = [
    "In 2025, net sales were 7.8% above 2024 [S].",
    "Net sales topped $8 billion in 2025 [S].",
    "Net sales exceeded $8 billion in 2025 and $7 billion in 2024 [S].",
    "Sales fell short of $8.5 billion in 2025 [S].",
    "Net sales increased by more than $600 million in 2025 [S].",
    "Net sales (in millions): $8,426 (2025), $7,813 (2024), $7,359 (2023) [S].",
    "Net sales: 2025: $8,426 million; 2024: $7,813 million [S].",
    "Net sales were $8,426m in 2025 (2024: $7,813m) [S].",
    "In 2025, net sales rose from $7.8 billion to $8.4 billion [S].",
    "Capital spending was $648 million, up from $471 million, in 2025 [C].",
    "Net sales rose to $8,426 million in 2025 from $7,813 million a year earlier [S].",
    "Net sales were $7,359 million, $7,813 million and $8,426 million in 2023, 2024 and 2025 [S].",
    "Net sales averaged $7,866 million over the three years [S].",
    "Net sales totalled $23,598 million over the three years [S].",
    "Net sales grew at a compound annual rate of 7.0% from 2023 to 2025 [S].",
    "Capital expenditures were 7.7% of net sales in 2025 [C, S].",
    "Net sales were roughly 13 times capital expenditures in 2025 [S, C].",
    "Net sales less capital expenditures came to $7,778 million in 2025 [S, C].",
    "Net sales rose in 2 of the 3 years [S].",
    "Net sales were up 8% in 2025 [S].",
    "Capital expenditures were up by about $180 million in 2025 [C].",
    "2023 $7,359 million, 2024 $7,813 million: net sales grew [S].",
    "Net sales were $8,426 million in 2025[^1].\n\n[^1]: Cash flow statement [S].",
    "Diluted earnings per share were $4.31 in 2025 [E].",
    'The statement says "Net sales 8,426 7,813 7,359" [S].',
    "> Net sales 8,426 7,813 7,359 [S]",
    "Capital expenditures surged 37.6% in 2025 [C].",
    "| (in millions) | 2025 |\n|---|---|\n| Diluted EPS | $4.31 [E] |",
]
WRONG = [
    ("Net sales tripled in 2025 [S].", "tripled"),
    ("Capital expenditures were half of net sales in 2025 [S, C].", "half of"),
    ("Net sales topped $9 billion in 2025 [S].", "does not stand"),
    ("Net sales exceeded $8 billion in 2024 [S].", "is of 2025"),
    ("Capital expenditures were 9.7% of net sales in 2025 [C, S].", "derived first"),
    ("Net sales averaged $7,966 million over the three years [S].", "does not stand"),
    ("Net sales grew at a compound annual rate of 8.0% from 2023 to 2025 [S].", "does not stand"),
    ("Net sales were roughly 20 times capital expenditures in 2025 [S, C].", "does not stand"),
    ("Net sales rose 6.2% in 2025 [S].", "does not stand"),
    ("Net sales tumbled to $8,426 million in 2025 from $7,813 million in 2024 [S].", "direction"),
    ('Acme said "net sales fell to pieces in this year" [S].', "does not stand"),
    ("Acme said ‘net sales fell to pieces in this year’ [S].", "does not stand"),
    ("Acme said «net sales fell to pieces in this year» [S].", "does not stand"),
    ("> Net sales fell to pieces in this year [S].", "does not stand"),
    ("The chief said: “We will win big in this year and the next.”", "cites nothing"),
    ("The gross profit was $8,426 million in 2025 [S].", "speaks of gross profit"),
    ("Basic earnings per share, at $4.31 in 2025, rose; diluted ones too [S].", "does not stand"),
    ("Basic EPS was $4.31 in 2025 [E].", "is diluted in its source"),
    ("| | Net sales of $39 billion |\n|---|---|\n| Costs | none |", "cites nothing"),
]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def _cited(desk: Desk, text: str) -> str:
    def ids(match: re.Match[str]) -> str:
        return "[" + ", ".join(desk.cite(ROWS[key]) for key in match[1].split(", ")) + "]"

    return re.sub(r"\[([SCOME](?:, [SCOME])*)\]", ids, text)


@pytest.mark.parametrize("text", RIGHT)
def test_right_sentences(desk: Desk, text: str) -> None:
    assert desk.check(_cited(desk, text)).problems == []


@pytest.mark.parametrize(("text", "problem"), WRONG)
def test_wrong_sentences(desk: Desk, text: str, problem: str) -> None:
    assert problem in " ".join(desk.check(_cited(desk, text)).problems)


@pytest.fixture
def bound(desk: Desk) -> dict[str, str]:
    sales, other, capex = (desk.cite(ROWS[key]) for key in "SOC")
    return {
        "new": desk.bind(sales, "8,426", "2025-12-31"),
        "old": desk.bind(sales, "7,813", "2024-12-31"),
        "loss": desk.bind(other, "(207)", "2025-12-31"),
        "capex": desk.bind(capex, "(648)", "2025-12-31"),
    }


@pytest.mark.parametrize(
    "text",
    [
        "Net sales rose to {new} in 2025 from {old} in 2024.",
        "Acme spent {capex|abs} on plants in 2025.",
        "| | 2025 | 2024 |\n|---|---|---|\n| Net sales | {new} | {old} |",
    ],
)
def test_bound_figures_in_right_sentences(desk: Desk, bound: dict[str, str], text: str) -> None:
    assert desk.check(_with(text, bound)).problems == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Net sales fell to {new} in 2025 from {old} in 2024.", "wrong direction"),
        ("Net sales were {new} in 2024.", "is of 2025"),
        ("| | 2024 | 2025 |\n|---|---|---|\n| Net sales | {new} | {old} |", "is of 2025"),
        ("| $ in billions | 2025 |\n|---|---|\n| Net sales | {new} |", "another scale"),
        ("Other income was {loss|abs} in 2025.", "lost its sign"),
        ("Gross profit was {new} in 2025.", "speaks of gross profit"),
    ],
)
def test_bound_figures_in_wrong_ones(
    desk: Desk, bound: dict[str, str], text: str, problem: str
) -> None:
    assert problem in " ".join(desk.check(_with(text, bound)).problems)


def _with(text: str, bound: dict[str, str]) -> str:
    return re.sub(r"\{(\w+)(\|abs)?\}", lambda m: f"{{{bound[m[1]]}{m[2] or ''}}}", text)
