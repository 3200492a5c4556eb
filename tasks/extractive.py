"""The built-in answerer: it quotes passages instead of thinking, where no endpoint is set.

It stands in the place of a model and sees what a model would see: the request, nothing else. It
answers with the same calls (search, read, cite) and with text that consists of verified quotes.
What it does next follows from the messages alone, so that a job goes on after a kill as it would
have gone on without. It knows what filings call things (`deskwork.tools.vocabulary`) and nothing
of any company, year or question.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deskwork.tasks.extractive_passages import passages_of
from deskwork.tasks.extractive_plan import companies_of, files_listed, files_of, plan
from deskwork.tasks.extractive_records import extraction
from deskwork.tasks.extractive_report import (
    AT_LIMIT,
    answer_of,
    draft,
    mended,
    nothing_found,
    nothing_yet,
)
from deskwork.tasks.extractive_select import select
from deskwork.tasks.extractive_turns import (
    Quote,
    Turn,
    pages_found,
    pages_read,
    quotes_cited,
    turns_of,
)
from deskwork.tasks.local_model import Asked, LocalModel, Said
from deskwork.tools.ranking import content_words
from deskwork.tools.reading import NOWHERE

READ = 8
"""Pages read for a question."""
CITED_PAGES = 3
"""Pages cited in an answer, at most."""
ANSWER = {"keep": 0.4, "other_form": 1.0}
FINDINGS = {"keep": 0.25, "other_form": 1.6}
"""How much further passages must bring: an answer is short, findings may say more."""

NO_DOCUMENTS = (
    "I can't answer this: no endpoint is set, so no language model was used, and no documents "
    "were given that could be quoted. Set DESKWORK_MODEL_URL (such as http://host:port/v1) and "
    "DESKWORK_MODEL for a real model, or give documents with --files."
)
_NEAR_LIMIT = re.compile(r"near this job[’']s limit")
_AND_WHY = re.compile(r"(?i),? and why\b.*", re.S)
_SUM = re.compile(r"[\d\s.,()+\-*/^%$€£¥]+")


class ExtractiveModel(LocalModel):
    """Answers from documents in verified quotes; deterministic, without a language model."""

    name = "built-in"

    def answer(self, asked: Asked) -> Said:
        """The next calls, or the answer."""
        step = re.match(r"Step: (\w+)", asked.system)
        kind = step.group(1) if step else "answer"
        brief = next((m["text"] for m in asked.messages if m["role"] == "user"), "")
        if kind == "plan":
            return Said(plan(brief))
        if kind == "extract":
            return Said(extraction(brief))
        if kind == "draft":
            return Said(draft(brief))
        if kind == "repair":
            return Said(mended(brief))
        if "search_documents" in asked.tools:
            width = FINDINGS if kind == "investigate" else ANSWER
            asks = _Question(_question_of(brief, kind), _files_meant(brief, kind), width)
            return _from_documents(asked, asks)
        return _without_documents(asked, brief)


@dataclass(frozen=True)
class _Question:
    """``files`` are those of the company that an investigation is about, or None for all."""

    text: str
    files: frozenset[str] | None
    width: dict[str, float]


def _from_documents(asked: Asked, question: _Question) -> Said:
    turns = turns_of(asked.messages)
    last = asked.messages[-1]
    hurried = len(asked.messages) > 1 and last["role"] == "user"  # told to conclude
    limited = hurried and bool(_NEAR_LIMIT.search(last["text"]))
    quotes = quotes_cited(turns)
    wanted = _next_calls(question, turns)
    cut = limited and bool(wanted)  # the limit, not the documents, ends this
    if wanted and not hurried and set(asked.tools) >= {name for name, _ in wanted}:
        number = len(turns) + 1
        return Said(
            calls=[(name, given, f"call_{number}_{at}") for at, (name, given) in enumerate(wanted)]
        )
    if quotes:
        heads = _heads(quotes, pages_read(turns))
        return Said(answer_of(quotes, heads) + (f"\n\n{AT_LIMIT}" if cut else ""))
    return Said(nothing_yet(turns) if cut else nothing_found(turns))


def _is_about_something_else(question: str, turns: Sequence[Turn]) -> bool:
    """Whether most of what a question is about stands nowhere in the documents."""
    told = [
        set(call.result.partition(NOWHERE)[2].rstrip(".").split(", "))
        for turn in turns
        for call in turn
        if call.name == "search_documents" and NOWHERE in call.result
    ]
    words = content_words(question)
    missing = set.intersection(*told) & set(words) if told else set()
    return len(missing) >= 3 and 2 * len(missing) >= len(words)


def _next_calls(question: _Question, turns: Sequence[Turn]) -> list[tuple[str, dict[str, Any]]]:
    """Search, then read, then cite; once more if every quote was refused."""
    if not turns:
        # Figures stand elsewhere than their reasons: where both are asked for, both are looked for.
        queries = list(dict.fromkeys([question.text, _AND_WHY.sub("?", question.text)]))
        return [("search_documents", {"query": q, "top": READ // len(queries)}) for q in queries]
    done = [call.name for turn in turns for call in turn]
    found = [
        page for page in pages_found(turns) if question.files is None or page.file in question.files
    ]
    if _is_about_something_else(question.text, turns):
        return []
    if "read_document" not in done:
        return [("read_document", {"file": p.file, "page": p.number}) for p in found[:READ]]
    if done.count("cite") and (quotes_cited(turns) or len(turns) > 4):
        return []
    refused = {
        (call.arguments.get("file"), call.arguments.get("quote"))
        for turn in turns
        for call in turn
        if call.name == "cite"
    }
    chosen = select(
        question.text,
        pages_read(turns),
        found,
        refused,
        most_pages=CITED_PAGES,
        **question.width,
    )
    wanted = dict.fromkeys(
        (passage.file, passage.page, quote)
        for passage in chosen
        for quote in (passage.text, passage.columns)
        if quote
    )
    return [("cite", {"file": file, "page": page, "quote": q}) for file, page, q in wanted]


def _heads(quotes: Sequence[Quote], pages: Mapping[tuple[str, int], str]) -> dict[str, Quote]:
    """For the id of a quoted row, the quote of its table's head."""
    by_text = {(quote.file, quote.page, quote.text): quote for quote in quotes}
    heads = {}
    for file, page in dict.fromkeys((quote.file, quote.page) for quote in quotes):
        for passage in passages_of(file, page, pages.get((file, page), "")):
            row = by_text.get((file, page, passage.text))
            head = by_text.get((file, page, passage.columns))
            if row and head:
                heads[row.id] = head
    return heads


