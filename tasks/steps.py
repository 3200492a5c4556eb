"""The steps as Prefect tasks. They stand directly under a flow, take a plain session and small
values, write to the journal themselves, and return nothing: the journal is the truth, the task
runs are what a person sees.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.task_engine import run_task_async
from prefect.utilities.callables import get_call_parameters

from deskwork.tasks import model_step, tool_step
from deskwork.tasks.conversation import Conversation
from deskwork.tasks.retries import DEFAULT_RETRIES
from deskwork.tasks.session import Session
from deskwork.tools.errors import Transient

if TYPE_CHECKING:
    from deskwork.tasks.delivery.step import Delivery

DELIVERY_PAUSES = (2.0, 10.0, 30.0)
"""Seconds between the tries of a delivery that surely failed; later, `deskwork resume` tries."""


async def _may_pass(task: Any, task_run: Any, state: Any) -> bool:
    """True for failures that may pass: the next attempt waits until the time in the journal."""
    return isinstance(await state.aresult(raise_on_failure=False), Transient)


@task(
    name="ask the model",
    task_run_name="{name}",
    retries=len(DEFAULT_RETRIES.pauses),
    retry_delay_seconds=0,
    retry_condition_fn=_may_pass,
    cache_policy=NO_CACHE,
    persist_result=False,
)
async def ask_model(session: Session, conversation: Conversation, name: str) -> None:
    """One model call, recorded before the task ends."""
    await model_step.ask(session, conversation)


@task(name="run a tool", task_run_name="{name}", cache_policy=NO_CACHE, persist_result=False)
async def run_tool(session: Session, conversation: Conversation, place: int, name: str) -> None:
    """One tool call of the last reply, recorded before the task ends."""
    call = conversation.reply.calls[place] if conversation.reply else None
    assert call is not None  # the loop runs only calls it just read from the history
    await tool_step.run_call(session, conversation, place, call)


@task(
    name="deliver the report",
    task_run_name="{name}",
    retries=len(DELIVERY_PAUSES),
    retry_delay_seconds=list(DELIVERY_PAUSES),
    retry_condition_fn=_may_pass,
    cache_policy=NO_CACHE,
    persist_result=False,
)
async def deliver_report(session: Session, delivery: Delivery, name: str) -> None:
    """One delivery, recorded before it begins and when it has ended."""
    # Most jobs deliver nothing, and it brings all that reports are made with.
    from deskwork.tasks.delivery.step import deliver

    await deliver(session, delivery)


class Steps(NamedTuple):
    """How the loop runs its steps."""

    ask_model: Callable[[Session, Conversation, str], Awaitable[None]]
    run_tool: Callable[[Session, Conversation, int, str], Awaitable[None]]
    deliver: Callable[[Session, Delivery, str], Awaitable[None]]


async def _at_once(step: Any, *args: Any) -> None:
    """Run a task of this module. Its run is made here, so that it begins with Running.

    Prefect would announce each as Pending first, a tenth of a millisecond earlier: an event to
    send, and a row in the server's database, for a third of all that a step costs there.
    """
    parameters = get_call_parameters(step.fn, args, {})
    run = await step.create_local_run(parameters=parameters)
    await run_task_async(step, task_run=run, parameters=parameters)


AS_TASKS = Steps(
    partial(_at_once, ask_model), partial(_at_once, run_tool), partial(_at_once, deliver_report)
)
"""Each step a Prefect task, under the flow that runs."""

PLAIN = Steps(ask_model.fn, run_tool.fn, deliver_report.fn)
"""The same steps as plain calls, for tests of the logic that need no server."""
