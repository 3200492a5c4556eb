"""The built-in answerer takes English questions apart, and leaves others whole."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from deskwork.tasks.extractive_language import is_english
from deskwork.tasks.extractive_plan import plan

OTHERS = [
    "Wie hoch war die Bruttomarge von Halden Instruments im Geschäftsjahr 2025?",
    "Quel était le chiffre d'affaires en 2025 ?",
    "¿Cuál fue el margen bruto en 2025?",
    "Qual è stato il margine lordo nel 2025?",
    "Wat was de brutomarge van Halden in 2025?",
    "2025年の売上高はいくらですか",
]


def words_of(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text))


@pytest.mark.parametrize("question", OTHERS)
def test_a_question_in_another_language_is_not_taken_apart(question: str) -> None:
    assert not is_english(question)
    made = json.loads(plan(f"Question: {question}\n\nDocuments:\n- a.md"))
    first, *others = made["investigations"]
    assert first["question"] == question
    assert len(others) == 2  # a plan has three
    for part in others:
        assert part["question"] == question or set(part["question"].split()) <= words_of(question)
    assert made["title"] == question.rstrip("?")


@pytest.mark.parametrize(
    "question", ["Gross margin 2025?", "What was capital spending in 2025?", "2025", ""]
)
def test_short_english_ones_are_english(question: str) -> None:
    assert is_english(question)


def test_questions_on_filings_are_english(financebench: Path) -> None:
    rows = (financebench / "questions.jsonl").read_text().splitlines()
    questions = [json.loads(row)["question"] for row in rows]
    assert [question for question in questions if not is_english(question)] == []
