"""After the investigations: does what they found answer the question, and what is still missing?"""

from __future__ import annotations

from deskwork.flows import prompts
from deskwork.flows.findings import Findings
from deskwork.flows.loop import Budget, run_conversation
from deskwork.flows.running import Run
from deskwork.tasks.plan import Part, read_reflection
from deskwork.tasks.profiles import Tier
from deskwork.tasks.progress import tell
from deskwork.tasks.session import Brief

ROUNDS = 2
"""How often the plan may be added to."""
MOST = 12
"""Investigations of one job, at most."""


async def reflect(
    run: Run, findings: Findings, question: str, budget: Budget, tier: Tier, number: int
) -> list[Part]:
    """The investigations to add, none where the question is answered or nothing more would help.

    What is found so far is compared with the question, not with the plan: a plan can drift.
    """
    if run.session.settings.is_builtin or number > ROUNDS:
        return []
    room = MOST - len(findings.children)
    if room <= 0:
        return []
    brief = prompts.reflect_brief(question, findings.in_words())
    answer = await run_conversation(
        run.session,
        f"reflect {number}",
        lambda: Brief(prompts.REFLECT, brief, (), tier),
        [budget],
        title="reflect",
        steps=run.steps,
    )
    parts = read_reflection(answer)[:room]
    asked = {" ".join(child.question.casefold().split()) for child in findings.children}
    parts = [part for part in parts if " ".join(part.question.casefold().split()) not in asked]
    for part in parts:
        tell("plan", run.session.job, f"added investigation: {part.title}: {part.question}")
    return parts
