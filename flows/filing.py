"""One file of a document job: its own child job, from its text to checked records."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import takewhile
from typing import Any

from deskwork.flows import prompts
from deskwork.flows.loop import Budget, run_conversation
from deskwork.flows.running import Run
from deskwork.tasks.bearing import Notation
from deskwork.tasks.entries import Draft
from deskwork.tasks.extracted import Find, Found, Notate, read_answer
from deskwork.tasks.journal import FINISHED
from deskwork.tasks.limits import Limits
from deskwork.tasks.outcomes import outcome
from deskwork.tasks.profiles import Tier
from deskwork.tasks.reconcile import disagreements
from deskwork.tasks.schema import RecordSchema
from deskwork.tasks.session import Brief, Session
from deskwork.tasks.starts import Start, find_or_create
from deskwork.tasks.states import NeedsReview, OutOfBudget, state_of
from deskwork.tasks.workbench import JobDesk
from deskwork.tools.collection import Collection, SourceFile
from deskwork.tools.errors import Stop, ToolError
from deskwork.tools.selection import fitting_tools
from deskwork.tools.tool import Evidence, Tool

SHOWN = 120_000
"""Characters of a file that stand in the request; the rest is found with tools."""
NO_TEXT = "(no text:"
BLIND = (
    "its pages are pictures without text; `deskwork read FILE --ocr` reads them where the OCR is "
    "installed, or set a model that sees pictures"
)
STEPS = 20
"""Model calls for one file, at most."""
PICTURES = 8
"""Pages of a scan that the model looks at."""


@dataclass
class Filed:
    """What came of one file. ``state``: done, needs review, failed, duplicate, password needed,
    unpacked (an archive) or not done; ``reason`` is a sentence for every other than done.
    """

    file: str
    state: str
    reason: str = ""
    kind: str = ""
    pages: int = 0
    sha256: str = ""
    documents: int = 0
    document_kinds: list[str] = field(default_factory=list)

    def row(self) -> dict[str, Any]:
        """The file's row in the output."""
        return {
            "file": self.file,
            "state": self.state,
            "reason": self.reason,
            "kind": self.kind,
            "pages": self.pages,
            "documents": self.documents,
            "document_kinds": self.document_kinds,
            "sha256": self.sha256,
        }


