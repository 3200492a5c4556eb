"""One tool call: run it, record its result; results stand in the history in call order.

Calls of one reply run side by side. A result that is ready before an earlier call's is recorded
apart and moves into the history when its turn comes, so that a kill loses only what still ran.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from deskwork.tasks import faults, telemetry
from deskwork.tasks.conversation import Conversation
from deskwork.tasks.encoding import clean, loads
from deskwork.tasks.entries import Draft
from deskwork.tasks.protocol import ImageRef
from deskwork.tasks.replies import ToolCall, inner_object
from deskwork.tasks.session import Session
from deskwork.tasks.states import WaitingForPerson
from deskwork.tools.errors import BadFile, DeskworkError, Stop, ToolError, WebError
from deskwork.tools.tool import Tool, ToolResult, WrongArguments

HEAD_CHARACTERS = 40_000
"""A tool result over this size is stored as a blob; the model sees its head."""

ERROR_CHARACTERS = 500
"""So much of an error is kept with the entry, for a report that lists what was tried."""

_TRY = "Check the arguments, or try another way."


async def run_call(
    session: Session, conversation: Conversation, place: int, call: ToolCall
) -> None:
    """Run one call of the last reply and record its result."""
    turn = conversation.turn
    tool = session.tools.get(call.name)
    decision = session.history.decisions.get((turn, place), {})
    if tool and not tool.repeatable and "result" not in decision:
        async with session.appending:
            await asyncio.to_thread(session.writer.start_call, turn, place)
    began = time.monotonic()
    with telemetry.tool_call(call.name, call.id, call.arguments) as span:
        result, outcome = await _result(session, tool, call, decision)
        span.ended(outcome, result.text)
    meta: dict[str, Any] = {
        "name": call.name,
        "place": place,
        "seconds": round(time.monotonic() - began, 3),
    }
    if outcome != "ok":
        meta["outcome"] = outcome
    if result.is_error:
        meta["error"] = clean(result.text[:ERROR_CHARACTERS])
    if result.evidence:
        meta["evidence"] = [asdict(item) for item in result.evidence]
    if result.figures:
        meta["figures"] = [figure.as_json() for figure in result.figures]
    if result.charts:
        meta["charts"] = [chart.as_json() for chart in result.charts]
    if result.workspace:
        meta["workspace"] = dict(result.workspace)
    if result.sources:
        meta["sources"] = [source.as_json() for source in result.sources]
    # Fitting a picture or storing a long text takes long enough to let others run meanwhile.
    small = not (result.images or result.sources) and len(result.text) <= HEAD_CHARACTERS
    make = (session, conversation, call, result, meta)
    draft = _draft(*make) if small else await asyncio.to_thread(_draft, *make)
    faults.point("before-result")
    async with session.appending:
        await _record(session, conversation, place, draft)
    faults.point("result-recorded")


async def _result(
    session: Session, tool: Tool | None, call: ToolCall, decision: dict[str, Any]
) -> tuple[ToolResult, str]:
    """The result, and how the call went: ok, decided, or the kind of failure."""
    if "result" in decision:
        text = decision["result"]
        given_up = text.startswith("Error:")
        return ToolResult(text=text, is_error=given_up), "given_up" if given_up else "decided"
    if tool is None:
        names = ", ".join(sorted(session.tools)) or "none"
        text = f"unknown tool {call.name!r}. Available: {names}."
        return ToolResult(text=text, is_error=True), "unknown_tool"
    try:
        arguments = _arguments(call.arguments)
    except ValueError as error:
        text = (
            f"the arguments of {call.name} are not a JSON object ({error}). "
            f"They were: {call.arguments[:2000]}"
        )
        return ToolResult(text=text, is_error=True), "invalid_json"
    assert session.desk is not None  # a session that runs tools was given one
    try:
        result = await tool.run(arguments, session.desk)
    except WrongArguments as error:
        # What was encoded twice and doesn't fit went back as {}: the model sees here what it wrote.
        wrote = f" They were: {call.arguments[:2000]}" if inner_object(call.arguments) else ""
        return ToolResult(text=f"{error}{wrote}", is_error=True), "schema_error"
    except TimeoutError as error:
        text = f"{call.name} ran out of time: {error or 'no further word'}"
        return ToolResult(text=text, is_error=True), "timeout"
    except WebError as error:
        return ToolResult(text=str(error), is_error=True), error.kind
    except ToolError as error:
        return ToolResult(text=str(error), is_error=True), "error"
    except Stop:
        raise
    except Exception as error:  # noqa: BLE001 - any fault of a tool is told to the model
        text = f"{call.name} failed: {error}"
        if not isinstance(error, DeskworkError):
            text = f"{call.name} failed: {type(error).__name__}: {error}. {_TRY}"
        return ToolResult(text=text, is_error=True), "error"
    return result, "error" if result.is_error else "ok"


def _arguments(text: str) -> dict[str, Any]:
    # Several servers send an object encoded twice.
    value = loads(inner_object(text) or text or "{}")
    if not isinstance(value, dict):
        raise ValueError("they are no object")
    return value


def _draft(
    session: Session,
    conversation: Conversation,
    call: ToolCall,
    result: ToolResult,
    meta: dict[str, Any],
) -> Draft:
    # Before the entry that names it: what is on record has its bytes.
    for data in (*(one.data for one in result.sources), *(one.png for one in result.charts)):
        session.blobs.put(data)
    images, notes = _fitted(session, call.name, result.images)
    text = clean("\n\n".join([result.text, *notes]))
    if result.is_error and not text.startswith("Error:"):
        text = f"Error: {text}"
    if len(text) > HEAD_CHARACTERS:
        stored = session.blobs.put(text.encode())
        meta["spilled"] = stored
        text = (
            f"{text[:HEAD_CHARACTERS]}\n\n[The result has {len(text):,} characters; these are "
            f"the first {HEAD_CHARACTERS:,}. read_result with result {stored!r} and "
            f"offset {HEAD_CHARACTERS} reads on.]"
        )
    if images:
        meta["images"] = [[image.sha256, image.media_type] for image in images]
    body = conversation.codec.result(call.id, text, images, is_error=result.is_error)
    return Draft("tool", meta, body, conversation.number)


def _fitted(
    session: Session, name: str, pictures: Sequence[bytes]
) -> tuple[list[ImageRef], list[str]]:
    """A result's pictures, stored, and what the model is told of those that are left out."""
    images: list[ImageRef] = []
    notes: list[str] = []
    for number, picture in enumerate(pictures, 1):
        try:
            parts = session.pictures(picture, f"Picture {number} of {name}")
        except BadFile as error:
            parts = [f"[{error} It is left out.]"]
        images += [part for part in parts if isinstance(part, ImageRef)]
        notes += [part for part in parts if isinstance(part, str)]
    return images, notes


