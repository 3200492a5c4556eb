"""What a running job tells whoever watches: small events, never document text or secrets."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from deskwork.tasks import logs


@dataclass(frozen=True)
class Progress:
    """One thing that happened. ``kind``: job, step, tool, trouble, index, publish, link."""

    kind: str
    job: str
    text: str
    data: dict[str, Any] = field(default_factory=dict)


watcher: ContextVar[Callable[[Progress], None] | None] = ContextVar("watcher", default=None)
"""Who watches the jobs of the current context; the command sets it."""


def tell(kind: str, job: str, text: str, **data: Any) -> None:
    """Tell the watcher, if there is one, and log it: of ``data`` what is safe, the text never."""
    logs.told(kind, job, data)
    watching = watcher.get()
    if watching:
        watching(Progress(kind, job, text, data))
