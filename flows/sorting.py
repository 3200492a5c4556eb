"""The budget ``auto``: one call at the lowest tier sorts the question; the choice is recorded."""

from __future__ import annotations

import re

from deskwork.flows import prompts
from deskwork.flows.loop import Budget, run_conversation
from deskwork.flows.running import Run
from deskwork.tasks.profiles import Tier
from deskwork.tasks.progress import tell
from deskwork.tasks.session import Brief

CHOICES: dict[str, Tier] = {"simple": "low", "ordinary": "high", "deep": "max"}


async def budget_of(run: Run, budget: Budget) -> Tier:
    """The job's thinking budget: as asked for, or by the kind of its question.

    An answer that names no kind, or several, stands for an ordinary question.
    """
    asked = run.start["settings"]["budget"]
    if asked != "auto":
        if others := run.session.settings.schedule.overrides(asked):
            said = f"The table [budgets] stands over --budget {asked}: {', '.join(others)}."
            tell("plan", run.session.job, said)
        return asked  # type: ignore[no-any-return]
    session = run.session
    if known := session.history.notes.get("budget"):
        return known["tier"]  # type: ignore[no-any-return]
    kind = "ordinary"
    if not session.settings.is_builtin:
        question = run.start["request"]["question"]
        answer = await run_conversation(
            session,
            "sort",
            lambda: Brief(prompts.SORT, question, (), "low"),
            [budget],
            title="sort",
            steps=run.steps,
        )
        named = set(re.findall("|".join(CHOICES), answer.lower()))
        kind = named.pop() if len(named) == 1 else kind
    tier = CHOICES[kind]
    await session.note("budget", kind=kind, tier=tier)
    tell("plan", session.job, f"a question of the kind {kind}: thinking {tier}")
    return tier