class Filing:
    """The extraction of files of one job into one schema."""

    def __init__(self, run: Run, total: Budget, schema: RecordSchema, tiers: list[Tier]) -> None:
        self._run = run
        self._total = total
        self._schema = schema
        self._tiers = tiers

    def unread(self, file: SourceFile) -> Filed:
        """The row of a file that could not be read."""
        locked = " is locked" in file.reason.replace(file.name, "")
        state = "password needed" if locked else "failed"
        return Filed(file.name, state, file.reason, file.kind, file.pages, file.sha256)

    def unpacked(self, file: SourceFile, following: Sequence[SourceFile]) -> Filed:
        """The row of an archive, whose files have rows of their own."""
        inside = sum(1 for _ in takewhile(lambda f: f.container == file.sha256, following))
        reason = f"holds {inside} file{'s' if inside != 1 else ''}, each with its own row"
        return Filed(file.name, "unpacked", reason, file.kind, file.pages, file.sha256)

    def found(self, number: int) -> list[Found]:
        """What a finished file's job found."""
        name = f"{self._run.session.job}.{number}"
        ends = self._run.bench.journal.metas(name, "outcome")
        return [Found.from_json(row) for row in json.loads(ends[-1][2]["answer"])["found"]]

    async def extract(self, number: int, file: SourceFile) -> Filed:
        """Extract one file, or take what an earlier run of the job made of it."""
        bench, parent = self._run.bench, self._run.session.job
        name = f"{parent}.{number}"
        start = Start(
            flow="document",
            key=name,
            title=file.name,
            request={"file": file.name, "sha256": file.sha256},
            files=[],
            settings={**bench.recorded_settings(), "budget": self._tiers[0]},
            limits=Limits(max_steps=STEPS),
            parent=parent,
        )
        job = await asyncio.to_thread(
            find_or_create, bench.journal, start, name, settings_may_differ=True
        )
        filed = Filed(file.name, "done", "", file.kind, file.pages, file.sha256)
        if job.state in FINISHED:
            done = json.loads((await asyncio.to_thread(outcome, bench.journal, name)).answer)
            return _filed(filed, job.state, done)
        writer = await asyncio.to_thread(bench.journal.acquire, name)
        state, reason = "done", ""
        try:
            session = await asyncio.to_thread(
                Session, writer, bench.blobs, bench.settings, bench.endpoint
            )
            if session.history.outcome is None or session.history.outcome["state"] not in FINISHED:
                state, done = await self._converse(session, file)
                meta = {"state": state, "answer": json.dumps(done, ensure_ascii=False)}
                await session.append([Draft("outcome", meta)])
            else:
                state = session.history.outcome["state"]
                done = json.loads(session.history.outcome["answer"])
            return _filed(filed, state, done)
        except BaseException as error:
            state, reason = state_of(error)
            raise
        finally:
            writer.release(state, reason)

    async def _converse(self, session: Session, file: SourceFile) -> tuple[str, dict[str, Any]]:
        """(state, what was found and why not) after as many tries as there are tiers."""
        collection = self._run.collection.only(file.name)
        session.desk = JobDesk(collection, session.history.evidence, self._run.bench.blobs)
        brief, images, long = await asyncio.to_thread(self._brief, collection, file)
        if images and session.settings.is_builtin and not file_has_text(brief):
            return "needs review", _result([], [BLIND])
        tools = tuple(fitting_tools(documents=True)) if long else ()
        session.tools = {tool.name: tool for tool in tools}

        def find(page: int | None, quote: str) -> Evidence:
            try:
                return collection.find_quote(file.name, page, quote)
            except ToolError:
                if page is None:
                    raise
                return collection.find_quote(file.name, None, quote)

        @cache
        def notate(page: int) -> Notation:
            return Notation.of(collection.page(file.name, page).text)

        self._total.sessions.append(session)
        try:
            return await self._asked(session, file, brief, images, tools, find, notate)
        finally:
            self._total.close(session)

    async def _asked(
        self,
        session: Session,
        file: SourceFile,
        brief: str,
        images: tuple[bytes, ...],
        tools: tuple[Tool, ...],
        find: Find,
        notate: Notate,
    ) -> tuple[str, dict[str, Any]]:
        text, found, problems = brief, list[Found](), [""]
        budgets = [self._total, Budget(Limits(max_steps=STEPS), [session])]
        for attempt, tier in enumerate(self._tiers, 1):
            opening, chosen = text, tier
            try:
                answer = await run_conversation(
                    session,
                    f"extract {attempt}",
                    lambda opening=opening, chosen=chosen: Brief(  # type: ignore[misc]
                        prompts.EXTRACT, opening, tools, chosen, images
                    ),
                    budgets,
                    title=file.name,
                    steps=self._run.steps,
                )
            except (NeedsReview, OutOfBudget) as error:
                if isinstance(error, OutOfBudget) and session.history.spend.steps < STEPS:
                    raise
                return "needs review", _result(found, [error.message])
            except Stop as error:
                if not images:
                    raise
                return "needs review", _result([], [f"a scan, and {error.message}"])
            try:
                found = await asyncio.to_thread(read_answer, answer, self._schema, find, notate)
                problems = [problem for item in found for problem in item.problems]
            except ValueError as error:
                problems = [str(error)]
            if not problems:
                break
            text = prompts.again_brief(brief, answer, problems)
        if not found and not problems:
            problems = ["no document of this kind was found in it"]
        for item in found:
            item.problems += [f"/: {sentence}" for sentence in disagreements(item.record)]
        missed = problems if not found else []
        wrong = missed or any(item.problems for item in found)
        return "needs review" if wrong else "done", _result(found, missed)

    def _brief(
        self, collection: Collection, file: SourceFile
    ) -> tuple[str, tuple[bytes, ...], bool]:
        """(opening, pictures of pages without text, whether pages were left out)."""
        pages: list[tuple[int, str]] = []
        images: list[bytes] = []
        room = SHOWN
        for number in range(1, file.pages + 1):
            text = collection.page(file.name, number).text
            if not text.strip() and len(images) < PICTURES:
                try:
                    images.append(collection.picture(file.name, number))
                    text = f"{NO_TEXT} its picture is number {len(images)})"
                except ToolError:
                    text = f"{NO_TEXT} and no picture)"
            if room < len(text):
                break
            room -= len(text)
            pages.append((number, text))
        left_out = file.pages - len(pages)
        schema = json.dumps(self._schema.schema, ensure_ascii=False)
        return (
            prompts.extract_brief(file.name, schema, pages, left_out),
            tuple(images),
            left_out > 0,
        )


def file_has_text(brief: str) -> bool:
    """Whether any page shown in an opening has text of its own."""
    pages = brief.split("\n\n## Page ")[1:]
    return any(NO_TEXT not in page for page in pages)


def _result(found: list[Found], problems: list[str]) -> dict[str, Any]:
    return {"found": [item.as_json() for item in found], "problems": problems}


def _filed(filed: Filed, state: str, done: dict[str, Any]) -> Filed:
    found = [Found.from_json(row) for row in done["found"]]
    filed.documents = len(found)
    filed.document_kinds = sorted({item.kind for item in found if item.kind})
    problems = [*done["problems"], *(p for item in found for p in item.problems)]
    filed.state = state
    filed.reason = "" if state == "done" else "; ".join(problems[:3])
    if len(problems) > 3:
        filed.reason += f"; and {len(problems) - 3} more"
    return filed
