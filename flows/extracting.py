"""The flow `documents`: files in, records with evidence out, and a row for every file.

Each file is a child job with a journal of its own, its steps under this flow. What is done follows
from those journals: a run that was killed goes on with the files that are left.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from deskwork.flows.attending import attended
from deskwork.flows.filing import Filing
from deskwork.flows.loop import Budget
from deskwork.flows.running import Run
from deskwork.tasks.conversation import BYTES_A_TOKEN
from deskwork.tasks.filed import Filed
from deskwork.tasks.journal import FINISHED
from deskwork.tasks.limits import Spend
from deskwork.tasks.outcomes import usage_of
from deskwork.tasks.profiles import Tier
from deskwork.tasks.progress import tell
from deskwork.tasks.recall import Recall
from deskwork.tasks.records_out import spool_for, write_outputs
from deskwork.tasks.records_paths import check_outputs, family_of, output_path
from deskwork.tasks.records_spool import Records, record_row
from deskwork.tasks.requests import DocumentsRequest
from deskwork.tasks.schema import load_schema
from deskwork.tasks.states import NeedsReview, OutOfBudget
from deskwork.tasks.twins import Twins
from deskwork.tools.collection import SourceFile
from deskwork.tools.expansion import ARCHIVES, expanded
from deskwork.tools.library import hidden

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
        out = home / "documents" / run.session.job / "records.xlsx"
        if request.out:
            # Looked at when the command was given, too; a run of a server or a schedule was not.
            out = output_path(request.out)
            paths = [Path(path) for path in run.start["request"]["files"]]
            named = [path for path in paths if not path.is_dir()]
            check_outputs(out, family_of(paths), named)
        await Documents(run, out).work()

    return await attended("documents", request, work)


class Documents:
    """One document job being run."""

    def __init__(self, run: Run, out: Path) -> None:
        self.run = run
        self.out = out
        self.session = run.session
        request = run.start["request"]
        self.schema = load_schema(request["schema_source"])
        self.budget = Budget(self.session.history.limits, [self.session])
        self.paths = [Path(path) for path in request["files"]]
        recall = None if request.get("fresh") else Recall(run.bench.journal)
        self.filing = Filing(run, self.budget, self.schema, self._tiers(), recall)
        self.hidden = 0

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
        self.hidden = await asyncio.to_thread(hidden, self.paths)
        rows, todo = await asyncio.to_thread(self._sorted, files)
        job = self.session.job
        self.run.parts = {f"{job}.{place + 1}": file.name for place, file in todo}
        self._tell_estimate([file for _, file in todo])
        await asyncio.to_thread(self._count_what_is_done)
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
        reason = limit.message if limit else "the job ended before it"
        whole = [
            row or Filed.of(file, "not done", reason) for row, file in zip(rows, files, strict=True)
        ]
        await asyncio.to_thread(self._publish, whole, limit)
        if limit:
            raise limit
        open_rows = [row for row in whole if row.state not in SETTLED]
        if open_rows:
            many = f"{len(open_rows)} of {counted(len(whole), 'file')}"
            raise NeedsReview(
                f"{many} {'needs' if len(open_rows) == 1 else 'need'} a look.",
                f"They are listed in {self.out}, sheet Exceptions; "
                f"{self.out.with_suffix('.html').name} shows each field beside its source.",
            )

    def _sorted(
        self, files: Sequence[SourceFile]
    ) -> tuple[list[Filed | None], list[tuple[int, SourceFile]]]:
        """The rows that are known by now, and the files to extract.

        Those that cost nothing come first: a limit that is reached leaves out others than them.
        """
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
                rows[place] = Filed.of(file, "duplicate", reason)
            else:
                first[file.sha256] = file.name
                todo.append((place, file))
        todo.sort(key=lambda item: not self.filing.is_known(item[1]))
        return rows, todo

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
        """How many files may be under way: near a limit no more than it has room for.

        What a file costs is known once one is done; until then a limit of cost or tokens lets one
        through at a time.
        """
        limits, spend = self.session.history.limits, self.budget.spend()
        room = [AT_ONCE]
        if limits.max_steps is not None:
            room.append(limits.max_steps - spend.steps)
        for most, used in ((limits.max_tokens, spend.tokens), (limits.max_cost, spend.cost or 0)):
            if most is not None:
                each = used / spend.steps if spend.steps and used else most
                room.append(int((most - used) / each) if used < most else 1)
        return max(1, min(room))

    def _tell_estimate(self, files: Sequence[SourceFile]) -> None:
        known = sum(1 for file in files if self.filing.is_known(file))
        characters = self.run.collection.characters()
        tokens = int(characters / BYTES_A_TOKEN + OVERHEAD * len(files))
        settings = self.session.settings
        price = settings.prices.get(settings.model)
        cost = f", about {tokens * price.input / 1e6:.2f} for reading them" if price else ""
        pages = counted(sum(file.pages for file in files), "page")
        tell(
            "plan",
            self.session.job,
            f"{counted(len(files), 'file')} with {pages}: about {tokens:,} tokens to read once"
            f"{cost}" + (f"; {known} of them known from earlier jobs" if known else ""),
        )

    def _publish(self, rows: list[Filed], limit: OutOfBudget | None) -> None:
        with spool_for(self.out) as found:
            twins = Twins()
            for number, row in enumerate(rows, 1):
                items = self.filing.found(number) if row.documents else []
                twins.tell(row.file, items)
                problems = [problem for item in items for problem in item.problems]
                if row.state == "done" and problems:
                    row.state, row.reason = "needs review", problems[0]
                for item in items:
                    found.add(record_row(row.file, item))
            wrong = any(row.state not in SETTLED for row in rows)
            state = "out of budget" if limit else "needs review" if wrong else "done"
            records = Records(
                self.session.job,
                state,
                [row.row() for row in rows],
                found,
                family_of(self.paths),
                self.hidden,
            )
            paths = write_outputs(self.out, records, self.run.collection)
            count = len(found)
        self.run.files = tuple(str(path) for path in paths)
        counts = ", ".join(f"{n} {name}" for name, n in Counter(row.state for row in rows).items())
        self.run.answer = f"{counted(count, 'record')} from {counted(len(rows), 'file')}: {counts}."
        if self.hidden:
            one = self.hidden == 1
            self.run.answer += (
                f" {counted(self.hidden, 'hidden file')} {'was' if one else 'were'} left out."
            )
        tell("publish", self.session.job, f"records: {self.out}")


def counted(number: int, thing: str) -> str:
    """A number of things in words: `1 record`, `2 records`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
