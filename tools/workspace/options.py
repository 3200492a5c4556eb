"""What programs in a workspace may take, and what a workspace is to the tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class WorkspaceOptions:
    """The settings of the workspace; each bound is for one call.

    ``enabled``: jobs have one though nobody said so with the job. ``seconds`` is wall time,
    ``memory_bytes`` the address space of one process
    and the memory of all together, ``processes`` their number, threads
    counted. ``file_bytes`` bounds one file, ``total_bytes`` and ``files`` what is kept,
    ``output_bytes`` what it prints.
    """

    enabled: bool = False
    seconds: float = 120.0
    memory_bytes: int = 2_000_000_000
    processes: int = 128
    file_bytes: int = 100_000_000
    total_bytes: int = 300_000_000
    files: int = 2_000
    output_bytes: int = 5_000_000


class Workspace(Protocol):
    """A job's workspace: its files by content. The folder itself lives for one call."""

    @property
    def options(self) -> WorkspaceOptions:
        """What programs may take."""

    @property
    def files(self) -> Mapping[str, str]:
        """Path → SHA-256 of every file as the calls of earlier replies left them."""

    @property
    def scratch(self) -> Path:
        """A folder of this machine in which folders of calls are made."""

    def load(self, sha256: str) -> bytes:
        """A kept file's bytes."""

    def keep(self, data: bytes) -> str:
        """Keep a file's bytes; the answer is their SHA-256."""
