"""Investigations: child jobs run side by side, each with its own journal, steps under one flow."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from deskwork.flows import prompts
from deskwork.flows.loop import Budget, run_conversation
from deskwork.flows.offers import Offer
from deskwork.flows.running import Run
from deskwork.tasks import telemetry
from deskwork.tasks.connected_tools import offered_tools
from deskwork.tasks.entries import Draft
from deskwork.tasks.journal import Job
from deskwork.tasks.limits import Limits
from deskwork.tasks.plan import Part
from deskwork.tasks.profiles import Tier
from deskwork.tasks.progress import tell
from deskwork.tasks.session import Brief, Session
from deskwork.tasks.starts import Start, find_or_create, going_on
from deskwork.tasks.states import NeedsReview, OutOfBudget, state_of
from deskwork.tasks.workbench import Workbench
from deskwork.tools.charts.chart import Chart
from deskwork.tools.errors import JobHeld
from deskwork.tools.figures import Figure
from deskwork.tools.library import Collection
from deskwork.tools.selection import fitting_tools
from deskwork.tools.sources import Source
from deskwork.tools.tool import Evidence, Tool

if TYPE_CHECKING:
    from deskwork.tasks.steps import Steps

AT_ONCE = 6
HERE = 2
"""The same where other workers help."""
LOOK_SECONDS = 1.0
"""Between two looks for an investigation that another process makes."""
STEPS = 40
"""Model calls of one investigation, at most."""
LABEL = "investigate"


@dataclass
class Child:
    """An investigation's result. ``problem`` is why it did not finish, empty when it did.

    ``tried`` lists its searches and reads in words, for a report that found nothing;
    ``unreached`` what it looked for on the web and did not get, and why. ``sources`` is what it
    fetched.
    """

    number: int
    title: str
    question: str
    answer: str = ""
    problem: str = ""
    evidence: dict[str, Evidence] = field(default_factory=dict)
    figures: dict[str, Figure] = field(default_factory=dict)
    charts: dict[str, Chart] = field(default_factory=dict)
    tried: list[str] = field(default_factory=list)
    unreached: list[str] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)


@dataclass(frozen=True)
class Family:
    """The research job whose investigations are made: its id, its files, its first entry.

    ``flow_run`` is the run of one investigation that another process than the job's own makes.
    """

    bench: Workbench
    parent: str
    collection: Collection
    start: dict[str, Any]
    steps: Steps | None = None
    flow_run: str | None = None

    @classmethod
    def of(cls, run: Run) -> Family:
        """The family of a job being run."""
        return cls(run.bench, run.session.job, run.collection, run.start, run.steps)

    def start_of(self, number: int, part: Part, tier: Tier) -> Start:
        """An investigation's first entry."""
        return Start(
            flow="investigation",
            key=f"{self.parent}.{number}",
            title=part.question,
            request={"question": part.question},
            files=[],
            settings={**self.bench.recorded_settings(), "budget": tier},
            limits=Limits(max_steps=part.steps or STEPS),
            parent=self.parent,
        )

    def child(self, number: int, part: Part, tier: Tier) -> Job:
        """An investigation's job; it is made if it is new."""
        start = self.start_of(number, part, tier)
        return find_or_create(self.bench.journal, start, start.key, settings_may_differ=True)


async def investigate(
    run: Run,
    total: Budget,
    parts: Sequence[Part],
    tier: Tier,
    first: int = 1,
    *,
    spread: bool = False,
) -> list[Child]:
    """Run investigations side by side; finished ones cost nothing. ``first`` is the first's number.

    One that runs into its own limits is reported with what it has. Any other failure is raised
    once all have come to rest. With ``spread`` other workers may take up those that this process
    has no hand free for; what one of them holds is waited for, and read once it is done.
    """
    family, gate = Family.of(run), asyncio.Semaphore(HERE if spread else AT_ONCE)
    numbered = list(enumerate(parts, first))
    offer = Offer(family.bench.journal, family.parent, total)
    if spread:
        states = {
            number: (await asyncio.to_thread(family.child, number, part, tier)).state
            for number, part in numbered
        }
        open_ = [(number, part) for number, part in numbered if states[number] != "done"]
        total = await offer.make(open_[HERE:], tier)

    async def one(number: int, part: Part) -> Child:
        while True:
            async with gate:
                try:
                    return await investigated(family, total, number, part, tier)
                except JobHeld:
                    if not spread:
                        raise
            await asyncio.sleep(LOOK_SECONDS)

    runs = [one(number, part) for number, part in numbered]
    outcomes = await offer.closing(asyncio.gather(*runs, return_exceptions=True))
    children = [outcome for outcome in outcomes if isinstance(outcome, Child)]
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return children