def _without_documents(asked: Asked, question: str) -> Said:
    if "calculate" not in asked.tools:
        return Said(NO_DOCUMENTS)
    if asked.results:
        return Said(f"{asked.results[0]}\n\nNo language model was used: the sum was computed.")
    text = question.strip().rstrip("?=").strip()
    text = re.sub(r"(?i)^(what(’s|'s| is)|how much is|calculate|compute)\s+", "", text)
    if _SUM.fullmatch(text) and re.search(r"\d\s*[-+*/^%]", text):
        return Said(calls=[("calculate", {"expression": re.sub(r"(?<=\d),(?=\d{3})", "", text)})])
    return Said(NO_DOCUMENTS)


def _question_of(brief: str, kind: str) -> str:
    if kind == "investigate" and (found := re.search(r"Your question: (.*)", brief, re.S)):
        return found.group(1).partition("\n\nDocuments:\n")[0].strip()
    return brief.strip()


def _files_meant(brief: str, kind: str) -> frozenset[str] | None:
    """Where a job is about several companies: the files of the one that this part is about."""
    if kind != "investigate":
        return None
    whole, _, listed = brief.partition("\n\nDocuments:\n")
    files = files_listed(listed)
    part = _question_of(brief, kind)
    companies = companies_of(whole.partition("\n\nYour question: ")[0], files)
    named = [company for company in companies if company in part]
    if len(companies) < 2 or not named:
        return None
    return frozenset(file for company in named for file in files_of(company, files))
