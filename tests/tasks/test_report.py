from __future__ import annotations

from deskwork.tasks.report import check, problems_of, sentences_of
from deskwork.tools.tool import Evidence

ITEM = Evidence("E00000001", "a.pdf", 1, "Sales were 5.0. Costs rose to 4.0.", "0" * 64, 0)


def test_full_stops_within_a_quote_end_no_sentence() -> None:
    bullet = "“Sales were 5.0. Costs rose to 4.0.” — a.pdf, page 12 [E00000001]"
    assert sentences_of(f"- {bullet}\n- Next. Last.") == [f"- {bullet}", "- Next.", "Last."]
    claims = check(f"- {bullet}", {ITEM.id: ITEM}, lambda item: item)
    assert [claim.status for claim in claims] == ["supported"]


def test_a_quote_within_a_quote_and_one_that_never_closes() -> None:
    nested = "“He said “No. Never.” Then 9.5 left.” [E00000001]"
    assert sentences_of(nested) == [nested]
    assert sentences_of("“Open. It costs 1.5 million.") == ["“Open.", "It costs 1.5 million."]


def test_what_stands_behind_a_quote_is_checked_by_itself() -> None:
    text = "“Sales were 5.0. Costs rose.” [E00000001] is quoted. Profit was 1.5 million."
    problems = problems_of(check(text, {ITEM.id: ITEM}, lambda item: item))
    assert problems == ['"Profit was 1.5 million.": it states a figure and cites nothing']
