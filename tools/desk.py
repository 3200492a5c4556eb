"""What tools reach when they run: the job's documents, and the evidence it has so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from deskwork.tools.errors import NotFound, ToolError
from deskwork.tools.figures import Figure
from deskwork.tools.library import Collection
from deskwork.tools.tool import Evidence
from deskwork.tools.web.access import Web
from deskwork.tools.workspace.options import Workspace


@dataclass(frozen=True)
class DocumentDesk:
    """A `Desk` over a collection and a mapping of evidence by id, with the web or without."""

    collection: Collection
    recorded: Mapping[str, Evidence] = field(default_factory=dict)
    online: Web | None = None
    bound: Mapping[str, Figure] = field(default_factory=dict)

    @property
    def web(self) -> Web:
        """The web. Raises `ToolError` where there is none."""
        if self.online is None:
            raise ToolError("The web can't be reached from here.", "Use the documents.")
        return self.online

    @property
    def workspace(self) -> Workspace:
        """None: a workspace is a job's. Raises `ToolError`."""
        raise ToolError("There is no workspace outside a job.", "Ask with --workspace.")

    def evidence(self, evidence_id: str) -> Evidence | None:
        """The recorded evidence with this id, or None."""
        return self.recorded.get(evidence_id)

    def figure(self, figure_id: str) -> Figure | None:
        """The bound figure with this id, or None."""
        return self.bound.get(figure_id)

    def stored(self, name: str) -> bytes:
        """Nothing: results are stored with jobs. Raises `NotFound`."""
        raise NotFound(f"There is no stored result {name!r}.")
