"""The built-in answerer over the sample files, through the loop and both protocols."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from deskwork.flows import prompts
from deskwork.flows.loop import Budget, run_conversation
from deskwork.tasks.claims import check
from deskwork.tasks.extractive import NO_DOCUMENTS, ExtractiveModel
from deskwork.tasks.extractive_passages import passages_of
from deskwork.tasks.extractive_plan import investigations, title_of
from deskwork.tasks.extractive_report import draft, mended
from deskwork.tasks.extractive_select import select
from deskwork.tasks.extractive_turns import FoundPage
from deskwork.tasks.ledger import Ledger
from deskwork.tasks.limits import Limits
from deskwork.tasks.local_model import Asked, Said
from deskwork.tasks.plan import read_plan
from deskwork.tasks.profiles import Profile, find_profile
from deskwork.tasks.session import Brief, Session
from deskwork.tasks.steps import PLAIN
from deskwork.tasks.workbench import JobDesk
from deskwork.tools.library import Collection, Library
from deskwork.tools.selection import fitting_tools
from deskwork.tools.tool import Evidence, Tool
from tests.jobs import opened

ROOT = Path(__file__).parents[2]
REPORT = "Halden_Instruments_2025_Annual_Report.pdf"
MEMO = "Capital_Spending_Memo.docx"


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("samples")
    made = subprocess.run(
        [sys.executable, ROOT / "samples" / "make.py", folder], check=False, capture_output=True
    )
    assert made.returncode == 0, made.stderr
    return folder


@pytest.fixture(scope="module")
def collection(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return Library(tmp_path_factory.mktemp("library")).collect([samples])


@pytest.fixture(params=["gateway", "anthropic"])
def profile(request: pytest.FixtureRequest) -> Profile:
    return find_profile(request.param, None, None)


@asynccontextmanager
async def session_over(
    home: Path, collection: Collection | None, profile: Profile | None = None
) -> AsyncIterator[tuple[Session, ExtractiveModel, tuple[Tool, ...]]]:
    model = ExtractiveModel()
    tools = tuple(fitting_tools(documents=collection is not None))
    async with opened(home, model, profile=profile, tools=tools) as session:
        if collection:
            session.desk = JobDesk(collection, session.history.evidence, session.blobs)
        yield session, model, tools


async def ask(
    home: Path,
    collection: Collection | None,
    question: str,
    profile: Profile | None = None,
    system: str = prompts.ASK,
    max_steps: int | None = None,
) -> tuple[str, dict[str, Evidence]]:
    async with session_over(home, collection, profile) as (session, _, tools):
        answer = await run_conversation(
            session,
            "ask",
            lambda: Brief(system, question, tools, "high"),
            [Budget(Limits(max_steps=max_steps), [session])],
            steps=PLAIN,
        )
        return answer, dict(session.history.evidence)


def cited(answer: str, evidence: dict[str, Evidence]) -> list[Evidence]:
    return [evidence[name] for name in re.findall(r"\[(E[0-9a-f]{8})\]", answer)]


@pytest.mark.parametrize(
    ("question", "file", "page", "quote"),
    [
        ("What were net sales in fiscal 2025?", REPORT, 5, "Net sales 842.6 781.3 735.9"),
        (
            "How much was spent on capex in FY2024? Use the cash flow statement.",
            REPORT,
            7,
            "Purchases of property, plant and equipment (64.8) (47.1) (41.6)",
        ),
        ("How many employees did the company have?", REPORT, 2, "2,940 employees"),
        ("Who is the chief financial officer?", MEMO, 1, "Ingrid Vale"),
        ("What is planned for fiscal 2026?", MEMO, 1, "For fiscal 2026 we plan $56.0 million."),
        ("What are the main risks?", REPORT, 3, "single supplier for detector chips"),
        ("Why did gross margin rise?", REPORT, 4, "because\nof higher prices"),
        ("What is the goodwill?", REPORT, 6, "Goodwill 153.0 140.0"),
    ],
)
async def test_answers_in_quotes_that_stand(
    tmp_path: Path, collection: Collection, question: str, file: str, page: int, quote: str
) -> None:
    answer, evidence = await ask(tmp_path, collection, question)
    found = cited(answer, evidence)
    assert any((e.file, e.page) == (file, page) and quote in e.quote for e in found), answer
    assert len({(e.file, e.page) for e in found}) <= 3
    assert "No language model was used" in answer
    for line in answer.splitlines():
        if line.startswith("- "):
            assert cited(line, evidence), line


async def test_rows_come_with_their_columns(tmp_path: Path, collection: Collection) -> None:
    answer, evidence = await ask(tmp_path, collection, "What were dividends paid in 2024?")
    row, columns = cited(answer, evidence)[:2]
    assert row.quote == "Dividends paid (18.1) (16.2) (15.3)"
    assert columns.quote == "(In millions of dollars) 2025 2024 2023"


async def test_both_protocols_say_the_same(
    tmp_path: Path, collection: Collection, profile: Profile
) -> None:
    question = "What was operating income in 2025?"
    answer, evidence = await ask(tmp_path / "one", collection, question, profile)
    again, _ = await ask(tmp_path / "two", collection, question)
    assert answer == again
    assert "Operating income 140.2" in cited(answer, evidence)[0].quote


@pytest.mark.parametrize(
    "question",
    ["How many patents does Halden hold?", "What is the population of France?", "???"],
)
async def test_nothing_fits_and_nothing_is_cited(
    tmp_path: Path, collection: Collection, question: str
) -> None:
    answer, evidence = await ask(tmp_path, collection, question)
    assert not evidence
    assert "[E" not in answer
    assert answer.startswith("No passage of the documents answers this")
    assert f"searched for “{question}”" in answer


async def test_a_job_that_stopped_goes_on_to_the_same_answer(
    tmp_path: Path, collection: Collection
) -> None:
    question = "What were inventories at the end of 2025?"
    whole, _ = await ask(tmp_path / "whole", collection, question)
    async with session_over(tmp_path / "cut", collection) as (session, model, tools):
        brief = Brief(prompts.ASK, question, tools, "high")
        conversation = await session.converse("ask", lambda: brief)
        await PLAIN.ask_model(session, conversation, "first")
    answer, _ = await ask(tmp_path / "cut", collection, question)
    assert answer == whole
    assert len(model.requests) == 1


async def test_told_to_conclude_it_concludes(tmp_path: Path, collection: Collection) -> None:
    answer, _ = await ask(tmp_path, collection, "What were net sales?", max_steps=3)
    assert "No language model was used" in answer


async def test_a_limit_is_not_blamed_on_the_documents() -> None:
    told = "You are near this job's limit of steps. Conclude now: give your final answer."
    messages: list[dict[str, Any]] = [
        {"role": "user", "text": "What is goodwill?"},
        {"role": "user", "text": told},
    ]
    tools = ["search_documents", "read_document", "cite"]
    said = ExtractiveModel().answer(Asked(prompts.ASK, messages, tools, {}))
    assert said.text.startswith("A limit of the job was reached before the documents were read")
    assert "No passage" not in said.text
    findings = f"Findings of investigation 1, Goodwill (What is goodwill?):\n\n{said.text}"
    report = draft(prompts.draft_brief("What is goodwill?", findings, "none"))
    assert "No passage" not in report
    assert "- The limit was reached before the documents were read: Goodwill." in report


def test_each_company_that_files_are_of_is_covered() -> None:
    files = ["BLUEFIN_2023_10K.pdf", "bluefin_q2.pdf", "Acme-2020.pdf", "Corvid_2021.pdf"]
    question = "How did margins and revenue develop at Blue Fin, Acme and Corvid, and why?"
    parts = investigations(question, files)
    assert [title for title, _ in parts] == [
        "Blue Fin: margins",
        "Blue Fin: revenue",
        "Acme: margins",
        "Acme: revenue",
        "Corvid: margins",
        "Corvid: revenue",
    ]
    assert parts[0][1] == "What is reported on margins of Blue Fin, and why did that change?"
    assert title_of(question) == "Blue Fin, Acme and Corvid: Margins and revenue"
    many = "Compare revenue, margins, debt and risks of Blue Fin, Acme and Corvid."
    assert [title for title, _ in investigations(many, files)] == ["Blue Fin", "Acme", "Corvid"]
    brief = prompts.investigation_brief(question, parts[0][1], files)
    asked = Asked(prompts.INVESTIGATE, [{"role": "user", "text": brief}], [], {})
    messages = [
        *asked.messages,
        {"role": "assistant", "text": "", "calls": [("search_documents", {"query": "q"}, "a")]},
        {
            "role": "tool",
            "call": "a",
            "text": "[1] Acme-2020.pdf · page 1 · score 1.0\n\n"
            "[2] bluefin_q2.pdf · page 3 · score 0.5",
        },
    ]
    tools = ["search_documents", "read_document", "cite"]
    said = ExtractiveModel().answer(Asked(prompts.INVESTIGATE, messages, tools, {}))
    assert [call[1]["file"] for call in said.calls] == ["bluefin_q2.pdf"]


@pytest.mark.parametrize(
    ("question", "topics"),
    [
        ("Do gross margins at Costco beat those at Walmart?", ["gross margins"]),
        ("Are Costco's margins better than Walmart's?", ["margins"]),
        ("Which company has the higher debt, Costco or Walmart?", ["debt"]),
        ("Which of Costco and Walmart grew faster in 2023, and why?", ["growth"]),
        ("Compare Costco and Walmart.", ["revenue", "net income"]),
        ("Did Costco outperform Walmart in revenue growth in 2023?", ["revenue growth"]),
        (
            "How do Costco's margins compare with Walmart's, and which has less debt?",
            ["margins", "debt"],
        ),
    ],
)
def test_what_is_compared_is_asked_of_each_company(question: str, topics: list[str]) -> None:
    parts = investigations(question, ["costco_2023_10K.pdf", "walmart_2023_10K.pdf"])
    titles = [title for title, _ in parts if ":" in title]
    wanted = [f"{company}: {topic}" for company in ("Costco", "Walmart") for topic in topics]
    assert titles == wanted
    assert not any("those" in text or "than" in text for _, text in parts)


@pytest.mark.parametrize(
    ("question", "page", "quotes"),
    [
        (
            "What are the main risks?",
            "Risk Factors\n"
            "The risks described below could adversely affect our business and results.\n"
            "The following risk factors do not identify all risks that we face.\n"
            "Losing our only supplier of chips could adversely affect our sales.",
            ["Losing our only supplier of chips could adversely affect our sales."],
        ),
        (
            "What drove operating margin change?",
            "Other income increased primarily due to increases in interest income.\n"
            "Our tax rate increased, primarily due to a change of the law in the year.\n"
            "Income from operations rose by 12%, primarily due to lower freight costs.",
            ["Income from operations rose by 12%, primarily due to lower freight costs."],
        ),
        (
            "What drove operating margin change?",
            "Other income increased primarily due to increases in interest income.\n"
            "Our tax rate increased, primarily due to a change of the law in the year.",
            [],
        ),
        (
            "What are the margins?",
            "Gross margin was 42.0% of net sales, against 40.6% in the year before.\n"
            "Capital expenditures were $64.8 million in the year, or 7.7% of net sales.",
            ["Gross margin was 42.0% of net sales, against 40.6% in the year before."],
        ),
    ],
)
def test_only_what_is_on_the_topic_is_chosen(question: str, page: str, quotes: list[str]) -> None:
    chosen = select(
        question,
        {("a.pdf", 1): page},
        [FoundPage("a.pdf", 1, 1.0)],
        set(),
        most_pages=3,
        keep=0.1,
        other_form=1.6,
    )
    assert [passage.text for passage in chosen] == quotes


def test_refused_quotes_are_replaced_or_left_out() -> None:
    page = (
        "a.pdf · page 1 of 1\nGoodwill 5.0 4.0\nGoodwill is tested for impairment every year.\n"
        "Total goodwill 9.0 8.0"
    )
    messages: list[dict[str, Any]] = [
        {"role": "user", "text": "What is goodwill?"},
        {"role": "assistant", "text": "", "calls": [("search_documents", {"query": "q"}, "a")]},
        {"role": "tool", "call": "a", "text": "[1] a.pdf · page 1 · score 1.000\nGoodwill 5.0"},
        {
            "role": "assistant",
            "text": "",
            "calls": [("read_document", {"file": "a.pdf", "page": 1}, "a")],
        },
        {"role": "tool", "call": "a", "text": page},
    ]
    tools = ["search_documents", "read_document", "cite"]
    tried: list[str] = []
    for _ in range(4):
        said = ExtractiveModel().answer(Asked(prompts.ASK, messages, tools, {}))
        if not said.calls:
            break
        quotes = [call[1]["quote"] for call in said.calls]
        assert not set(quotes) & set(tried)
        tried += quotes
        messages.append({"role": "assistant", "text": "", "calls": list(said.calls)})
        messages += [
            {"role": "tool", "call": call[2], "text": "Error: not found."} for call in said.calls
        ]
    assert tried
    assert not said.calls
    assert "[E" not in said.text


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What is 2 + 3*4?", "2 + 3*4 = 14"),
        ("1,500 / 3", "1500 / 3 = 500"),
        ("Who are you?", NO_DOCUMENTS),
        ("2024", NO_DOCUMENTS),
    ],
)
async def test_without_documents(tmp_path: Path, question: str, text: str) -> None:
    answer, _ = await ask(tmp_path, None, question)
    assert answer.startswith(text)
    assert "anguage model was used" in answer


@pytest.mark.parametrize(
    "question",
    [
        "What were net sales in fiscal 2025?",
        "How did revenue, margins and capital spending develop, and what are the main risks?",
        "Compare A Corp and B Corp: revenue, cash flow; dividends. Answer in USD millions.",
        "why",
        "?",
        "Is it fine?\n\nDocuments of last year are missing. Please explain.",
    ],
)
def test_a_plan_has_three_parts_that_stand_alone(question: str) -> None:
    brief = prompts.plan_brief(question, ["a.pdf", "b.pdf"])
    said = ExtractiveModel().answer(Asked(prompts.PLAN, [{"role": "user", "text": brief}], [], {}))
    plan = read_plan(said.text)
    assert len({part.question for part in plan.investigations}) >= 3


def test_a_plan_follows_the_clauses() -> None:
    question = (
        "How did Acme's revenue and capital spending develop in 2024, and what are its risks?"
    )
    assert title_of(question) == "Acme: Revenue, capital spending and risks, 2024"
    assert investigations(question) == [
        ("Revenue", "What is reported on revenue of Acme in 2024?"),
        ("Capital spending", "What is reported on capital spending of Acme in 2024?"),
        ("Risks", "What is reported on risks of Acme in 2024?"),
    ]


async def test_a_draft_of_real_findings_passes_the_check(
    tmp_path: Path, collection: Collection
) -> None:
    question = "How did net sales and margins develop in 2025, and how many patents are there?"
    parts, evidence = [], dict[str, Evidence]()
    for number, (title, part) in enumerate(investigations(question), 1):
        text = prompts.investigation_brief(question, part, [])
        answer, found = await ask(
            tmp_path / str(number), collection, text, system=prompts.INVESTIGATE
        )
        evidence |= found
        parts.append(f"Findings of investigation {number}, {title} ({part}):\n\n{answer}")
    brief = prompts.draft_brief(question, "\n\n".join(parts), '[E00000000] x.pdf, page 1: "x"')
    text = draft(brief)
    report = check(text, Ledger(collection, evidence))
    assert evidence
    assert report.claims
    assert report.problems == []
    assert "## Patents" in text
    assert "No passage of the documents answers this" in text
    assert "## Limits" in text
    for section in text.split("\n## ")[1:]:
        names = re.findall(r"^- .*?\[(E[0-9a-f]{8})\]", section, re.M)
        assert len(names) == len(set(names))


def test_a_repair_takes_out_what_the_check_names(collection: Collection) -> None:
    text = (
        "# T\n\n## Summary\n\n- “Sales were 5.0.” — a.pdf, page 1 [E00000001]\n"
        "- “Costs were *4.0*.” — a.pdf, page 1 [E00000002]\n\nProfit was 1.5 million. It rose."
    )
    found = check(text, Ledger(collection, {}))
    brief = prompts.repair_brief("Q?", text, found.problems, "none")
    mended_text = mended(brief)
    assert "[E" not in mended_text
    assert "1.5" not in mended_text
    assert "It rose." in mended_text
    assert mended_text.startswith("# T\n\n## Summary")
    said: Said = ExtractiveModel().answer(
        Asked(prompts.REPAIR, [{"role": "user", "text": brief}], [], {})
    )
    assert said.text == mended_text


def test_passages_are_whole_sentences_and_rows() -> None:
    text = (
        "Statement of things\n"
        "(In millions) 2025 2024\n"
        "Sales $ 1,200 $ 1,100\n"
        "Proceeds from sale of businesses, net of cash sold\n"
        "846 1,065\n"
        "Acme Inc. sold its plant in the U.S. in March. The price was $5.2 million, of\n"
        "which half was paid.\n"
        "and a fragment without an end\n"
        "17"
    )
    rows = [p for p in passages_of("a.pdf", 1, text) if p.is_row]
    sentences = [p.text for p in passages_of("a.pdf", 1, text) if not p.is_row]
    assert [(p.text, p.figures, p.columns) for p in rows] == [
        ("Sales $ 1,200 $ 1,100", 2, "(In millions) 2025 2024"),
        (
            "Proceeds from sale of businesses, net of cash sold 846 1,065",
            2,
            "(In millions) 2025 2024",
        ),
    ]
    assert sentences == [
        "Acme Inc. sold its plant in the U.S. in March.",
        "The price was $5.2 million, of which half was paid.",
    ]


def test_plan_is_json_and_nothing_else() -> None:
    said = ExtractiveModel().answer(
        Asked(prompts.PLAN, [{"role": "user", "text": prompts.plan_brief("Sales?", [])}], [], {})
    )
    assert set(json.loads(said.text)) == {"title", "investigations"}


async def test_a_question_about_something_else_is_not_answered(
    tmp_path: Path, collection: Collection
) -> None:
    question = "What is the average wingspan of a Laysan albatross breeding on Midway?"
    answer, evidence = await ask(tmp_path, collection, question)
    assert evidence == {}
    assert "No passage of the documents answers this" in answer
    told = collection.unknown(question)
    assert {"wingspan", "laysan", "albatross", "midway"} <= set(told)
    assert collection.unknown("What were net sales in fiscal 2025?") == []
