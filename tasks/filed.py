"""What came of one file of a document job: its row in the output, and what its child job keeps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from deskwork.tasks.extracted import Found
from deskwork.tools.collection import SourceFile


@dataclass
class Filed:
    """What came of one file. ``state``: done, needs review, failed, duplicate, password needed,
    unpacked (an archive) or not done; ``reason`` is a sentence for every other than done.
    """

    file: str
    state: str
    reason: str = ""
    kind: str = ""
    pages: int = 0
    sha256: str = ""
    documents: int = 0
    document_kinds: list[str] = field(default_factory=list)

    def row(self) -> dict[str, Any]:
        """The file's row in the output."""
        return {
            "file": self.file,
            "state": self.state,
            "reason": self.reason,
            "kind": self.kind,
            "pages": self.pages,
            "documents": self.documents,
            "document_kinds": self.document_kinds,
            "sha256": self.sha256,
        }

    @classmethod
    def of(cls, file: SourceFile, state: str, reason: str = "") -> Filed:
        """The row of an input file in a state."""
        return cls(file.name, state, reason, file.kind, file.pages, file.sha256)


def result(found: list[Found], problems: list[str]) -> dict[str, Any]:
    """Documents and the problems beside them, as plain values."""
    return {"found": [item.as_json() for item in found], "problems": problems}


def filled(filed: Filed, state: str, done: dict[str, Any]) -> Filed:
    """The row with what the file's job came to, as `result` keeps it."""
    found = [Found.from_json(row) for row in done["found"]]
    filed.documents = len(found)
    filed.document_kinds = sorted({item.kind for item in found if item.kind})
    problems = [*done["problems"], *(p for item in found for p in item.problems)]
    filed.state = state
    filed.reason = "" if state == "done" else "; ".join(problems[:3])
    if len(problems) > 3:
        filed.reason += f"; and {len(problems) - 3} more"
    return filed
