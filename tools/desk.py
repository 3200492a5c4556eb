"""What tools reach when they run: the job's documents, and the evidence it has so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from deskwork.tools.errors import NotFound
from deskwork.tools.library import Collection
from deskwork.tools.tool import Evidence


@dataclass(frozen=True)
class DocumentDesk:
    """A `Desk` over a collection and a mapping of evidence by id."""

    collection: Collection
    recorded: Mapping[str, Evidence] = field(default_factory=dict)

    def evidence(self, evidence_id: str) -> Evidence | None:
        """The recorded evidence with this id, or None."""
        return self.recorded.get(evidence_id)

    def stored(self, name: str) -> bytes:
        """Nothing: results are stored with jobs. Raises `NotFound`."""
        raise NotFound(f"There is no stored result {name!r}.")
