"""A workspace without a job, for tests: its files in memory."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from deskwork.tools.collection import Collection
from deskwork.tools.desk import DocumentDesk
from deskwork.tools.library import Library
from deskwork.tools.registry import default_tools
from deskwork.tools.tool import ToolResult
from deskwork.tools.workspace.identity import Identity
from deskwork.tools.workspace.options import WorkspaceOptions


def _why_not() -> str:
    if not shutil.which("bwrap"):
        return "bubblewrap is not installed (Debian: apt-get install bubblewrap)"
    tried = ["bwrap", *Identity.fresh().namespaces(), "--ro-bind", "/", "/", "true"]
    done = subprocess.run(tried, capture_output=True, text=True, check=False)
    return f"bubblewrap can't run here: {done.stderr.strip()}" if done.returncode else ""


needs_bwrap = pytest.mark.skipif(bool(_why_not()), reason=_why_not() or "it runs")


@dataclass
class MemoryWorkspace:
    """Files by content in a dictionary."""

    scratch: Path
    options: WorkspaceOptions = field(default_factory=lambda: WorkspaceOptions(seconds=30))
    files: dict[str, str] = field(default_factory=dict)
    kept: dict[str, bytes] = field(default_factory=dict)

    def load(self, sha256: str) -> bytes:
        return self.kept[sha256]

    def keep(self, data: bytes) -> str:
        name = hashlib.sha256(data).hexdigest()
        self.kept[name] = data
        return name

    def take(self, changed: Mapping[str, str | None]) -> None:
        for path, sha256 in changed.items():
            self.files.pop(path, None)
            if sha256:
                self.files[path] = sha256


@dataclass(frozen=True)
class BoxDesk(DocumentDesk):
    """A desk that has this workspace."""

    box: MemoryWorkspace | None = None

    @property
    def workspace(self) -> MemoryWorkspace:
        assert self.box is not None
        return self.box


class Box:
    """Runs the tools one after the other, as a job would."""

    def __init__(self, folder: Path, options: WorkspaceOptions | None = None) -> None:
        self.workspace = MemoryWorkspace(folder / "scratch")
        if options:
            self.workspace.options = options
        self.collection: Collection = Library(folder / "home").collect([])

    def _run(self, name: str, **arguments: Any) -> ToolResult:
        desk = BoxDesk(self.collection, box=self.workspace)
        result = asyncio.run(default_tools()[name].run(arguments, desk))
        self.workspace.take(result.workspace)
        assert not list(self.workspace.scratch.iterdir())
        return result

    def python(self, code: str) -> ToolResult:
        return self._run("run_python", code=code)

    def sh(self, command: str) -> ToolResult:
        return self._run("run_command", command=command)
