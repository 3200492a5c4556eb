"""Question sets as they are published, and the grades of answers."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deskwork.flows.trial import Score
from deskwork.tasks.evaluation_page import MEANINGS, TITLES, write_evaluation
from deskwork.tasks.grading import grade
from deskwork.tasks.question_sets import Item, read_set
from deskwork.tools.errors import WrongUse


def written(folder: Path, name: str, rows: Any) -> Path:
    path = folder / name
    text = json.dumps(rows) if name.endswith("json") else "\n".join(map(json.dumps, rows))
    path.write_text(text)
    return path


def test_financebench(tmp_path: Path) -> None:
    row = {
        "financebench_id": "f1",
        "question": "Q?",
        "answer": "$1577.00",
        "doc_name": "3M_2018_10K",
        "question_type": "metrics-generated",
        "evidence": [{"evidence_doc_name": "3M_2018_10K", "evidence_page_num": 59}],
    }
    (item,) = read_set(written(tmp_path, "set.jsonl", [row]))
    assert item == Item(
        "f1", "Q?", ("$1577.00",), (("3M_2018_10K", 60),), "3M_2018_10K", "metrics-generated"
    )


def test_tatqa_brings_its_own_document(tmp_path: Path) -> None:
    row = {
        "table": {"uid": "t1", "table": [["", "2019", "2018"], ["Sales", "$5", "$4"]]},
        "paragraphs": [{"order": 2, "text": "Second."}, {"order": 1, "text": "First."}],
        "questions": [
            {"uid": "q1", "question": "Sales?", "answer": 5, "scale": "million",
             "answer_type": "arithmetic"},
            {"uid": "q2", "question": "Both?", "answer": ["5", "4"], "scale": ""},
        ],
    }  # fmt: skip
    one, two = read_set(written(tmp_path, "set.json", [row]))
    assert one.document.startswith("|  | 2019 | 2018 |\n|---|---|---|\n| Sales | $5 | $4 |")
    assert one.document.index("First.") < one.document.index("Second.")
    assert (one.answers, one.scale, one.doc) == (("5",), "million", "t1")
    assert two.answers == ("5", "4")


def test_officeqa_and_plain_rows(tmp_path: Path) -> None:
    rows = [{"question": "Q?", "answer": 12.5, "tolerance": 0.05}, {"problem": "P?", "answer": "x"}]
    office, browse = read_set(written(tmp_path, "set.jsonl", rows))
    assert (office.answers, office.tolerance, office.web) == (("12.5",), 0.05, False)
    assert browse.web


def test_browsecomp_is_decrypted(tmp_path: Path) -> None:
    def hidden(text: str, canary: str) -> str:
        key = hashlib.sha256(canary.encode()).digest() * 9
        return base64.b64encode(bytes(a ^ b for a, b in zip(text.encode(), key))).decode()  # noqa: B905

    path = tmp_path / "set.csv"
    path.write_text(f"problem,answer,canary\n{hidden('Who?', 'c')},{hidden('Ada', 'c')},c\n")
    (item,) = read_set(path)
    assert (item.question, item.answers, item.web) == ("Who?", ("Ada",), True)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.jsonl", "{", "is no JSON"),
        ("a.jsonl", "", "holds no questions"),
        ("a.jsonl", '{"question": "Q?"}', "Row 1 of a.jsonl is no question"),
        ("a.json", "[[1]]", "Row 1"),
    ],
)
def test_a_set_that_is_none(tmp_path: Path, name: str, text: str, problem: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(WrongUse, match=problem):
        read_set(tmp_path / name)
    with pytest.raises(WrongUse, match="can't be read"):
        read_set(tmp_path / "missing.jsonl")


def asked(gold: str, question: str = "Q?", **more: Any) -> Item:
    return Item("1", question, (gold,), **more)


@pytest.mark.parametrize(
    ("item", "answer"),
    [
        (asked("$1577.00", "Capex in USD millions?"), "It was $1,577 million in 2018 [E00000001]."),
        (asked("$1577.00", "Capex in USD millions?"), "It was $1.577 billion."),
        (asked("$1577.00", "Capex in USD millions?"), "1,577"),
        (asked("$1577.00", "Capex in USD millions?"), "Capital expenditures (1,577)"),
        (asked("$8.70", "Answer in USD billions."), "$8,738 million"),
        (asked("24.26"), "The ratio is 24.3x."),
        (asked("12.5%"), "The margin was 12.5 percent."),
        (asked("12.5%"), "The margin was 0.125."),
        (asked("-3.2%"), "It fell, by -3.2%."),
        (asked("100", tolerance=0.1), "about 108"),
        (asked("Yes, because margins rose"), "Yes. They did."),
        (asked("Ada Lovelace"), "It was ada lovelace, in 1843."),
    ],
)
def test_right_answers(item: Item, answer: str) -> None:
    assert grade(item, answer).right is True


@pytest.mark.parametrize(
    ("item", "answer"),
    [
        (asked("$1577.00", "Capex in USD millions?"), "It was $1,577 thousand."),
        (asked("$1577.00", "Capex in USD millions?"), "It was $1,677 million."),
        (asked("$1577.00", "Capex in USD millions?"), ""),
        (asked("12.5%"), "The margin was 13.5%."),
        (asked("$1577.00", "Capex in USD millions?"), "Capital expenditures (1,579)"),
        (asked("100"), "about 108"),
        (asked("No, it fell"), "Yes."),
        (Item("1", "Q?", ("5", "4")), "It was 5."),
    ],
)
def test_wrong_answers(item: Item, answer: str) -> None:
    assert grade(item, answer).right is False


def test_other_words_are_left_to_a_judge() -> None:
    assert grade(asked("The margin fell because of pricing."), "Costs went up.").right is None


def test_the_page_says_what_it_counts_and_which_signs_differ(tmp_path: Path) -> None:
    graded = grade(asked("$1577.00", "Capex in USD millions?"), "Capital expenditures (1,577)")
    assert graded.why == "its numbers are there; the sign differs: (1,577) for $1577.00"
    score = Score("f1", "builtin", "Capex?", ["$1577.00"], right=graded.right, why=graded.why)
    write_evaluation(tmp_path, "job", "set", [score], 1)
    page = (tmp_path / "evaluation.html").read_text()
    assert "Right, though the sign differs" in page
    assert "(1,577) for $1577.00" in page
    assert "<dt><b>not told</b><dd>Answers that neither code nor a model could judge" in page
    for title in TITLES:
        assert title in ", ".join(MEANINGS) or title == "answers"
    write_evaluation(tmp_path, "job", "set", [replace(score, why="its numbers are there")], 1)
    assert "though the sign differs" not in (tmp_path / "evaluation.html").read_text()
