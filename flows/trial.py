"""One question of an evaluation: a child job that answers it, and its score."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from deskwork.flows import prompts
from deskwork.flows.loop import Budget, run_conversation
from deskwork.flows.running import Run
from deskwork.tasks.claims import check
from deskwork.tasks.entries import Draft
from deskwork.tasks.grading import Grade, grade
from deskwork.tasks.journal import FINISHED
from deskwork.tasks.ledger import Ledger
from deskwork.tasks.limits import Limits
from deskwork.tasks.outcomes import usage_of
from deskwork.tasks.plan import first_object
from deskwork.tasks.printing import print_figures
from deskwork.tasks.profiles import Tier
from deskwork.tasks.question_sets import Item
from deskwork.tasks.session import Brief, Session
from deskwork.tasks.starts import Start, find_or_create
from deskwork.tasks.states import NeedsReview, OutOfBudget, state_of
from deskwork.tasks.workbench import Workbench
from deskwork.tools.collection import Collection
from deskwork.tools.selection import fitting_tools

STEPS = 40
"""Model calls for one question, at most."""
TOP = (5, 10)
"""Of how many found pages an evidence page should be one."""


@dataclass(frozen=True)
class Variant:
    """A model at a thinking budget; each answers every question."""

    model: str
    tier: Tier

    @property
    def name(self) -> str:
        """As the tables show it."""
        return f"{self.model}, {self.tier}"


@dataclass
class Score:
    """What came of one question. ``right`` is None where nobody could tell.

    ``found`` is the place of the first evidence page among the pages that a search finds, from 1,
    or 0; ``cited`` whether an evidence page is among those cited, None where the set names none.
    """

    id: str
    variant: str
    question: str
    gold: list[str]
    answer: str = ""
    state: str = "done"
    right: bool | None = None
    why: str = ""
    found: int = 0
    cited: bool | None = None
    pages: list[list[Any]] = field(default_factory=list)
    citations: int = 0
    standing: int = 0
    figures: int = 0
    unbound: int = 0
    problems: list[str] = field(default_factory=list)
    usage: dict[str, Any] = field(default_factory=dict)
    job: str = ""


async def try_question(
    run: Run,
    bench: Workbench,
    total: Budget,
    name: str,
    item: Item,
    variant: Variant,
    collection: Collection,
) -> Score:
    """Answer a question in a child job of this name, or take what an earlier run made of it."""
    start = Start(
        flow="trial",
        key=name,
        title=item.question,
        request={"question": item.question},
        files=[],
        settings={**bench.recorded_settings(), "budget": variant.tier},
        limits=Limits(max_steps=STEPS),
        parent=run.session.job,
    )
    job = await asyncio.to_thread(
        find_or_create, bench.journal, start, name, settings_may_differ=True
    )
    if job.state in FINISHED:
        ends = await asyncio.to_thread(bench.journal.metas, name, "outcome")
        return Score(**json.loads(ends[-1][2]["answer"]))
    writer = await asyncio.to_thread(bench.journal.acquire, name)
    state, reason = "done", ""
    try:
        session = await asyncio.to_thread(
            Session, writer, bench.blobs, bench.settings, bench.endpoint
        )
        total.sessions.append(session)
        try:
            score = await _answered(run, bench, total, session, item, variant, collection)
        finally:
            total.close(session)
        score.job = name
        score.usage = await asyncio.to_thread(usage_of, bench.journal, [name])
        meta = {"state": "done", "answer": json.dumps(vars(score), ensure_ascii=False)}
        await session.append([Draft("outcome", meta)])
        return score
    except BaseException as error:
        state, reason = state_of(error)
        raise
    finally:
        writer.release(state, reason)


async def _answered(
    run: Run,
    bench: Workbench,
    total: Budget,
    session: Session,
    item: Item,
    variant: Variant,
    collection: Collection,
) -> Score:
    score = Score(item.id, variant.name, item.question, list(item.answers))
    session.desk = bench.desk(session, collection)
    web = item.web and bool(run.start["request"].get("web"))
    tools = tuple(fitting_tools(documents=bool(collection.files), web=web))
    session.tools = {tool.name: tool for tool in tools}
    score.found = await asyncio.to_thread(_found, collection, item)
    budgets = [total, Budget(Limits(max_steps=STEPS), [session])]
    text = item.question + (prompts.ON_THE_WEB if web else "")
    try:
        said = await run_conversation(
            session,
            "ask",
            lambda: Brief(prompts.ASK, text, tools, variant.tier),
            budgets,
            title=item.id,
            steps=run.steps,
        )
    except (OutOfBudget, NeedsReview) as error:
        if isinstance(error, OutOfBudget) and session.history.spend.steps < STEPS:
            raise
        score.state, score.why, score.right = "no answer", error.message, False
        return score
    await asyncio.to_thread(_examine, score, session, said, item)
    graded = grade(item, score.answer)
    if graded.right is None and not session.settings.is_builtin:
        graded = await _judged(run, session, item, score.answer, budgets)
    score.right, score.why = graded.right, graded.why
    return score


def _found(collection: Collection, item: Item) -> int:
    """The place of the first evidence page among the pages that a plain search finds."""
    if not (item.evidence and collection.files):
        return 0
    for place, hit in enumerate(collection.search(item.question, max(TOP)), 1):
        if (_stem(hit.file), hit.page) in item.evidence:
            return place
    return 0


def _examine(score: Score, session: Session, said: str, item: Item) -> None:
    """What the answer cites, and what of it stands."""
    history = session.history
    assert session.desk is not None
    found = check(said, Ledger(session.desk.collection, history.evidence, history.figures))
    names = {name for claim in found.claims for name in claim.evidence}
    cited = [history.evidence[name] for name in names if name in history.evidence]
    ledger = Ledger(session.desk.collection, history.evidence, history.figures)
    score.answer = print_figures(said, history.figures)
    score.pages = sorted([evidence.file, evidence.page] for evidence in cited)
    score.citations = len(names)
    score.standing = sum(not ledger.problem(name) for name in names)
    score.figures = len(found.figures)
    score.problems = found.problems
    score.unbound = sum("figure" in p or "stand" in p or "scale" in p for p in found.problems)
    if item.evidence:
        score.cited = any((_stem(e.file), e.page) in item.evidence for e in cited)


async def _judged(
    run: Run, session: Session, item: Item, answer: str, budgets: list[Budget]
) -> Grade:
    """A model's word on an answer that says it in other words."""
    brief = prompts.grade_brief(item.question, list(item.answers), answer)
    tier: Tier = session.settings.schedule.check or "low"
    said = await run_conversation(
        session,
        "grade",
        lambda: Brief(prompts.GRADE, brief, (), tier),
        budgets,
        title="grade",
        steps=run.steps,
    )
    try:
        value = first_object(said)
        right = value.get("right") if isinstance(value, dict) else None
    except ValueError:
        right, value = None, {}
    return Grade(right if isinstance(right, bool) else None, f"judged: {value.get('why', '')}")


def _stem(file: str) -> str:
    return file.rpartition("/")[2].rpartition(".")[0]