async def _record(session: Session, conversation: Conversation, place: int, draft: Draft) -> None:
    turn = conversation.turn
    missing = [index for index, _ in conversation.open_calls]
    if missing[0] != place:
        await asyncio.to_thread(session.writer.stage_call, turn, place, draft)
        return
    staged = await asyncio.to_thread(session.writer.open_calls, turn) if missing[1:] else {}
    await _append_in_order(session, conversation, {**staged, place: draft})


async def refuse_calls(session: Session, conversation: Conversation, why: str) -> None:
    """Answer all open calls with an error, running none."""
    async with session.appending:
        refused = ToolResult(text=why, is_error=True)
        ready: dict[int, Draft | None] = {
            place: _draft(
                session,
                conversation,
                call,
                refused,
                {"name": call.name, "place": place, "seconds": 0.0, "outcome": "refused"},
            )
            for place, call in conversation.open_calls
        }
        await _append_in_order(session, conversation, ready)


async def take_staged(session: Session, conversation: Conversation) -> set[int]:
    """Append results that were recorded out of turn before a kill, as far as order allows.

    Returns the places whose result is recorded and still waits for an earlier one.
    """
    async with session.appending:
        staged = await asyncio.to_thread(session.writer.open_calls, conversation.turn)
        await _append_in_order(session, conversation, staged)
        appended = conversation.answered
        return {place for place, draft in staged.items() if draft and place not in appended}


async def _append_in_order(
    session: Session, conversation: Conversation, ready: dict[int, Draft | None]
) -> None:
    missing = [index for index, _ in conversation.open_calls]
    drafts: list[Draft] = []
    for place in missing:
        draft = ready.get(place)
        if draft is None:
            break
        drafts.append(Draft("tool", draft.meta, draft.body, conversation.number))
    if not drafts:
        return
    done = [(conversation.turn, place) for place in missing[: len(drafts)]]
    if len(drafts) == len(missing):
        drafts += _pictures(conversation, drafts)
    await session.append_held(drafts, finished=done)


def _pictures(conversation: Conversation, drafts: Sequence[Draft]) -> list[Draft]:
    """The pictures of a turn's results, where the protocol wants them in a message apart."""
    pictures = list(conversation.pictures)
    for draft in drafts:
        pictures += [ImageRef(*image) for image in draft.meta.get("images", ())]
    body = conversation.codec.images_after_results(pictures)
    if body is None:
        return []
    return [Draft("user", {"why": "pictures", "joined": True}, body, conversation.number)]


def check_interrupted(session: Session, conversation: Conversation) -> None:
    """Raise `WaitingForPerson` when a call began, never ended, and must not run unasked."""
    begun = session.writer.begun(conversation.turn)
    for place, call in conversation.open_calls:
        if place not in begun:
            continue
        decision = session.history.decisions.get((conversation.turn, place))
        if decision is None or decision["at"] < begun[place]:
            raise WaitingForPerson(
                f"The call {call.name}({call.arguments[:200]}) began and its end was not "
                "recorded: it may or may not have happened.",
                f"Look, then: `deskwork answer {session.job} --run-again`, "
                "`--result TEXT` or `--give-up`.",
            )
