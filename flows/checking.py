"""The check of a draft, and its repairs: by code first, then by a second look of the model."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from deskwork.flows import prompts
from deskwork.flows.findings import Findings
from deskwork.flows.loop import Budget, run_conversation
from deskwork.flows.running import Run
from deskwork.flows.second_look import look_again
from deskwork.tasks.claims import Checked, check
from deskwork.tasks.ledger import Ledger
from deskwork.tasks.profiles import Tier
from deskwork.tasks.progress import tell
from deskwork.tasks.review import Review
from deskwork.tasks.reviews import corrected_text, plain
from deskwork.tasks.session import Brief


class Checking:
    """The check of one job's draft, with at most as many repairs as there are tiers for."""

    def __init__(
        self,
        run: Run,
        findings: Findings,
        question: str,
        budget: Budget,
        reviews: Sequence[Review] = (),
    ) -> None:
        self._run = run
        self._findings = findings
        self._question = question
        self._budget = budget
        self._reviews = reviews
        self._corrected: set[str] = set()
        self._seen: dict[str, str] = {}

    async def checked(self, text: str, tier: Tier) -> tuple[str, Checked]:
        """The text after its repairs, and what is left to say of it.

        What still fails after the last repair is marked in the report. ``tier`` is the job's.
        """
        schedule = self._run.session.settings.schedule
        ledger = self._findings.ledger()
        look = schedule.tier("check", tier)
        text = self._with_corrections(text)
        found = await self._look(text, ledger, 0, look)
        for number, higher in enumerate(schedule.repair, 1):
            if not found.problems:
                break
            job = self._run.session.job
            tell("plan", job, f"repair {number}: {len(found.problems)} claims don't stand")
            text = await self._repaired(text, found.problems, number, higher)
            text = self._with_corrections(text)
            found = await self._look(text, ledger, number, look)
        return text, found

    def _with_corrections(self, text: str) -> str:
        """The text with the sentences that a person wrote, whatever the model made of them."""
        text, put = corrected_text(text, self._reviews)
        self._corrected |= set(put)
        return text

    def _is_corrected(self, sentence: str) -> bool:
        return plain(sentence) in self._corrected

    async def _look(self, text: str, ledger: Ledger, number: int, tier: Tier) -> Checked:
        """What code finds, and what a model finds in the sentences that code let through.

        Each sentence is looked at once: one that a repair left as it was keeps its verdict.
        """
        found = await asyncio.to_thread(check, text, ledger, None, self._is_corrected)
        if self._run.session.settings.is_builtin:
            return found
        new = [claim for claim in found.claims if claim.text not in self._seen]
        said = await look_again(self._run, f"check {number + 1}", new, ledger, self._budget, tier)
        self._seen |= {c.text: said.get(c.text, "") for c in new if c.status == "supported"}
        return await asyncio.to_thread(
            check, text, ledger, lambda c: self._seen.get(c.text, ""), self._is_corrected
        )

    async def _repaired(self, text: str, problems: list[str], number: int, tier: Tier) -> str:
        def brief() -> Brief:
            listed = self._findings.listed()
            opening = prompts.repair_brief(self._question, text, problems, listed)
            return Brief(prompts.REPAIR, opening, (), tier)

        label = f"repair {number}"
        return await run_conversation(
            self._run.session, label, brief, [self._budget], title=label, steps=self._run.steps
        )
