"""What a person's correction changes in a report, and what it leaves for a person to mend."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from deskwork.tasks.claims import Claim, check
from deskwork.tasks.figure_corrections import corrected_figures, figure_correction
from deskwork.tasks.ledger import Ledger
from deskwork.tasks.publishing.numbering import corrected_of, printed_text, rejected
from deskwork.tasks.report import Report
from deskwork.tasks.review import Review
from deskwork.tasks.reviews import find_claim, keeping_citations, reviewed
from deskwork.tools.errors import WrongUse
from deskwork.tools.figures import Figure
from deskwork.tools.formulas import Wanted, derive
from tests.tasks.test_claims import CAPEX, SALES, Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def report_of(desk: Desk, text: str) -> Report:
    found = desk.check(text)
    assert found.problems == []
    figures = {**desk.figures, **{figure.id: figure for figure in found.figures}}
    return Report("job", "done", "?", text, tuple(desk.evidence.values()), found.claims,
                  tuple(figures.values()))  # fmt: skip


def correction(report: Report, value: str, to: str, at: str = "day 1", note: str = "") -> Review:
    figure = next(f for f in report.figures if str(f.value) == value and not f.formula)
    return figure_correction(figure, to, "A. Reviewer", note, at)


def figure_of(report: Report, label: str) -> Figure:
    return next(figure for figure in report.figures if figure.label == label)


@pytest.fixture
def bound(desk: Desk) -> Report:
    """A report that states sales of 8,426 by reference and in digits, and what follows from it."""
    sales = desk.cite(SALES)
    new, old = desk.bind(sales, "8,426", "2025"), desk.bind(sales, "7,813", "2024")
    growth = derive(f"({new} - {old}) / {old}", desk.figures.get, Wanted("growth", unit="%"))
    desk.figures[growth.id] = growth
    twice = derive(f"{growth.id} * 2", desk.figures.get, Wanted("twice the growth"))
    desk.figures[twice.id] = twice
    return report_of(
        desk,
        f"# A\n\nNet sales were {{{new}}} in 2025. They grew by {{{growth.id}}}.\n\n"
        f"Net sales came to $8,426 million in 2025 [{sales}]; some say $8.4 billion "
        f"[{sales}].\n\n- Net sales rose $613 million in 2025 [{sales}].\n"
        f"- It says “Net sales 8,426 7,813 7,359” [{sales}].\n",
    )


def test_what_is_computed_from_a_corrected_figure_is_computed_anew(bound: Report) -> None:
    after = reviewed(bound, [correction(bound, "8426", "8,594.3", note="restated")])
    assert figure_of(after, "growth").printed() == "10.0%"
    assert figure_of(after, "twice the growth").printed() == "20.0%"
    assert "before 7.8%" in figure_of(after, "growth").vintage
    text = printed_text(after)
    assert "Net sales were $8,594.3 million in 2025. They grew by 10.0%." in text


def test_the_same_number_elsewhere_is_put_right_or_marked(bound: Report) -> None:
    after = reviewed(bound, [correction(bound, "8426", "8,594.3")])
    text = printed_text(after)
    assert "Net sales came to $8,594.3 million in 2025" in text
    assert "some say $8.6 billion" in text
    assert "“Net sales 8,426 7,813 7,359”" in text  # a quote stays word for word
    assert "(a reviewer corrected $8,426 million to $8,594.3 million)" in text
    (marked,) = rejected(after)
    assert "$613 million" in marked.text
    assert "computed from $8,426 million" in marked.problem
    for claim in after.claims:  # links still stand at their numbers
        for start, end, _ in claim.places:
            assert claim.text[start:end].replace(",", "").replace(".", "").isdigit()


def test_a_number_in_prose_that_is_quoted_is_told(desk: Desk) -> None:
    sales = desk.cite(SALES)
    prose = desk.cite("Net sales rose 7.8% to $8,426 million in fiscal 2025.")
    report = report_of(
        desk,
        f"Net sales were $8,426 million in 2025 [{sales}].\n\n"
        f"- “Net sales rose 7.8% to $8,426 million in fiscal 2025.” — a.md, page 1 [{prose}]\n"
        f"- “Net sales 8,426 7,813 7,359” [{sales}]\n",
    )
    after = reviewed(report, [correction(report, "8426", "8,594.3")])
    told = printed_text(after).count("(a reviewer corrected $8,426 million to $8,594.3 million)")
    assert told == 2
    assert rejected(after) == []


def test_the_same_amount_of_another_year_is_left_alone(desk: Desk) -> None:
    sales = desk.cite(SALES)
    report = report_of(
        desk,
        f"Net sales were $8,426 million in 2025 [{sales}]. "
        f"They were $7,813 million in 2024 [{sales}].",
    )
    figures = tuple(
        replace(f, value=f.value.__class__(8426)) if f.value == 7813 else f for f in report.figures
    )
    report = replace(report, figures=figures)
    review = replace(correction(report, "8426", "8,594.3"), period_end="2025")
    after = reviewed(report, [review])
    assert "$7,813 million in 2024" in printed_text(after)
    assert rejected(after) == []


def test_every_value_a_figure_had_is_known(bound: Report) -> None:
    first = correction(bound, "8426", "8,594.3", note="restated in the 10-K/A")
    second = correction(bound, "8426", "8,600", at="day 2", note="a slip of mine")
    after = reviewed(bound, [first, second])
    lines = [line for line in corrected_of(after) if "day 1" in line]
    for line in lines:
        assert "$8,600 million" in line
        assert "from $8,426 million" in line
        assert "restated in the 10-K/A" in line
        assert "a slip of mine" in line
    assert lines
    # Findings of a later run come corrected already: nothing is told twice.
    again = corrected_figures({f.id: f for f in after.figures}, [first, second])
    assert list(again.values()) == list(after.figures)


def test_a_correction_is_of_its_own_place_alone(desk: Desk) -> None:
    sales, other = desk.cite(SALES), desk.cite("Net sales came to $51.2 million in 2025",
                                               "omega_2025_10K.md")  # fmt: skip
    report = report_of(
        desk,
        f"Acme had net sales of $8,426 million in 2025 [{sales}]. "
        f"Omega's net sales came to $51.2 million in 2025 [{other}].",
    )
    report = replace(report, figures=tuple(replace(f, label="Net sales") for f in report.figures))
    after = reviewed(report, [correction(report, "8426", "8,594.3")])
    assert "$51.2 million" in printed_text(after)
    assert [figure.status for figure in after.figures].count("corrected") == 1


def test_a_sign_that_turns_is_left_to_a_person(desk: Desk) -> None:
    capex = desk.cite(CAPEX)
    report = report_of(desk, f"Capital expenditures were $648 million in 2025 [{capex}].")
    after = reviewed(report, [correction(report, "-648", "+648")])
    (marked,) = rejected(after)
    assert "its words may not fit" in marked.problem


@pytest.mark.parametrize(
    "value", ["nan", "inf", "-inf", "1e999", "1e3", "", "840,1", "9" * 30, "٣"]
)
def test_what_is_no_number_is_refused(bound: Report, value: str) -> None:
    with pytest.raises(WrongUse, match="is no number that a figure can have"):
        correction(bound, "8426", value)


def test_a_later_report_may_state_the_corrected_number(desk: Desk, bound: Report) -> None:
    review = correction(bound, "8426", "8,594.3")
    before, after = (bound.figures[0].amount, reviewed(bound, [review]).figures[0].amount)
    ledger = Ledger(desk.collection, desk.evidence, desk.figures, {},
                    [(review.evidence, before, after)])  # fmt: skip
    for number in ("8,426", "8,594.3"):
        text = f"Net sales were ${number} million in 2025 [{review.evidence}]."
        assert check(text, ledger).problems == []


def test_a_sentence_is_corrected_wherever_it_stands_and_keeps_its_citations(desk: Desk) -> None:
    sales = desk.cite(SALES)
    said = f"Net sales were $8,426 million in 2025 [{sales}]."
    report = report_of(
        desk, f"# A\n\n{said} More.\n\n## B\n\n- {said}\n\nNet sales were\n{said[15:]}"
    )
    claim = find_claim(report, "were $8,426")
    after_text = keeping_citations("Net sales rose in 2025.", claim, report)
    after = reviewed(report, [Review("claim", "A", "now", "why", claim.text, after_text)])
    assert after.text.count(f"Net sales rose in 2025. [{sales}]") == 3
    assert after.text.count(sales) == 3
    assert [claim.status for claim in after.claims] == ["corrected"] * 3
    assert {claim.evidence for claim in after.claims} == {(sales,)}
    assert "before “Net sales were $8,426 million in 2025.”" in corrected_of(after)[0]
    assert "(why)" in corrected_of(after)[0]


def test_a_sentence_is_found_as_it_is_printed(bound: Report) -> None:
    claim = find_claim(bound, "were $8,426 million in 2025")
    assert "{F" in claim.text
    kept = keeping_citations("They were high.", claim, bound)
    assert kept == f"They were high. [{claim.evidence[0]}]"


def test_a_row_is_corrected_by_a_row_alone(bound: Report) -> None:
    row = Claim("| Net sales | 8,426 [E00000001] |", ("E00000001",), "supported")
    with pytest.raises(WrongUse, match="is a row of a table"):
        keeping_citations("Net sales rose.", row, bound)
    kept = keeping_citations("| Net sales | 9 |", row, bound)
    assert kept == "| Net sales | 9 [E00000001] |"


def test_a_correction_that_finds_its_sentence_no_more_is_told(bound: Report) -> None:
    after = reviewed(bound, [Review("claim", before="It was gone.", after="It is gone.")])
    assert after.notes == ("A corrected sentence stands here no more: “It is gone.”.",)


def test_a_correction_makes_nothing_right_that_was_marked(desk: Desk) -> None:
    sales = desk.cite(SALES)
    report = report_of(desk, f"Net sales were $8,426 million in 2025 [{sales}].")
    wrong = tuple(replace(c, status="unsupported", problem="a guess") for c in report.claims)
    after = reviewed(replace(report, claims=wrong), [correction(report, "8426", "8,594.3")])
    assert [(claim.status, claim.problem) for claim in after.claims] == [("unsupported", "a guess")]
    assert "$8,594.3 million" in printed_text(after)
