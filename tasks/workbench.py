"""Everything of one home that a run needs: journal, blobs, library, and the model's endpoint."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx

from deskwork.tasks import faults
from deskwork.tasks.arrivals import with_origin
from deskwork.tasks.blobs import open_blobs
from deskwork.tasks.endpoint import Endpoint
from deskwork.tasks.job_desk import JobDesk
from deskwork.tasks.job_workspace import JobWorkspace
from deskwork.tasks.journal import Journal
from deskwork.tasks.progress import tell
from deskwork.tasks.protocol import open_codec
from deskwork.tasks.secrets import reveal
from deskwork.tasks.session import Session
from deskwork.tasks.settings import Settings, checked_key, load_settings
from deskwork.tools.library import Collection, Library
from deskwork.tools.library import Progress as Indexed
from deskwork.tools.web.access import Web

__all__ = ["JobDesk", "Workbench", "opened"]

BUILTIN_URL = "http://built-in/v1"
"""The address under which the model in this process is asked; nothing is looked up."""


class Workbench:
    """One home, opened. Close it when done; ``transport`` stands in for the network in tests."""

    def __init__(
        self, settings: Settings, *, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self.settings = settings
        self._transport = transport
        self.journal = Journal.open(settings.database_url, settings.home)
        self.blobs = open_blobs(settings.blobs_url, settings.home)

    @cached_property
    def library(self) -> Library:
        """The documents of this home."""
        return Library(self.settings.home, self.settings.reading)

    @cached_property
    def endpoint(self) -> Endpoint:
        """The model's endpoint, shared by all sessions of the run."""
        settings = self.settings
        transport = self._transport
        if settings.is_builtin and transport is None:
            from deskwork.tasks.extractive import ExtractiveModel

            transport = ExtractiveModel().transport()
        return Endpoint(
            settings.model_url or BUILTIN_URL,
            open_codec(settings.profile),
            settings.model_key,
            look_up=self._key if settings.key_at else None,
            transport=transport,
            idle_seconds=settings.idle_seconds,
            allowance=settings.allowance,
        )

    async def _key(self) -> str | None:
        place = self.settings.key_at
        assert place is not None
        return checked_key(await reveal(place, self.settings.home), str(place))

    @cached_property
    def web(self) -> Web:
        """The web, under this home's options. Which tools reach it is each job's own matter."""
        return Web(self.settings.web, self.settings.home)

    def desk(self, session: Session, collection: Collection) -> JobDesk:
        """What a job's tools may reach: these documents, and what the job fetched besides."""
        history = session.history
        scratch = self.settings.home / "workspaces"
        return JobDesk(
            collection,
            history.evidence,
            self.blobs,
            history.sources,
            self.web,
            history.figures,
            JobWorkspace(history, self.blobs, self.settings.workspace, scratch),
        )

    @property
    def is_local(self) -> bool:
        """True when the model lives in this process, with nothing to be asked about."""
        return self.settings.is_builtin or self._transport is not None

    def collect(self, paths: Sequence[Path], job: str, without: Sequence[Path] = ()) -> Collection:
        """The documents under these paths; what is new to the library is read, with progress."""

        def indexed(at: Indexed) -> None:
            faults.point("indexing")
            if at.new and at.file.state == "ready":
                tell("index", job, f"read {at.file.name}", done=at.done, total=at.total)

        found = self.library.collect(paths, indexed, without=without)
        return found.described(lambda file: with_origin(file, self.settings.home))

    async def close(self) -> None:
        """Close connections."""
        if "endpoint" in self.__dict__:
            await self.endpoint.close()
        self.journal.database.close()

    def recorded_settings(self) -> dict[str, Any]:
        """What a job's first entry keeps of the settings; no secret is among it."""
        profile = self.settings.profile
        own = {"own_profile": dict(profile.own)} if profile.own is not None else {}
        return {
            "model_url": self.settings.model_url,
            "model": self.settings.model,
            "protocol": profile.protocol,
            "profile": profile.name,
            **own,
            "schedule": self.settings.schedule.as_json(),
            "web": self.settings.web.recorded(),
            **({"workspace": True} if self.settings.workspace.enabled else {}),
            "deskwork": version("deskwork"),
        }


@contextlib.contextmanager
def opened() -> Iterator[Workbench]:
    """This machine's home, for a look at the record or a change of it."""
    bench = Workbench(load_settings())
    try:
        yield bench
    finally:
        bench.journal.database.close()
