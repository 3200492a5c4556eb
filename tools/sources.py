"""Sources: what was fetched, with where and when it came from, and the files of a collection."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

FIELDS = ("name", "url", "final_url", "sha256", "media_type", "retrieved", "size")
"""What a journal or an index keeps of a source."""


@dataclass(frozen=True)
class Source:
    """A snapshot of what stood under an address.

    ``url`` was asked for, ``final_url`` answered after redirects; ``retrieved`` is ISO 8601 in UTC;
    ``size`` is in bytes. ``name`` is what the model calls it. ``data`` holds the bytes where the
    source was just fetched; a recorded one has its bytes in a store, under ``sha256``.
    """

    name: str
    url: str
    final_url: str
    sha256: str
    media_type: str
    retrieved: str
    size: int
    data: bytes = field(default=b"", repr=False, compare=False)

    @classmethod
    def of(
        cls, data: bytes, *, name: str, url: str, final_url: str, media_type: str, retrieved: str
    ) -> Source:
        """The source of these bytes."""
        digest = hashlib.sha256(data).hexdigest()
        return cls(name, url, final_url, digest, media_type, retrieved, len(data), data)

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Source:
        """The source that `as_json` gave; it has no bytes."""
        return cls(**{name: row[name] for name in FIELDS})

    def as_json(self) -> dict[str, Any]:
        """Plain values, as the journal records them; the bytes are not among them."""
        return {name: getattr(self, name) for name in FIELDS}

    def called(self, name: str) -> Source:
        """The same source under another name."""
        return replace(self, name=name)


@dataclass(frozen=True)
class SourceFile:
    """One file of a collection. ``state`` is "ready", or "failed" with the ``reason``, a sentence.

    A file inside an archive has the archive's path; ``container`` is the archive's SHA-256, and
    ``before`` counts the archive's pages in front of its own. A fetched one has no path: ``load``
    gives its bytes, ``url`` and ``retrieved`` say where and when it came from.
    """

    name: str
    path: Path
    sha256: str
    kind: str
    pages: int
    state: str
    reason: str = ""
    document: int = 0
    container: str = ""
    before: int = 0
    url: str = ""
    retrieved: str = ""
    load: Callable[[], bytes] | None = field(default=None, repr=False, compare=False)

    @classmethod
    def ready(cls, name: str, path: Path, sha256: str, stored: tuple[int, str, int]) -> SourceFile:
        """An entry for a stored document (its id, kind and number of pages)."""
        return cls(name, path, sha256, stored[1], stored[2], "ready", document=stored[0])

    @classmethod
    def failed(cls, name: str, path: Path, sha256: str, reason: str) -> SourceFile:
        """An entry for a file that can't be read."""
        return cls(name, path, sha256, "", 0, "failed", reason)
