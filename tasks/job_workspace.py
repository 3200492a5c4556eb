"""A job's workspace: its files follow from the journal, their bytes are in the blobs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deskwork.tasks.blobs import Blobs
from deskwork.tasks.history import History
from deskwork.tools.errors import WrongUse
from deskwork.tools.workspace.options import WorkspaceOptions


class JobWorkspace:
    """What the tools of a job see of its workspace; ``scratch`` is a folder of this machine."""

    def __init__(
        self, history: History, blobs: Blobs, options: WorkspaceOptions, scratch: Path
    ) -> None:
        self._history = history
        self._blobs = blobs
        self.options = options
        self.scratch = scratch

    @property
    def files(self) -> Mapping[str, str]:
        """Path → SHA-256, as the calls of earlier replies left them."""
        return self._history.workspace

    def load(self, sha256: str) -> bytes:
        """A kept file's bytes."""
        return self._blobs.get(sha256)

    def keep(self, data: bytes) -> str:
        """Keep a file's bytes; the answer is their SHA-256."""
        return self._blobs.put(data)


def read_workspace(table: Any) -> WorkspaceOptions:
    """The options from their table. Raises `WrongUse` that says what it may hold."""
    usual = vars(WorkspaceOptions())
    try:
        options = WorkspaceOptions(**table)
        given = vars(options)
        wrong = type(given.pop("enabled")) is not bool
        whole = {name for name, value in usual.items() if type(value) is int}
        for name, value in given.items():
            wrong |= type(value) not in ((int,) if name in whole else (int, float)) or value <= 0
    except TypeError:
        wrong = True
    if wrong:
        numbers = ", ".join(name for name in usual if name != "enabled")
        raise WrongUse(
            "The table [workspace] in deskwork.toml is not of the right form.",
            f"It holds `enabled`, true or false, and numbers above 0: {numbers}.",
        )
    return WorkspaceOptions(**table)
