"""Sets of questions with gold answers, in the forms in which they are published.

Read as they are: FinanceBench (JSONL), TAT-QA (JSON with a table and paragraphs of its own for each
group of questions), OfficeQA-like sets (question, answer, tolerance), and BrowseComp-like sets
(question and short answer; its CSV is encrypted with each row's canary, as its authors publish it).
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from deskwork.tools.documents import markdown_row
from deskwork.tools.errors import WrongUse

_FORMS = "FinanceBench, TAT-QA, or rows with `question` and `answer`"


@dataclass(frozen=True)
class Item:
    """One question. ``evidence`` are (file's name without its ending, page from 1).

    ``tolerance`` is relative; None for the evaluation's own. ``document`` is Markdown that belongs
    to this question alone, under ``doc``; ``web`` tells that only the web can answer it.
    """

    id: str
    question: str
    answers: tuple[str, ...]
    evidence: tuple[tuple[str, int], ...] = ()
    doc: str = ""
    kind: str = ""
    scale: str = ""
    tolerance: float | None = None
    document: str = ""
    web: bool = False


def read_set(path: Path) -> list[Item]:
    """The questions of a file (JSON, JSONL or CSV). Raises `WrongUse` naming the row."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise WrongUse(f"The set {path} can't be read: {error}.", f"Give {_FORMS}.") from None
    rows = _rows(path, text)
    items: list[Item] = []
    for number, row in enumerate(rows, 1):
        try:
            items += _items(row, number)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise WrongUse(
                f"Row {number} of {path.name} is no question: {error!r}.", f"Give {_FORMS}."
            ) from None
    if not items:
        raise WrongUse(f"The set {path} holds no questions.", f"Give {_FORMS}.")
    names = [item.id for item in items]
    if len(set(names)) < len(names):
        items = [replace(item, id=f"{n}-{item.id}") for n, item in enumerate(items, 1)]
    return items


def _rows(path: Path, text: str) -> list[dict[str, Any]]:
    if path.suffix.lower() == ".csv":
        return [_decrypted(row) for row in csv.DictReader(io.StringIO(text))]
    try:
        if text.lstrip().startswith("["):
            value = json.loads(text)
        else:
            value = [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError as error:
        raise WrongUse(f"The set {path} is no JSON: {error}.", f"Give {_FORMS}.") from None
    return list(value)


def _decrypted(row: dict[str, Any]) -> dict[str, Any]:
    """A row of BrowseComp: question and answer are XORed with a key made of its canary."""
    if not row.get("canary"):
        return row

    def plain(field: str) -> str:
        data = base64.b64decode(row[field])
        key = hashlib.sha256(row["canary"].encode()).digest()
        repeated = key * (len(data) // len(key) + 1)
        return bytes(a ^ b for a, b in zip(data, repeated, strict=False)).decode()

    return {"question": plain("problem"), "answer": plain("answer"), "web": True}


def _items(row: dict[str, Any], number: int) -> Iterator[Item]:
    if "questions" in row and "paragraphs" in row:
        yield from _tatqa(row)
        return
    question = row.get("question") or row.get("problem") or row["query"]
    answer = row["answer"] if "answer" in row else row["ground_truth"]
    answers = tuple(map(str, answer)) if isinstance(answer, list) else (str(answer),)
    evidence = tuple(_evidence(item) for item in row.get("evidence") or ())
    doc = str(row.get("doc_name") or row.get("doc") or row.get("file") or "")
    tolerance = row.get("tolerance")
    yield Item(
        id=str(row.get("financebench_id") or row.get("id") or row.get("uid") or number),
        question=str(question),
        answers=answers,
        evidence=evidence,
        doc=doc or (evidence[0][0] if evidence else ""),
        kind=str(row.get("question_type") or row.get("type") or ""),
        tolerance=float(tolerance) if tolerance not in (None, "") else None,
        web=bool(row.get("web", not doc and not evidence and "problem" in row)),
    )


def _evidence(item: dict[str, Any]) -> tuple[str, int]:
    """FinanceBench counts pages from 0."""
    doc = item.get("evidence_doc_name") or item.get("doc_name") or item["doc"]
    page = item["evidence_page_num"] if "evidence_page_num" in item else item["page_index"]
    return str(doc), int(page) + 1


def _tatqa(row: dict[str, Any]) -> Iterator[Item]:
    table = row["table"]["table"]
    name = str(row["table"].get("uid") or row["questions"][0]["uid"])
    paragraphs = sorted(row["paragraphs"], key=lambda part: part.get("order", 0))
    lines = [markdown_row([str(cell) for cell in cells]) for cells in table]
    if lines:
        lines.insert(1, "|" + "---|" * len(table[0]))
    document = "\n\n".join(["\n".join(lines), *(str(part["text"]) for part in paragraphs)])
    for question in row["questions"]:
        answer = question["answer"]
        answers = tuple(map(str, answer)) if isinstance(answer, list) else (str(answer),)
        yield Item(
            id=str(question["uid"]),
            question=str(question["question"]),
            answers=answers,
            evidence=((name, 1),),
            doc=name,
            kind=str(question.get("answer_type") or ""),
            scale=str(question.get("scale") or ""),
            document=document,
        )
