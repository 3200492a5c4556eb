"""The flow `evaluate`: a set of questions with gold answers, by each model and thinking budget.

Each question is a child job with a journal of its own, so that a run that was killed goes on and
no answer is paid for twice.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from deskwork.flows.attending import attended
from deskwork.flows.loop import Budget
from deskwork.flows.running import Run, transport
from deskwork.flows.trial import Score, Variant, try_question
from deskwork.tasks.evaluation_page import write_evaluation
from deskwork.tasks.profiles import Tier
from deskwork.tasks.progress import tell
from deskwork.tasks.question_sets import Item, read_set
from deskwork.tasks.requests import EvaluationRequest
from deskwork.tasks.states import OutOfBudget
from deskwork.tasks.workbench import Workbench
from deskwork.tools.collection import Collection

AT_ONCE = 4


@flow(name="evaluate", persist_result=False)
async def evaluate_flow(request: EvaluationRequest) -> State[Any]:
    """Answer a set of questions and score the answers; resumable at every step.

    Args:
        request: Which set, over which files, by which models and budgets, and where to.
    """

    async def work(run: Run) -> None:
        home = run.bench.settings.home
        out = request.out or home / "evaluations" / run.session.job
        await Evaluation(run, Path(out)).work()

    return await attended("evaluate", request, work)


class Evaluation:
    """One evaluation being run."""

    def __init__(self, run: Run, out: Path) -> None:
        self.run = run
        self.out = out
        self.request = run.start["request"]
        self.items = read_set(Path(self.request["question_set"]))
        own = run.session.settings.model
        tiers: list[Tier] = self.request["budgets"] or ["high"]
        self.variants = [
            Variant(model, tier) for model in self.request["models"] or [own] for tier in tiers
        ]
        self.budget = Budget(run.session.history.limits, [run.session])
        self.own_files = out / "documents"
        self.scores: list[Score] = []

    async def work(self) -> None:
        """Do the job. Raises `OutOfBudget` once what there is was written."""
        gate = asyncio.Semaphore(AT_ONCE)
        benches = {variant.model: self._bench(variant.model) for variant in self.variants}
        total = len(self.items) * len(self.variants)

        async def one(number: int, item: Item, place: int, variant: Variant) -> Score:
            async with gate:
                name = f"{self.run.session.job}.{place}.{number}"
                collection = await asyncio.to_thread(self._collection, item)
                bench = benches[variant.model]
                score = await try_question(
                    self.run, bench, self.budget, name, item, variant, collection
                )
                self.scores.append(score)
                tell("step", self.run.session.job, f"{len(self.scores)} of {total} questions")
                return score

        self.run.parts = {
            f"{self.run.session.job}.{place}.{number}": f"{item.question} ({variant.name})"
            for place, variant in enumerate(self.variants, 1)
            for number, item in enumerate(self.items, 1)
        }
        runs = [
            one(number, item, place, variant)
            for place, variant in enumerate(self.variants, 1)
            for number, item in enumerate(self.items, 1)
        ]
        try:
            ended = await asyncio.gather(*runs, return_exceptions=True)
        finally:
            for bench in benches.values():
                if bench is not self.run.bench:
                    await bench.close()
        failures = [error for error in ended if isinstance(error, BaseException)]
        self._publish([score for score in ended if isinstance(score, Score)], total)
        for error in failures:
            if not isinstance(error, OutOfBudget):
                raise error
        if failures:
            raise failures[0]

    def _bench(self, model: str) -> Workbench:
        bench = self.run.bench
        if model == bench.settings.model:
            return bench
        return Workbench(bench.settings.with_model(model), transport=transport.get())

    def _collection(self, item: Item) -> Collection:
        """The documents of a question: its own, its named file, or all."""
        if item.document:
            path = self.own_files / f"{item.doc}.md"
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(item.document, encoding="utf-8")
            return self.run.bench.library.collect([path])
        everything = self.run.collection
        if self.request["scope"] == "all" or not item.doc:
            return everything
        names = [file.name for file in everything.files if Path(file.name).stem == item.doc]
        return everything.only(names[0]) if names else everything

    def _publish(self, scores: list[Score], total: int) -> None:
        job = self.run.session.job
        paths, summary = write_evaluation(
            self.out, job, Path(self.request["question_set"]).name, scores, total
        )
        self.run.files = tuple(str(path) for path in paths)
        self.run.answer = summary
        tell("publish", job, f"scores: {paths[0]}")
