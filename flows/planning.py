"""The plan of a research job: made, shown with an estimate, and approved where that is wanted."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from deskwork.flows import prompts
from deskwork.flows.loop import Budget, run_conversation
from deskwork.flows.running import Run
from deskwork.tasks.estimate import estimate
from deskwork.tasks.plan import Plan, read_plan
from deskwork.tasks.profiles import Tier
from deskwork.tasks.progress import tell
from deskwork.tasks.session import Brief
from deskwork.tasks.starts import read_image
from deskwork.tasks.states import WaitingForPerson
from deskwork.tools.errors import Stop, StorageError

TRIES = 3


async def planned(run: Run, budget: Budget, files: list[str], tier: Tier, out: Path) -> Plan:
    """The plan to go by. Raises `WaitingForPerson` where a person is to look at it first.

    It is shown with an estimate before any investigation begins. One that was edited by a person
    takes the place of the model's.
    """
    plan = await _made(run, budget, files, tier)
    decided = run.session.history.plan
    if isinstance(decided, dict):
        plan = Plan.model_validate(decided)
    job = run.session.job
    run.parts = {f"{job}.{n}": part.title for n, part in enumerate(plan.investigations, 1)}
    for part in plan.investigations:
        tell("plan", job, f"investigation: {part.title}: {part.question}")
    told = await asyncio.to_thread(estimate, run.bench, plan)
    tell("plan", job, told)
    if run.start["request"].get("review_plan") and decided is None:
        path = await asyncio.to_thread(_written, plan, out)
        raise WaitingForPerson(
            f"The plan waits for a person: {told}.",
            f"Look at it in {path}, then: `deskwork answer {job} --approve`, or "
            f"`deskwork answer {job} --edit {path}` after changing it; "
            f"`deskwork resume {job}` goes on.",
        )
    return plan


async def _made(run: Run, budget: Budget, files: list[str], tier: Tier) -> Plan:
    request, session = run.start["request"], run.session

    def brief() -> Brief:
        images = tuple(read_image(Path(path)) for path in request["images"])
        text = prompts.plan_brief(request["question"], files, web=bool(request.get("web")))
        return Brief(prompts.PLAN, text, (), tier, images)

    for number in range(TRIES):
        answer = await run_conversation(
            session, "plan", brief, [budget], title="plan", steps=run.steps
        )
        try:
            return read_plan(answer)
        except ValueError as error:
            conversation = session.history.conversations["plan"]
            why = f"invalid {number + 1}"
            if number + 1 < TRIES and why not in conversation.told:
                await session.say(conversation, str(error), why)
    raise Stop(
        "The model gave no usable plan in three tries.",
        f"`deskwork show {session.job}` has them; try a larger --budget or another model.",
    )


def _written(plan: Plan, out: Path) -> Path:
    """The plan as a file that a person can change. Raises `StorageError`."""
    path = out / "plan.json"
    try:
        out.mkdir(parents=True, exist_ok=True)
        text = json.dumps(plan.model_dump(exclude_defaults=True), ensure_ascii=False, indent=2)
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise StorageError(
            f"The plan can't be written to {path}: {error.strerror or error}.",
            "Mend the folder, then run the same command again.",
        ) from error
    return path
