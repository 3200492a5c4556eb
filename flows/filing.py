"""One file of a document job: its own child job, from its text to checked records."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from deskwork.flows import prompts
from deskwork.flows.loop import Budget, run_conversation
from deskwork.flows.opening import Opening, opening_of
from deskwork.flows.running import Run
from deskwork.tasks.entries import Draft
from deskwork.tasks.extracted import Found, read_answer
from deskwork.tasks.filed import Filed, filled, result
from deskwork.tasks.finding import Finder
from deskwork.tasks.journal import FINISHED, Job
from deskwork.tasks.limits import Limits
from deskwork.tasks.line_rows import joined, line_problems, rows_quoted
from deskwork.tasks.outcomes import outcome
from deskwork.tasks.profiles import Tier
from deskwork.tasks.recall import Recall, fingerprint_of
from deskwork.tasks.reconcile import disagreements
from deskwork.tasks.schema import RecordSchema
from deskwork.tasks.session import Brief, Session, version_of
from deskwork.tasks.starts import Start, find_or_create, first_entry
from deskwork.tasks.states import NeedsReview, OutOfBudget, state_of
from deskwork.tasks.workbench import JobDesk
from deskwork.tools.collection import SourceFile
from deskwork.tools.errors import NotFound, Stop
from deskwork.tools.selection import fitting_tools
from deskwork.tools.tool import Tool

BLIND = (
    "its pages are pictures without text; `deskwork documents --ocr`, or `ocr = true` under "
    "[reading] in deskwork.toml, reads them where the OCR is installed; or set a model that sees "
    "pictures"
)
LOCKED = "Put its password into `passwords` in deskwork.toml, then run the same command again."
STEPS = 20
"""Model calls for one file, at most."""


class Filing:
    """The extraction of files of one job into one schema.

    ``recall`` knows what other jobs made of the same content; None asks for everything anew.
    """

    def __init__(
        self,
        run: Run,
        total: Budget,
        schema: RecordSchema,
        tiers: list[Tier],
        recall: Recall | None = None,
    ) -> None:
        self._run = run
        self._total = total
        self._schema = schema
        self._tiers = tiers
        self._recall = recall
        self._canonical = schema.canonical()
        self._keys: dict[str, str] = {}
        self._names: dict[int, str] = {}

    def unread(self, file: SourceFile) -> Filed:
        """The row of a file that could not be read."""
        rest = file.reason.replace(file.name, "")
        if " is locked" not in rest:
            return Filed.of(file, "failed", file.reason)
        said = file.reason.partition(" Put it into")[0]
        return Filed.of(file, "password needed", f"{said} {LOCKED}")

    def unpacked(self, file: SourceFile, following: Sequence[SourceFile]) -> Filed:
        """The row of an archive, whose files have rows of their own."""
        inside = sum(1 for _ in takewhile(lambda f: f.container == file.sha256, following))
        reason = f"holds {inside} file{'s' if inside != 1 else ''}, each with its own row"
        return Filed.of(file, "unpacked", reason)

    def found(self, number: int) -> list[Found]:
        """What a finished file's job found."""
        ends = self._run.bench.journal.metas(self._names[number], "outcome")
        return [Found.from_json(row) for row in json.loads(ends[-1][2]["answer"])["found"]]

    def is_known(self, file: SourceFile) -> bool:
        """Whether another job has finished the same content in the same way."""
        return self._recall is not None and self._recall.job_of(self._key(file)) is not None

    def _key(self, file: SourceFile) -> str:
        if file.sha256 not in self._keys:
            store = self._run.bench.library.store
            with store.connect() as connection:
                by_ocr = store.was_read_by_ocr(connection, file.document)
            self._keys[file.sha256] = fingerprint_of(
                file,
                self._canonical,
                self._run.bench.settings,
                self._tiers,
                version_of(prompts.EXTRACT),
                by_ocr=by_ocr,
            )
        return self._keys[file.sha256]

    def _child(self, number: int, file: SourceFile) -> Job:
        """The file's job, made if it is new."""
        journal, parent = self._run.bench.journal, self._run.session.job
        for name in (f"{parent}.{number}", f"{parent}.{number}-{file.sha256[:8]}"):
            try:
                job = journal.job(name)
            except NotFound:
                start = Start(
                    flow="document",
                    key=self._key(file),
                    title=file.name,
                    request={"file": file.name, "sha256": file.sha256},
                    files=[],
                    settings={**self._run.bench.recorded_settings(), "budget": self._tiers[0]},
                    limits=Limits(max_steps=STEPS),
                    parent=parent,
                )
                job = find_or_create(journal, start, name, settings_may_differ=True)
                break
            # An archive that opens by now has moved the numbers of the files behind it.
            if first_entry(journal, name)["request"].get("sha256") == file.sha256:
                break
        self._names[number] = job.id
        return job

    async def extract(self, number: int, file: SourceFile) -> Filed:
        """Extract one file, or take what an earlier run, or another job, made of it."""
        bench = self._run.bench
        job = await asyncio.to_thread(self._child, number, file)
        filed = Filed.of(file, "done")
        if job.state in FINISHED:
            done = json.loads((await asyncio.to_thread(outcome, bench.journal, job.id)).answer)
            return filled(filed, job.state, done)
        writer = await asyncio.to_thread(bench.journal.acquire, job.id)
        state, reason = "done", ""
        try:
            known = None
            if self._recall:
                model = bench.settings.model
                known = await asyncio.to_thread(self._recall.outcome_of, job.key, file.name, model)
            if known:
                await asyncio.to_thread(writer.append, [Draft("outcome", known)])
                state = known["state"]
                return filled(filed, state, json.loads(known["answer"]))
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
            return filled(filed, state, done)
        except BaseException as error:
            state, reason = state_of(error)
            raise
        finally:
            writer.release(state, reason)

    async def _converse(self, session: Session, file: SourceFile) -> tuple[str, dict[str, Any]]:
        """(state, what was found and why not) after as many tries as there are tiers."""
        collection = self._run.collection.only(file.name)
        session.desk = JobDesk(collection, session.history.evidence, self._run.bench.blobs)
        builtin = session.settings.is_builtin
        shown = await asyncio.to_thread(opening_of, collection, file, self._schema, builtin=builtin)
        if builtin and shown.images and not shown.has_text:
            return "needs review", result([], [BLIND])
        tools = tuple(fitting_tools(documents=True)) if shown.left_out else ()
        session.tools = {tool.name: tool for tool in tools}
        self._total.sessions.append(session)
        try:
            return await self._asked(session, file, shown, tools, Finder(collection, file.name))
        finally:
            self._total.close(session)

    async def _asked(
        self,
        session: Session,
        file: SourceFile,
        shown: Opening,
        tools: tuple[Tool, ...],
        finder: Finder,
    ) -> tuple[str, dict[str, Any]]:
        text, found, problems = shown.text, list[Found](), [""]
        budgets = [self._total, Budget(Limits(max_steps=STEPS), [session])]
        # The built-in answerer says the same each time.
        tiers = self._tiers[:1] if session.settings.is_builtin else self._tiers
        for attempt, tier in enumerate(tiers, 1):
            opening, chosen = text, tier
            try:
                answer = await run_conversation(
                    session,
                    f"extract {attempt}",
                    lambda opening=opening, chosen=chosen: Brief(  # type: ignore[misc]
                        prompts.EXTRACT, opening, tools, chosen, shown.images
                    ),
                    budgets,
                    title=file.name,
                    steps=self._run.steps,
                )
            except (NeedsReview, OutOfBudget) as error:
                if isinstance(error, OutOfBudget) and session.history.spend.steps < STEPS:
                    raise
                return "needs review", result(found, [error.message])
            except Stop as error:
                if not shown.images:
                    raise
                return "needs review", result([], [f"a scan, and {error.message}"])
            try:
                found = await asyncio.to_thread(self._checked, answer, finder, file.pages)
                problems = [problem for item in found for problem in item.problems]
            except ValueError as error:
                problems = [str(error)]
            if not problems:
                break
            text = prompts.again_brief(shown.text, answer, problems)
        if not found and not problems:
            problems = ["no document of this kind was found in it"]
        for item in found:
            item.problems += [f"/: {sentence}" for sentence in disagreements(item.record)]
        missed = problems if not found else []
        if session.settings.is_builtin and shown.left_out:
            missed.append(f"the last {shown.left_out} pages were not looked at: it is too long")
        wrong = missed or any(item.problems for item in found)
        return "needs review" if wrong else "done", result(found, missed)

    def _checked(self, answer: str, finder: Finder, pages: int) -> list[Found]:
        """The documents of an answer. Raises `ValueError` with a sentence, and nothing else."""
        try:
            found = read_answer(answer, self._schema, finder.find, finder.notate, pages)
            quoted = rows_quoted(found, finder.look)
            for item in found:
                lines = line_problems(item, finder.look, quoted)
                item.problems = joined([*item.problems, *lines])
        except (ValueError, Stop):
            raise
        except Exception as error:  # one answer's oddity must not end the others' job
            detail = " ".join(str(error).split())[:120]
            raise ValueError(
                f"The answer can't be checked ({type(error).__name__}: {detail})."
            ) from error
        return found
