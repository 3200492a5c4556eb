"""What a home knows of its server: written by the server itself before anything slow begins."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deskwork.tasks.prefect_settings import prefect_version
from deskwork.tasks.processes import Process

HELD = 75  # exit code of a server that found another one serving the same home


@dataclass(frozen=True)
class ServerRecord:
    """The process that serves a home, or served it last."""

    process: Process
    port: int
    version: str

    @property
    def api_url(self) -> str:
        """Where its API is, or was."""
        return f"http://127.0.0.1:{self.port}/api"

    @property
    def ui_url(self) -> str:
        """Where its pages are, or were."""
        return f"http://127.0.0.1:{self.port}"

    def listens(self) -> bool:
        """Whether connections are taken. A server that starts refuses, one that hangs doesn't."""
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    @classmethod
    def of_this_process(cls, port: int) -> ServerRecord:
        """The record of the calling process as the server."""
        process = Process.of(os.getpid())
        assert process is not None, "the calling process lives"
        return cls(process, port, prefect_version())

    @classmethod
    def read(cls, path: Path) -> ServerRecord | None:
        """The last record; None if there is none or it is torn."""
        record = read_json(path)
        process = Process.from_record(record)
        try:
            return cls(process, int(record["port"]), str(record["version"])) if process else None
        except (KeyError, TypeError, ValueError):
            return None

    def write(self, path: Path) -> None:
        """Replace the record as a whole."""
        addresses = {"api_url": self.api_url, "ui_url": self.ui_url}
        body = {**self.process.record(), "port": self.port, "version": self.version, **addresses}
        write_json(path, body)


def read_json(path: Path) -> dict[str, Any]:
    """The object in a file; empty if there is none that can be read."""
    with contextlib.suppress(OSError, ValueError):
        value = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(value, dict):
            return value
    return {}


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Replace a file as a whole, so that no reader sees half of it."""
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    partial.write_text(json.dumps(value, indent=1), encoding="utf-8")
    partial.replace(path)