async def investigated(family: Family, total: Budget, number: int, part: Part, tier: Tier) -> Child:
    """One investigation, to its end. Raises `JobHeld` when another process makes it."""
    child = Child(number, part.title, part.question)
    bench, parent = family.bench, family.parent
    start = family.start_of(number, part, tier)
    job = await asyncio.to_thread(family.child, number, part, tier)
    writer = await asyncio.to_thread(bench.journal.acquire, job.id, family.flow_run)
    state, reason = "done", ""
    try:
        session = await asyncio.to_thread(
            Session, writer, bench.blobs, bench.settings, bench.endpoint
        )
        total.sessions.append(session)
        if session.history.outcome is None:
            await session.append(going_on(session.history, start))
        session.desk = bench.desk(session, family.collection)
        web = bool(family.start["request"].get("web"))
        filings = web and session.settings.web.with_filings
        workspace = bool(family.start["request"].get("workspace"))
        fitting = fitting_tools(documents=True, web=web, filings=filings, workspace=workspace)
        fitting += await offered_tools(session.settings.connections)
        tools = _tools(part, fitting)
        session.tools = {tool.name: tool for tool in tools}
        files = [file.name for file in family.collection.files if file.state == "ready"]
        question = family.start["request"]["question"]

        def brief() -> Brief:
            text = prompts.investigation_brief(question, part.question, files, web=web)
            return Brief(prompts.INVESTIGATE, text, tools, tier)

        own = Budget(start.limits, [session])
        try:
            with telemetry.job_run("investigation", session.job):
                child.answer = await run_conversation(
                    session,
                    LABEL,
                    brief,
                    [total, own],
                    title=f"investigation {number}",
                    steps=family.steps,
                )
        except (OutOfBudget, NeedsReview) as error:
            state, reason = state_of(error)
            child.problem = f"Investigation {number} ({part.title}) did not finish: {reason}"
            child.answer = _so_far(session)
        child.evidence = dict(session.history.evidence)
        child.figures = dict(session.history.figures)
        child.charts = dict(session.history.charts)
        child.sources = list(session.history.sources)
        child.tried, child.unreached = tried(session), unreached(session)
        if session.history.outcome is None:
            meta = {"state": state, "reason": reason, "answer": child.answer}
            await session.append([Draft("outcome", meta)])
        tell("step", parent, f"investigation {number}: {state}")
        return child
    except BaseException as error:
        state, reason = state_of(error)
        raise
    finally:
        writer.release(state, reason)


def _tools(part: Part, fitting: Sequence[Tool]) -> tuple[Tool, ...]:
    """The tools of an investigation: those its plan names among what the job has, else all."""
    named = [tool for tool in fitting if tool.name in (*part.tools, "cite", "read_result")]
    return tuple(named) if len(named) > 2 else tuple(fitting)


def _so_far(session: Session) -> str:
    """The last words of an investigation that did not come to its end, and its evidence."""
    conversation = session.history.conversations.get(LABEL)
    said = conversation.reply.text if conversation and conversation.reply else ""
    quotes = [
        f'- "{" ".join(item.quote.split())}" [{item.id}]'
        for item in session.history.evidence.values()
    ]
    return "\n\n".join(part for part in (said.strip(), "\n".join(quotes)) if part)


_IN_WORDS = {
    "search_documents": ("searched for “{}”", "query"),
    "search_web": ("searched the web for “{}”", "query"),
    "fetch_page": ("fetched {}", "url"),
    "filing_search": ("searched filings for “{}”", "query"),
    "filings": ("looked for filings of {}", "company"),
    "read_filing": ("read a filing of {}", "company_or_url"),
    "facts": ("looked for facts of {}", "company"),
}
_ON_THE_WEB = ("search_web", "fetch_page", "filing_search", "filings", "read_filing", "facts")


def tried(session: Session) -> list[str]:
    """The searches and reads of an investigation in words, each failed one with its error."""
    return [line for _, line, _ in _calls_in_words(session)]


def unreached(session: Session) -> list[str]:
    """What was looked for on the web and not had, with the reason."""
    return [
        line for name, line, failed in _calls_in_words(session) if failed and name in _ON_THE_WEB
    ]


def _calls_in_words(session: Session) -> list[tuple[str, str, bool]]:
    """Each call once: its tool, what it was in words, and whether it failed when last made."""
    lines: dict[tuple[str, str], tuple[str, str, bool]] = {}
    for conversation in session.history.all_conversations():
        for name, arguments in conversation.repeats:
            text = _in_words(name, arguments)
            error = conversation.failures.get((name, arguments), "")
            if text:
                line = f"{text}: {error}" if error else text
                lines[name, arguments] = (name, line, bool(error))
    return list(lines.values())


def _in_words(name: str, arguments: str) -> str:
    try:
        given = json.loads(arguments)
    except ValueError:
        given = {}
    if not isinstance(given, dict):
        return ""
    if name == "read_document":
        return f"read {given.get('file', '')}, page {given.get('page', '')}"
    if name in _IN_WORDS:
        form, key = _IN_WORDS[name]
        return form.format(given.get(key, ""))
    return ""
