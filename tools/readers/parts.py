"""Files inside files: members of a ZIP, attachments of a message or of a PDF.

Each is read by the reader of its kind. Its pages follow those of the file it lies in, under its
name as title, and a row in ``metadata["parts"]`` accounts for it, also if it can't be read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from deskwork.tools.documents import Page
from deskwork.tools.errors import BadFile
from deskwork.tools.readers.source import Source


@dataclass
class Parts:
    """What was read of the files inside: their pages, their rows and warnings about them."""

    pages: list[Page] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """The names of the direct parts, in order."""
        return [row["file"] for row in self.rows if "within" not in row]


def read_parts(source: Source, files: Iterable[tuple[str, bytes]], first: int) -> Parts:
    """Read every inner file; the first page of them all gets the number ``first``."""
    from deskwork.tools.readers import inside

    parts = Parts()
    for name, data in files:
        row: dict[str, Any] = {
            "file": name,
            "kind": "",
            "bytes": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
            "state": "failed",
            "reason": "",
            "pages": None,
        }
        parts.rows.append(row)
        if not source.budget.take(len(data)):
            row["reason"] = f"{source.name} holds more than is opened of one file."
            parts.warnings.append(f"Not read: {name}: {row['reason']}")
            continue
        try:
            document = inside.read(source.inner(name, data))
        except BadFile as error:
            row["reason"] = str(error)
            parts.warnings.append(f"Not read: {error.message}")
            continue
        start = first + len(parts.pages)
        row |= {
            "kind": document.kind,
            "state": "ready",
            "pages": [start, start + len(document.pages) - 1],
        }
        parts.warnings += [f"{name}: {warning}" for warning in document.warnings]
        for inner in document.metadata.get("parts", []):
            span = inner["pages"] and [at + start - 1 for at in inner["pages"]]
            path = f"{name}/{inner['file']}"
            parts.rows.append({**inner, "file": path, "within": name, "pages": span})
        for page in document.pages:
            title = f"{name} · {page.title}" if page.title else name
            parts.pages.append(replace(page, number=start + page.number - 1, title=title))
    return parts
