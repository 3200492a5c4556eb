"""Names of a question that no source speaks of, and sections with nothing in them."""

from __future__ import annotations

import pytest

from deskwork.tasks.subjects import empty_sections, names_in, strangers


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("How did Tesla's automotive gross margin develop in 2022?", ["Tesla"]),
        ("What did Best Buy pay in March? Is GAAP used?", ["Best", "Buy"]),
        ("Tesla's margin in Q2 FY2024", ["Tesla"]),
        ("What was MRVL's revenue?", ["MRVL"]),
        ("Revenue by segment", []),
        ("Did margins at Costco beat those of Best Buy, and why?", ["Costco", "Best", "Buy"]),
    ],
)
def test_names_of_a_question(question: str, names: list[str]) -> None:
    assert names_in(question) == names


def test_a_name_is_looked_for_in_documents_and_texts() -> None:
    question = "How did Tesla and Rivian do against Acme?"
    found = strangers(question, lambda word: [word] if word != "Acme" else [], ["rivian_10k.pdf"])
    assert found == ["Tesla"]


def test_headings_with_nothing_under_them() -> None:
    text = "# T\n\n## Summary\n\n## Revenue\n\n### North\n\nIt rose.\n\n## Limits\n\nNone.\n"
    assert empty_sections(text) == ["Summary"]
