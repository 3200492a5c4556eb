"""The agent loop: what is next follows from the history alone.

while not finished(history):
    calls = unanswered(history)
    if calls: run each as its own task, side by side; results stand in call order
    else:     ask the model as a task; its reply is appended
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from deskwork.tasks import limits, succession, tool_step
from deskwork.tasks.conversation import (
    HAND_OVER,
    MIN_OUTPUT,
    REPEATS_STOP,
    REPEATS_TOLD,
    Conversation,
)
from deskwork.tasks.entries import Draft
from deskwork.tasks.limits import Limits, Spend
from deskwork.tasks.model_errors import ContextOverflow
from deskwork.tasks.model_step import refusal
from deskwork.tasks.progress import tell
from deskwork.tasks.session import Brief, Session
from deskwork.tasks.states import NeedsReview, OutOfBudget
from deskwork.tasks.steps import AS_TASKS, Steps
from deskwork.tools.errors import Stop

HAND_OVER_DUE = "not run: your hand-over is due. Write it now; call no tool."
NUDGES = 3
"""So many empty or cut replies in a row, and the job stops."""
FUTILE = 2
"""After so many fresh starts that a single reply filled, the next such one stops the job."""


@dataclass(frozen=True)
class Budget:
    """The limits that a conversation keeps to, and the sessions whose spend counts against them.

    ``closed`` is the spend of jobs that are done and whose history is not held any more;
    ``elsewhere`` tells what other processes use for the same job.
    """

    limits: Limits
    sessions: list[Session]
    closed: list[Spend] = field(default_factory=list)
    elsewhere: Callable[[], Spend] | None = None

    def spend(self) -> Spend:
        """What all the sessions used so far."""
        total = self._closed()
        for session in self.sessions:
            total = total.plus(session.history.spend)
        return total.plus(self.elsewhere()) if self.elsewhere else total

    def close(self, session: Session) -> None:
        """Keep what a session used, and let go of its history."""
        self.sessions.remove(session)
        self.closed[:] = [self._closed().plus(session.history.spend)]

    def _closed(self) -> Spend:
        total = Spend()
        for spend in self.closed:
            total = total.plus(spend)
        return total


async def run_conversation(
    session: Session,
    label: str,
    brief: Callable[[], Brief],
    budgets: Sequence[Budget],
    *,
    title: str = "",
    steps: Steps | None = None,
) -> str:
    """Lead a conversation to its answer and return that; a finished one costs nothing.

    Raises `OutOfBudget`, `NeedsReview`, `WaitingForPerson` or another `Stop` when it can't.
    """
    steps = steps or AS_TASKS
    conversation = await session.converse(label, brief)
    tool_step.check_interrupted(session, conversation)
    prefix = f"{title} · " if title else ""
    recorded = await tool_step.take_staged(session, conversation)
    while (answer := conversation.answer) is None or conversation.handing_over:
        if conversation.refusal:
            raise refusal(session, conversation.refusal)
        if answer is not None:
            conversation = await succession.hand_over(session, conversation, answer)
            continue
        if conversation.open_calls and conversation.handing_over:
            # More results would fill what is left of the window.
            await tool_step.refuse_calls(session, conversation, HAND_OVER_DUE)
            await _guard(session, conversation, budgets)
        elif conversation.open_calls:
            await _run_calls(session, conversation, prefix, steps, recorded)
            recorded = set()
            continue
        if conversation.overflowed or conversation.unheeded >= NUDGES:
            conversation = await _after_overflow(session, conversation)
            continue
        if succession.is_stale(session, conversation):
            conversation = await succession.move(session, conversation)
        await _guard(session, conversation, budgets)
        step = session.history.spend.steps + 1
        tell(
            "step",
            session.job,
            f"{prefix}step {step}",
            tier=conversation.opening.tier,
            spend=budgets[-1].spend().model_dump(),
            left=conversation.left,
        )
        try:
            await steps.ask_model(session, conversation, f"{prefix}step {step}: ask the model")
        except ContextOverflow as error:
            conversation = await _shortened(session, conversation, error)
    return answer


async def _shortened(
    session: Session, conversation: Conversation, error: ContextOverflow
) -> Conversation:
    """Go on after the server found the history too long; not when it can't be made shorter."""
    numbers = error.numbers
    exact = numbers.unit == "tokens" and not numbers.at_least and conversation.most_output is None
    if exact and numbers.used and numbers.limit and numbers.reserved:
        left = numbers.limit - numbers.used
        if MIN_OUTPUT <= left < numbers.reserved:
            # The history fits: only what is kept for the output does not.
            await session.append([Draft("limit", {"max_output": left}, (), conversation.number)])
            return conversation
    if conversation.reply is None or (conversation.replies == 1 and conversation.futile >= FUTILE):
        raise error
    window = error.limit or conversation.codec.profile.context_window or conversation.tokens
    return await succession.cut_off(session, conversation, int(window / 4))


