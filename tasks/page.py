"""A job's run on the Prefect page: its name and tags, where it stands, and what came of it.

For the eye only: whatever fails here isn't worth a job, and nothing waits for it longer than is
fair. An artifact is made once for a run and changed in place, also after a kill.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any
from uuid import UUID

if TYPE_CHECKING:
    from prefect.client.orchestration import PrefectClient

LONGEST = 10.0
"""Seconds after which the page is left as it is."""
FIRST_LOOK, RAREST_LOOK = 2.0, 30.0
"""Seconds between two looks at a running job: as few at its start, as many once it runs long."""


class Page:
    """The page of one flow run. Without a flow run, nothing is shown."""

    def __init__(self, flow_run: str | None, job: str) -> None:
        self.run = UUID(flow_run) if flow_run else None
        self.job = job
        self._shown: dict[str, tuple[UUID, Any]] = {}

    async def name(self, name: str, tags: list[str]) -> None:
        """Name the run, and add to its tags."""

        async def call(client: PrefectClient, run: UUID) -> None:
            known = await client.read_flow_run(run)
            tagged = list(dict.fromkeys([*known.tags, *tags]))
            await client.update_flow_run(run, name=name, tags=tagged)

        await self._guarded(call)

    async def show(self, what: str, kind: str, data: Any, description: str) -> None:
        """Show ``data`` under the key ``what`` and the job's id, in place of what stood there.

        ``kind`` is Prefect's: ``markdown`` (a text), ``table`` (JSON of a list of rows),
        ``progress`` (percent).
        """
        key = f"{what}-{_plain(self.job)}"
        if self._shown.get(key, (None, None))[1] == data:
            return

        async def call(client: PrefectClient, run: UUID) -> None:
            from prefect.client.schemas.actions import ArtifactCreate, ArtifactUpdate

            shown = self._shown.get(key)
            found = shown[0] if shown else await self._known(client, run, key)
            if found is None:
                made = ArtifactCreate(
                    key=key, type=kind, data=data, description=description, flow_run_id=run
                )
                found = (await client.create_artifact(made)).id
            else:
                changed = ArtifactUpdate(data=data, description=description)
                await client.update_artifact(found, changed)
            self._shown[key] = (found, data)

        await self._guarded(call)

    @contextlib.asynccontextmanager
    async def following(self, look: Callable[[], tuple[str, float | None]]) -> AsyncIterator[None]:
        """Show where the job stands for as long as this lasts.

        ``look`` is called in a thread of its own: the text, and how far the job is in percent,
        None where nobody knows.
        """
        task = asyncio.create_task(self._follow(look)) if self.run else None
        try:
            yield
        finally:
            if task:
                task.cancel()
                await asyncio.wait({task})

    async def _follow(self, look: Callable[[], tuple[str, float | None]]) -> None:
        pause = FIRST_LOOK
        while True:
            await asyncio.sleep(pause)
            pause = min(RAREST_LOOK, pause * 1.1)
            with contextlib.suppress(Exception):
                text, percent = await asyncio.to_thread(look)
                await self.show("progress", "markdown", text, "Where the job stands")
                if percent is not None:
                    await self.show("percent", "progress", percent, "How far the job is")

    async def _known(self, client: PrefectClient, run: UUID, key: str) -> UUID | None:
        """The artifact that this run has made under the key before it was killed."""
        from prefect.client.schemas.filters import (
            ArtifactFilter,
            ArtifactFilterFlowRunId,
            ArtifactFilterKey,
        )

        which = ArtifactFilter(
            key=ArtifactFilterKey(any_=[key]), flow_run_id=ArtifactFilterFlowRunId(any_=[run])
        )
        found = await client.read_artifacts(artifact_filter=which)
        return found[0].id if found else None

    async def _guarded(self, call: Callable[[PrefectClient, UUID], Awaitable[None]]) -> None:
        """Let it speak to the server, unless there is no run; errors and long waits end here."""
        if self.run is None:
            return
        from prefect.client.orchestration import get_client

        with contextlib.suppress(Exception):
            async with asyncio.timeout(LONGEST), get_client() as client:
                await call(client, self.run)


def _plain(job: str) -> str:
    """A job's id as an artifact's key takes it: lowercase letters, digits and dashes."""
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in job.lower())
