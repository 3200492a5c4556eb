"""One model call: send the conversation, record the reply, and only then do anything else."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Any

from deskwork.tasks import faults, telemetry
from deskwork.tasks.cache_watch import watch
from deskwork.tasks.conversation import OVERFLOW, Conversation
from deskwork.tasks.encoding import dumps, loads
from deskwork.tasks.endpoint import NotReachable
from deskwork.tasks.entries import Draft
from deskwork.tasks.model_errors import BrokenStream, Unavailable
from deskwork.tasks.progress import tell
from deskwork.tasks.replies import Reply, inner_object
from deskwork.tasks.session import Session, user_draft
from deskwork.tasks.settings import Price
from deskwork.tools.errors import Stop
from deskwork.tools.tool import WrongArguments

CONTINUE_EMPTY = "Please continue."
CONTINUE_CUT = "Your answer was cut by the output limit. Continue exactly where it stopped."

THOUGHT_ALL = "budget_exhausted_in_thinking"
_STATUSES = {
    THOUGHT_ALL: "The thinking used up the whole output limit; asking again with a larger one.",
    OVERFLOW: "The reply filled the context window and was cut.",
}


class ModelRefused(Stop):
    """The model declined to answer."""


async def ask(session: Session, conversation: Conversation) -> None:
    """Send the conversation and record the reply.

    Raises `Unavailable` after an outage, once the time of the next try is recorded; `Stop` when
    trying again can't help.
    """
    await _wait_until_allowed(session)
    body = conversation.request()
    began = time.monotonic()
    lost = 0
    faults.point("before-request")
    opening = conversation.opening
    try:
        with telemetry.model_call(
            session.endpoint.codec.profile,
            opening.model,
            opening.tier,
            f"{session.job}/{conversation.number}",
            conversation.max_output,
        ) as call:

            def trouble(error: Unavailable, wait: float) -> None:
                nonlocal lost
                if not error.shared:
                    lost += isinstance(error, BrokenStream)
                    call.failed_attempt(error, wait)
                _trouble(session, error, wait)

            reply = await session.endpoint.ask(body, trouble)
            call.answered(reply)
    except Unavailable as error:
        if isinstance(error, NotReachable) and not session.history.spend.steps:
            # Nothing ever answered there: most likely a wrong address, so don't wait long.
            raise Stop(error.message, error.hint) from error
        await _postpone(session, error)
        raise
    faults.point("after-reply")
    await _record(session, conversation, reply, time.monotonic() - began, lost)
    faults.point("reply-recorded")


async def _record(
    session: Session, conversation: Conversation, reply: Reply, seconds: float, lost: int
) -> None:
    usage = reply.usage.as_json() if reply.usage else None
    meta: dict[str, Any] = {
        "finish": reply.finish,
        "seconds": round(seconds, 3),
    }
    if reply.raw_finish != session.endpoint.codec.usual_finish.get(reply.finish):
        meta["raw_finish"] = reply.raw_finish
    if usage is not None:
        meta["usage"] = usage
    if lost:
        # Attempts whose reply broke off: they were paid for, and nobody says how much.
        meta["lost"] = lost
    price = session.settings.prices.get(session.settings.model)
    if price and usage is not None:
        meta["cost"] = cost_of(price, usage)
    before = conversation.usage
    if status := _status(reply):
        meta["status"] = status
    drafts = _drafts(conversation, reply, meta, _repaired(session, reply))
    await session.append(drafts, reply=_as_kept(conversation, reply))
    if status:
        tell("trouble", session.job, _STATUSES[status])
    await watch(session, conversation, before)
    await _note_loss(session, conversation, reply)
    if reply.finish == "refused":
        raise refusal(session, reply.refusal or reply.raw_finish)


async def _note_loss(session: Session, conversation: Conversation, reply: Reply) -> None:
    """Record once a conversation that its server takes no thinking back."""
    profile, name = conversation.codec.profile, f"thinking lost {conversation.number}"
    if profile.protocol != "chat" or profile.reads_thinking or not reply.thinking:
        return
    if name not in session.history.notes:
        await session.note(name, profile=profile.name, why="the server refuses the field")
        tell(
            "trouble",
            session.job,
            f"Servers of the profile {profile.name} refuse earlier thinking, so it is kept in the "
            "journal and not sent back.",
        )


def refusal(session: Session, why: str) -> ModelRefused:
    """The error for a refusal, when it comes and when the job is run again after it."""
    return ModelRefused(
        f"The model refused to answer: {why}.",
        f"Fork the job at an earlier entry (`deskwork fork {session.job} --at N`) "
        "or ask in other words.",
    )


def _as_kept(conversation: Conversation, reply: Reply) -> Reply | None:
    # Calls must bear their wire ids; reading them back is cheap and can't differ from a resume.
    return None if reply.calls else reply


def _status(reply: Reply) -> str | None:
    """The name of what cut a reply, where it is more than the output limit."""
    if reply.finish != "length":
        return None
    if reply.raw_finish == "model_context_window_exceeded":
        return OVERFLOW
    return THOUGHT_ALL if reply.thinks and not reply.calls and not reply.text.strip() else None


def _repaired(session: Session, reply: Reply) -> dict[int, str]:
    """By place, the objects that were encoded twice and that their tools take."""
    found: dict[int, str] = {}
    for place, call in enumerate(reply.calls):
        inner, tool = inner_object(call.arguments), session.tools.get(call.name)
        if inner and tool:
            with contextlib.suppress(WrongArguments):
                tool.check(loads(inner))
                found[place] = inner
    return found


def _drafts(
    conversation: Conversation, reply: Reply, meta: dict[str, Any], repaired: dict[int, str]
) -> list[Draft]:
    """What a reply adds: itself, or a record that it was thrown away, and what follows."""
    number = conversation.number
    cut = reply.finish == "length"
    if reply.finish == "refused" or (cut and (reply.calls or not reply.text.strip())):
        if conversation.max_output:
            meta["max_output"] = conversation.max_output
        if reply.refusal:
            meta["refusal"] = reply.refusal
        if reply.calls:
            meta["not_run"] = [call.name for call in reply.calls]
        return [Draft("discarded", meta, (dumps(reply.message),), number)]
    empty = reply.finish == "answer" and not reply.text.strip()
    encoded = conversation.codec.assistant(reply, conversation.fresh_id, repaired)
    if (empty and not reply.thinking) or not encoded.body:
        # Nothing was said, or nothing that the server would take back.
        return [
            Draft("discarded", {**meta, "empty": True}, (dumps(reply.message),), number),
            user_draft(conversation, CONTINUE_EMPTY, "empty"),
        ]
    if encoded.received:
        meta["received"] = encoded.received
    if repaired:
        meta["repaired"] = sorted(repaired)
    drafts = [Draft("assistant", meta, (encoded.body,), number)]
    if empty:
        drafts.append(user_draft(conversation, CONTINUE_EMPTY, "empty"))
    elif cut and meta.get("status") != OVERFLOW:
        drafts.append(user_draft(conversation, CONTINUE_CUT, "cut"))
    return drafts


async def _wait_until_allowed(session: Session) -> None:
    wait = session.history.not_before - time.time()
    if wait > 0:
        note = session.history.notes["waiting"]
        if note.get("url", session.endpoint.url) != session.endpoint.url:
            return  # another server asked for that
        reason = note["reason"]
        tell(
            "trouble",
            session.job,
            f"{reason} Trying again in {wait:.0f} s; Ctrl-C is safe, the same command goes on.",
            wait=round(wait),
        )
        await asyncio.sleep(wait)


async def _postpone(session: Session, error: Unavailable) -> None:
    wait = session.endpoint.retries.pause(session.history.failed_attempts, error.retry_after)
    await session.note(
        "waiting", not_before=time.time() + wait, reason=error.message, url=session.endpoint.url
    )


def _trouble(session: Session, error: Unavailable, wait: float) -> None:
    text = f"{error.message} Trying again in {wait:.1f} s."
    tell("trouble", session.job, text, error=type(error).__name__, wait=round(wait, 1))


def cost_of(price: Price, usage: dict[str, int]) -> float:
    """The money for one reply: fresh input, input from the cache and into it, thinking, the rest.

    A part with no price of its own costs what its whole costs.
    """

    def rate(own: float | None, whole: float) -> float:
        return whole if own is None else own

    cached, written = usage.get("cache_read", 0), usage.get("cache_write", 0)
    # Some servers count the parts beside their whole.
    fresh = max(0, usage.get("input", 0) - cached - written)
    thought = usage.get("reasoning", 0)
    said = max(0, usage.get("output", 0) - thought)
    return (
        fresh * price.input
        + cached * rate(price.cached, price.input)
        + written * rate(price.cache_write, price.input)
        + thought * rate(price.reasoning, price.output)
        + said * price.output
    ) / 1e6
