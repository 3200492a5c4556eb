"""A quarter is not the year: what the check says of the length of a figure's period."""

from __future__ import annotations

from pathlib import Path

import pytest

from deskwork.tools.errors import ToolError
from tests.tasks.test_claims import Desk

RELEASE = """# Beta Inc results

Statements of operations (in millions)
Three Months Ended Six Months Ended
June 30, 2025 June 30, 2024 June 30, 2025 June 30, 2024
Net sales 5,310 4,984 10,120 9,764
Additions to property, net of $35 and $46, respectively, of other things (930) (737) (1,640) (1,422)
"""
NET = "Net sales 5,310 4,984 10,120 9,764"
ADDED = RELEASE.splitlines()[-1]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "files").mkdir()
    (folder / "files" / "beta_2025_10Q.md").write_text(RELEASE)
    desk = Desk(tmp_path)
    from deskwork.tools.library import Library

    desk.collection = Library(tmp_path / "home").collect([folder / "files"])
    return desk


@pytest.mark.parametrize(
    "sentence",
    [
        "Net sales came to $5,310 million in the second quarter of 2025 {}.",
        "Q2 2025 net sales came to $5,310 million, against $4,984 million a year earlier {}.",
        "In the first half of 2025, net sales were $10,120 million {}.",
        "Net sales for the six months were $10,120 million, and $5,310 million in the quarter {}.",
        "Net sales in the quarter rose 6.5% {}.",
        "Net sales were $10,120 million in the period ended June 30, 2025 {}.",
    ],
)
def test_periods_that_are_right(desk: Desk, sentence: str) -> None:
    cited = desk.cite(NET, "beta_2025_10Q.md")
    assert desk.check(sentence.format(f"[{cited}]")).problems == []


@pytest.mark.parametrize(
    ("sentence", "problem"),
    [
        ("Net sales came to $5,310 million in 2025 {}.", "is of a quarter in its source"),
        ("For the full year, net sales were $10,120 million {}.", "is of six months"),
        ("Net sales were $10,120 million in the second quarter {}.", "speaks of a quarter"),
        ("Net sales rose 6.5% in 2025 {}.", "is of a quarter in its source"),
        ("Over nine months net sales were $10,120 million {}.", "speaks of nine months"),
    ],
)
def test_periods_that_are_not(desk: Desk, sentence: str, problem: str) -> None:
    cited = desk.cite(NET, "beta_2025_10Q.md")
    assert problem in " ".join(desk.check(sentence.format(f"[{cited}]")).problems)


def test_a_report_on_a_quarter_says_so_in_its_title(desk: Desk) -> None:
    cited = desk.cite(NET, "beta_2025_10Q.md")
    sentence = f"Net sales came to $5,310 million in 2025 [{cited}]."
    assert desk.check(f"# Beta's second quarter\n\n{sentence}").problems == []
    assert len(desk.check(f"# Beta in 2025\n\n{sentence}").problems) == 1


def test_a_bound_figure_takes_its_length_from_its_column(desk: Desk) -> None:
    cited = desk.cite(NET, "beta_2025_10Q.md")
    quarter = desk.bind(cited, "5,310", "2025-06-30")
    assert desk.figures[quarter].period_start == "2025-04-01"
    assert desk.check(f"Net sales were {{{quarter}}} in the second quarter of 2025.").problems == []
    (problem,) = desk.check(f"Net sales were {{{quarter}}} in 2025.").problems
    assert "is of a quarter in its source" in problem
    with pytest.raises(ToolError, match="is of 3 months in its source"):
        desk.bind(cited, "5,310", "2025-06-30", period_start="2024-07-01")


def test_numbers_of_a_rows_name_need_no_source_of_their_own(desk: Desk) -> None:
    cited = desk.cite(ADDED, "beta_2025_10Q.md")
    name = "additions to property, net of $35 and $46, respectively, of other things"
    right = f"In the second quarter of 2025, {name} came to $930 million [{cited}]."
    assert desk.check(right).problems == []
    (problem,) = desk.check(right.replace("$46", "$47")).problems
    assert "does not stand in what the sentence cites" in problem
