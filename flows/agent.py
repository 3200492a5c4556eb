"""The flow `ask`: one agent, from brief to answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from deskwork.flows.attending import attended
from deskwork.flows.loop import Budget, run_conversation
from deskwork.flows.prompts import ASK, ON_THE_WEB
from deskwork.flows.running import Run, partial
from deskwork.flows.sorting import budget_of
from deskwork.tasks.connected_tools import named_tools, offered_tools
from deskwork.tasks.printing import print_figures
from deskwork.tasks.requests import AskRequest
from deskwork.tasks.session import Brief
from deskwork.tasks.starts import read_image
from deskwork.tasks.states import NeedsReview, OutOfBudget
from deskwork.tools.selection import fitting_tools

LABEL = "ask"


@flow(name="ask", persist_result=False)
async def ask_flow(request: AskRequest) -> State[Any]:
    """Answer one question with a model that calls tools; resumable at every step.

    Args:
        request: What to ask, from which files, within which limits.
    """
    return await attended("ask", request, _work)


async def _work(run: Run) -> None:
    request, session = run.start["request"], run.session
    names = request["tools"]
    web = bool(request.get("web"))
    documents = bool(run.collection.files)
    filings = web and session.settings.web.with_filings
    programs = bool(request.get("workspace"))
    if names:
        tools = await named_tools(names, session.settings.connections)
    else:
        tools = fitting_tools(documents=documents, web=web, filings=filings, workspace=programs)
        tools += await offered_tools(session.settings.connections)
    session.tools = {tool.name: tool for tool in tools}

    def brief() -> Brief:
        images = tuple(read_image(Path(path)) for path in request["images"])
        text = request["question"] + (ON_THE_WEB if web and not names else "")
        return Brief(ASK, text, tuple(tools), tier, images)

    budget = Budget(session.history.limits, [session])
    try:
        tier = session.settings.schedule.tier("tool_turn", await budget_of(run, budget))
        said = await run_conversation(session, LABEL, brief, [budget], steps=run.steps)
        run.answer = print_figures(said, session.history.figures)
        unread = [file for file in run.collection.files if file.state != "ready"]
        if unread:
            listed = "\n".join(f"- {file.name}: {file.reason}" for file in unread)
            run.answer += f"\n\nFiles that could not be read:\n{listed}"
    except (OutOfBudget, NeedsReview) as error:
        conversation = session.history.conversations.get(LABEL)
        said = conversation.reply.text if conversation and conversation.reply else ""
        text = partial((conversation.partial if conversation else "") + said, error)
        run.answer = print_figures(text, session.history.figures)
        raise
