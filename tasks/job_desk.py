"""What a job's tools may reach: its documents, what it fetched, its evidence, the web."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import partial

from deskwork.tasks.blobs import Blobs
from deskwork.tools.collection import Collection
from deskwork.tools.errors import NotFound, ToolError
from deskwork.tools.figures import Figure
from deskwork.tools.sources import Source
from deskwork.tools.tool import Evidence
from deskwork.tools.web.access import Web
from deskwork.tools.workspace.options import Workspace


class JobDesk:
    """A job's desk. ``evidence`` and ``sources`` are its history's own, and grow with it.

    What was fetched is a document as soon as its entry is recorded, the same way live and on
    resume: from the recorded sources and their blobs, with nothing fetched again.
    """

    def __init__(
        self,
        collection: Collection,
        evidence: Mapping[str, Evidence],
        blobs: Blobs,
        sources: Sequence[Source] = (),
        web: Web | None = None,
        figures: Mapping[str, Figure] | None = None,
        workspace: Workspace | None = None,
    ) -> None:
        self._collection = collection
        self._evidence = evidence
        self._blobs = blobs
        self._sources = sources
        self._figures = figures
        self._web = web
        self._workspace = workspace
        self._taken = 0
        self._taking = threading.Lock()

    @property
    def collection(self) -> Collection:
        """The documents of the job, the fetched ones last."""
        with self._taking:
            fetched = list(self._sources[self._taken :])
            self._collection = with_sources(self._collection, fetched, self._blobs)
            self._taken += len(fetched)
            return self._collection

    @property
    def web(self) -> Web:
        """Search and fetch on the web. Raises `ToolError` for a job without it."""
        if self._web is None:
            raise ToolError("This job has no web.", "Use its documents.")
        return self._web

    @property
    def workspace(self) -> Workspace:
        """The folder in which programs may run. Raises `ToolError` for a job without one."""
        if self._workspace is None:
            raise ToolError("This job has no workspace.", "Use its other tools.")
        return self._workspace

    def evidence(self, evidence_id: str) -> Evidence | None:
        """The recorded evidence with this id, or None."""
        return self._evidence.get(evidence_id)

    def figure(self, figure_id: str) -> Figure | None:
        """The bound figure with this id, or None."""
        return (self._figures or {}).get(figure_id)

    def stored(self, name: str) -> bytes:
        """A stored result by its hash. Raises `NotFound`."""
        if len(name) != 64 or not set(name) <= set("0123456789abcdef"):
            raise NotFound(f"There is no stored result {name!r}.")
        return self._blobs.get(name)


def with_sources(collection: Collection, sources: Sequence[Source], blobs: Blobs) -> Collection:
    """A collection that has recorded sources as well, their bytes taken from the blobs."""
    for source in sources:
        collection = collection.with_source(source, partial(blobs.get, source.sha256))
    return collection
