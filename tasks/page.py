"""A job on the Prefect page: its name, and its answer as an artifact. For the eye only.

Whatever fails here isn't worth a job, and nothing waits for it longer than is fair.
"""

from __future__ import annotations

import asyncio
import contextlib
from uuid import UUID

LONGEST = 10.0
"""Seconds after which the page is left as it is."""


async def show_answer(flow_run: str | None, job: str, state: str, answer: str) -> None:
    """Name the run after its job and put the answer on its page."""
    if flow_run is None:
        return
    from prefect.artifacts import acreate_markdown_artifact
    from prefect.client.orchestration import get_client
    from prefect.runtime import flow_run as current

    text = f"**{job}: {state}**\n\n{answer}" if answer else f"**{job}: {state}**"
    key = "".join(c if c.isascii() and c.isalnum() else "-" for c in job.lower())
    with contextlib.suppress(Exception):
        async with asyncio.timeout(LONGEST):
            if current.name != job:
                async with get_client() as client:
                    await client.update_flow_run(UUID(flow_run), name=job)
            await acreate_markdown_artifact(text, f"answer-{key}", "What came of the job")
