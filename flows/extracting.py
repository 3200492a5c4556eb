"""The flow `documents`: files in, records with evidence out, and a row for every file.

Each file is a child job with a journal of its own, its steps under this flow. What is done follows
from those journals: a run that was killed goes on with the files that are left.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run as current_run

from deskwork.flows.agent import prefect_state
from deskwork.flows.filing import Filed, Filing
from deskwork.flows.loop import Budget
from deskwork.flows.running import Run, run_job
from deskwork.tasks.conversation import BYTES_A_TOKEN
from deskwork.tasks.extracted import Found
from deskwork.tasks.journal import FINISHED
from deskwork.tasks.limits import Spend
from deskwork.tasks.outcomes import usage_of
from deskwork.tasks.profiles import Tier
from deskwork.tasks.progress import tell
from deskwork.tasks.records_out import spool_for, write_outputs
from deskwork.tasks.records_spool import Records, record_row
from deskwork.tasks.requests import DocumentsRequest
from deskwork.tasks.schema import load_schema
from deskwork.tasks.states import NeedsReview, OutOfBudget
from deskwork.tools.collection import SourceFile
from deskwork.tools.expansion import ARCHIVES, expanded

AT_ONCE = 8
SETTLED = ("done", "duplicate", "unpacked")
"""States of a file that ask for no look."""
OVERHEAD = 900
"""Tokens of a request beside the file's text, roughly."""


@flow(name="documents", persist_result=False)
async def documents_flow(request: DocumentsRequest) -> State[Any]:
    """Extract records from files, with evidence for each field; resumable at every step.

    Args:
        request: Which files, the schema of a record, within which limits, and where to.
    """

    async def work(run: Run) -> None:
        home = run.bench.settings.home
        out = request.out or home / "documents" / run.session.job / "records.xlsx"
        await Documents(run, Path(out)).work()

    return prefect_state(await run_job("documents", request, work, current_run.id))