async def _after_overflow(session: Session, conversation: Conversation) -> Conversation:
    """Go on after a reply that filled the window; not when the fresh start was no help."""
    if conversation.why == "overflow" and not conversation.repeats:
        raise ContextOverflow(
            "The model's replies fill its whole context window, though the work began anew in a "
            "fresh one.",
            "Ask for less at once, or ask anew with a larger model.",
        )
    window = conversation.codec.profile.context_window or conversation.tokens
    return await succession.cut_off(session, conversation, max(MIN_OUTPUT, int(window / 4)))


async def _run_calls(
    session: Session, conversation: Conversation, prefix: str, steps: Steps, recorded: set[int]
) -> None:
    step = session.history.spend.steps
    calls = [(p, call) for p, call in conversation.open_calls if p not in recorded]
    runs = []
    for place, call in calls:
        tell("tool", session.job, f"{prefix}{call.name} {call.arguments[:80]}")
        name = f"{prefix}step {step}: {call.name}"
        runs.append(steps.run_tool(session, conversation, place, name))
    # Every call comes to its end before a failure of one is raised: none is left running.
    for outcome in await asyncio.gather(*runs, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome


def check_limits(job: str, budget: Budget) -> Spend:
    """What is spent. Raises `OutOfBudget` when a limit is reached."""
    spend = budget.spend()
    if reached := limits.exceeded(budget.limits, spend):
        raise OutOfBudget(
            f"The limit of {reached} is reached.",
            f"Raise it and go on: `deskwork resume {job}` with a larger limit (--max-steps, "
            "--max-tokens, --max-cost or --max-seconds); what is done stays done.",
        )
    return spend


async def _guard(session: Session, conversation: Conversation, budgets: Sequence[Budget]) -> None:
    """Stop, or tell the model something, before the next request is paid for."""
    for budget in budgets:
        spend = check_limits(session.job, budget)
        if spend.steps and (name := limits.near(budget.limits, spend)):
            if f"limit {name}" not in conversation.told:
                tell("trouble", session.job, f"near the limit of {name}: told to conclude")
            await _tell_once(
                session,
                conversation,
                f"limit {name}",
                f"You are near this job's limit of {name}. Conclude now: give your final answer "
                "from what you have, and say what is missing.",
            )
    name, count = conversation.most_repeated
    if count >= REPEATS_STOP:
        raise NeedsReview(
            f"The model made the same call of {name} {count} times, though told that it repeats "
            "itself.",
            f"Look at `deskwork show {session.job}`; fork it at an earlier entry to go on.",
        )
    if count >= REPEATS_TOLD:
        await _tell_once(
            session,
            conversation,
            "repeats",
            f"You have called {name} with the same arguments {count} times and its result does "
            "not change. Go on with what it said, or try something else.",
        )
    again = conversation.reply is None or (
        conversation.replies == 1 and conversation.futile >= FUTILE
    )
    if conversation.is_full and conversation.why == "window" and again:
        raise ContextOverflow(
            f"The question and the hand-over alone fill the model's window of "
            f"{conversation.codec.profile.context_window} tokens.",
            "Ask for less at once, or go on with a larger model (`deskwork resume JOB --model M`).",
        )
    if conversation.is_full and conversation.reply and not conversation.handing_over:
        await session.say(conversation, succession.HAND_OVER_ASKED, HAND_OVER)
    if conversation.nudges >= NUDGES:
        raise Stop(
            f"The model gave {conversation.nudges} empty or cut replies in a row.",
            "Run the same command again later, or ask anew with another model.",
        )


async def _tell_once(session: Session, conversation: Conversation, why: str, text: str) -> None:
    if why not in conversation.told:
        await session.say(conversation, text, why)
