"""The flow `research` (work in progress)."""

from __future__ import annotations

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from deskwork.tasks.requests import ResearchRequest


@flow(name="research", persist_result=False)
async def research_flow(request: ResearchRequest) -> State[Any]:
    """Research a question over documents.

    Args:
        request: What to research, from which files, within which limits.
    """
    raise LookupError("not yet")