class Documents:
    """One document job being run."""

    def __init__(self, run: Run, out: Path) -> None:
        self.run = run
        self.out = out
        self.session = run.session
        self.schema = load_schema(run.start["request"]["schema_source"])
        self.budget = Budget(self.session.history.limits, [self.session])
        self.filing = Filing(run, self.budget, self.schema, self._tiers())

    def _tiers(self) -> list[Tier]:
        """The cheapest tier first, a higher one on doubt; a tier asked for stands alone."""
        first = self.session.settings.schedule.extraction or "low"
        asked = self.run.start["settings"]["budget"]
        return [first, "high"] if asked == "auto" else [asked]

    async def work(self) -> None:
        """Do the job. Raises `NeedsReview` or `OutOfBudget` once the outputs are written."""
        library = self.run.bench.library
        self.run.collection = await asyncio.to_thread(expanded, library, self.run.collection)
        files = self.run.collection.files
        self._tell_estimate()
        await asyncio.to_thread(self._count_what_is_done)
        rows: list[Filed | None] = [None] * len(files)
        first: dict[str, str] = {}
        todo: list[tuple[int, SourceFile]] = []
        for place, file in enumerate(files):
            if file.state != "ready":
                rows[place] = self.filing.unread(file)
            elif file.kind in ARCHIVES:
                rows[place] = self.filing.unpacked(file, files[place + 1 :])
            elif file.sha256 in first:
                reason = f"the same content as {first[file.sha256]}"
                rows[place] = Filed(
                    file.name, "duplicate", reason, file.kind, file.pages, file.sha256
                )
            else:
                first[file.sha256] = file.name
                todo.append((place, file))
        limit: OutOfBudget | None = None
        done = 0
        try:
            async for place, filed in self._extracted(iter(todo)):
                rows[place] = filed
                done += 1
                tell(
                    "index", self.session.job, f"extracted {filed.file}", done=done, total=len(todo)
                )
        except OutOfBudget as error:
            limit = error
        whole = [row or _not_done(file, limit) for row, file in zip(rows, files, strict=True)]
        await asyncio.to_thread(self._publish, whole, limit)
        if limit:
            raise limit
        open_rows = [row for row in whole if row.state not in SETTLED]
        if open_rows:
            raise NeedsReview(
                f"{len(open_rows)} of {len(whole)} files need a look.",
                f"They are listed in {self.out}, sheet Exceptions; "
                f"{self.out.with_suffix('.html').name} shows each field beside its source.",
            )

    async def _extracted(
        self, todo: Iterator[tuple[int, SourceFile]]
    ) -> AsyncIterator[tuple[int, Filed]]:
        """Extract the files, so many at once, each as it is done.

        When one fails for good, those under way come to their end before the failure is raised.
        """
        under_way: set[asyncio.Task[tuple[int, Filed]]] = set()
        failure: BaseException | None = None

        async def one(place: int, file: SourceFile) -> tuple[int, Filed]:
            return place, await self.filing.extract(place + 1, file)

        try:
            while True:
                while failure is None and len(under_way) < self._at_once():
                    following = next(todo, None)
                    if following is None:
                        break
                    under_way.add(asyncio.create_task(one(*following)))
                if not under_way:
                    break
                ended, under_way = await asyncio.wait(
                    under_way, return_when=asyncio.FIRST_COMPLETED
                )
                for task in ended:
                    if error := task.exception():
                        failure = failure or error
                    else:
                        yield task.result()
        finally:
            for task in under_way:
                task.cancel()
            if under_way:
                await asyncio.wait(under_way)
        if failure:
            raise failure

    def _count_what_is_done(self) -> None:
        """What the files that an earlier run finished cost counts against the limits too."""
        journal = self.session.writer.journal
        done = [c.id for c in journal.children(self.session.job) if c.state in FINISHED]
        used = usage_of(journal, done)
        tokens = used["input"] + used["output"]
        self.budget.closed.append(Spend(steps=used["calls"], tokens=tokens, cost=used.get("cost")))

    def _at_once(self) -> int:
        """How many files may be under way: near a limit of steps no more than it has left."""
        most = self.session.history.limits.max_steps
        left = AT_ONCE if most is None else most - self.budget.spend().steps
        return max(1, min(AT_ONCE, left))

    def _tell_estimate(self) -> None:
        ready = [file for file in self.run.collection.files if file.state == "ready"]
        files = [file for file in ready if file.kind not in ARCHIVES]
        characters = self.run.collection.characters()
        tokens = int(characters / BYTES_A_TOKEN + OVERHEAD * len(files))
        settings = self.session.settings
        price = settings.prices.get(settings.model)
        cost = f", about {tokens * price.input / 1e6:.2f} for reading them" if price else ""
        pages = sum(file.pages for file in files)
        tell(
            "plan",
            self.session.job,
            f"{len(files)} files with {pages} pages: about {tokens:,} tokens to read once{cost}",
        )

    def _publish(self, rows: list[Filed], limit: OutOfBudget | None) -> None:
        with spool_for(self.out) as found:
            first: dict[str, str] = {}
            for number, row in enumerate(rows, 1):
                for item in self.filing.found(number) if row.documents else ():
                    if problem := _twin(first, row.file, item):
                        item.problems.append(problem)
                    if row.state == "done" and item.problems:
                        row.state, row.reason = "needs review", item.problems[0]
                    found.add(record_row(row.file, item))
            wrong = any(row.state not in SETTLED for row in rows)
            state = "out of budget" if limit else "needs review" if wrong else "done"
            records = Records(self.session.job, state, [row.row() for row in rows], found)
            paths = write_outputs(self.out, records, self.run.collection)
            count = len(found)
        self.run.files = tuple(str(path) for path in paths)
        counts = ", ".join(f"{n} {name}" for name, n in _counted(rows).items())
        self.run.answer = f"{count} records from {len(rows)} files: {counts}."
        tell("publish", self.session.job, f"records: {self.out}")


def _counted(rows: list[Filed]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.state] = counts.get(row.state, 0) + 1
    return counts


def _not_done(file: SourceFile, limit: OutOfBudget | None) -> Filed:
    reason = limit.message if limit else "the job ended before it"
    return Filed(file.name, "not done", reason, file.kind, file.pages, file.sha256)


def _twin(first: dict[str, str], name: str, item: Found) -> str:
    """A problem where another file has the same record to the last field: perhaps sent twice."""
    text = json.dumps(item.record, sort_keys=True, ensure_ascii=False)
    key = hashlib.sha256(text.encode()).hexdigest()
    before = first.setdefault(key, name)
    return f"/: the same record as in {before}" if item.record and before != name else ""
