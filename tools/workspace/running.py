"""Running a command in the sandbox, watched: time, memory, output, the folder's size.

The kernel bounds each process and their number. What they take together is watched from outside,
several times a second, and too much of it ends them all: killing the sandbox's first process
kills every other one.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from deskwork.tools.errors import ToolError
from deskwork.tools.workspace import seccomp
from deskwork.tools.workspace.box import Mounts, command_line
from deskwork.tools.workspace.files import size_of
from deskwork.tools.workspace.identity import Identity
from deskwork.tools.workspace.options import WorkspaceOptions

_TICK = 0.05
_SIZE_TICK = 0.5
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_RSS = 21
"""Place of a process's resident pages in /proc/PID/stat, behind its name."""


@dataclass(frozen=True)
class Ran:
    """How a command ended: its exit code, what it printed (both streams, in order), and the
    sentence of the limit that ended it, else "".
    """

    code: int
    output: bytes
    stopped: str = ""


def run_boxed(
    argv: list[str], mounts: Mounts, options: WorkspaceOptions, identity: Identity
) -> Ran:
    """Run a command in the sandbox to its end. Raises `ToolError` where there can be no sandbox."""
    status_read, status_write = os.pipe()
    filtered = _pipe_of(seccomp.program())
    try:
        process = subprocess.Popen(
            command_line(argv, mounts, options, identity, status_write, filtered),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # The sandbox's first process shows its environment to the others.
            env={"PATH": os.defpath},
            pass_fds=[status_write, *([filtered] if filtered is not None else [])],
        )
    except BaseException:
        os.close(status_read)
        raise
    finally:
        os.close(status_write)
        if filtered is not None:
            os.close(filtered)
    watched = _Watched(process, status_read, mounts.workspace, options)
    try:
        return watched.to_end()
    finally:
        watched.kill()
        os.close(status_read)


def _pipe_of(data: bytes) -> int | None:
    """A descriptor from which these few bytes can be read; None where there are none."""
    if not data:
        return None
    read, write = os.pipe()
    os.write(write, data)  # it fits into a pipe's buffer
    os.close(write)
    return read


class _Watched:
    """A running sandbox."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        status: int,
        folder: Path,
        options: WorkspaceOptions,
    ) -> None:
        assert process.stdout is not None
        self._process, self._status, self._folder = process, status, folder
        self._out = process.stdout.fileno()
        self._options = options
        self._told = bytearray()
        self._output = bytearray()
        self._first: int | None = None

    def to_end(self) -> Ran:
        began = time.monotonic()
        looked = sized = began
        with selectors.DefaultSelector() as selector:
            for source in (self._out, self._status):
                os.set_blocking(source, False)
                selector.register(source, selectors.EVENT_READ)
            while selector.get_map():
                for key, _ in selector.select(_TICK):
                    piece = os.read(key.fd, 1 << 16)
                    if not piece:
                        selector.unregister(key.fd)
                    elif key.fd == self._out:
                        self._output += piece
                    else:
                        self._took(piece)
                now = time.monotonic()
                stopped = self._too_long(now - began)
                if not stopped and now - looked >= _TICK:
                    looked, stopped = now, self._too_much()
                if not stopped and now - sized >= _SIZE_TICK:
                    sized, stopped = now, self._too_large()
                if stopped:
                    self.kill()
                    return Ran(-signal.SIGKILL, bytes(self._output), stopped)
        self._process.wait()
        statuses = [json.loads(line) for line in self._told.splitlines() if line.strip()]
        codes = [row["exit-code"] for row in statuses if "exit-code" in row]
        if not codes:
            said = " ".join(self._output.decode(errors="replace").split())[:300]
            raise ToolError(
                f"The workspace's sandbox can't be started: {said or 'it gave no reason'}.",
                "A person must allow user namespaces on this machine (in a container as root: the "
                "capability SYS_ADMIN).",
            )
        stopped = self._too_large()
        return Ran(codes[0], bytes(self._output), stopped)

    def kill(self) -> None:
        """End every process of the sandbox. Safe to call twice."""
        if self._process.poll() is None:
            for pid in (self._first, self._process.pid):
                with contextlib.suppress(OSError):
                    if pid:
                        os.kill(pid, signal.SIGKILL)
            self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()

    def _took(self, piece: bytes) -> None:
        self._told += piece
        if self._first is None and b"\n" in self._told:
            self._first = json.loads(self._told.split(b"\n", 1)[0]).get("child-pid")

    def _too_long(self, seconds: float) -> str:
        if seconds > self._options.seconds:
            return f"it ran longer than {self._options.seconds:g} seconds"
        if len(self._output) > self._options.output_bytes:
            return f"it printed more than {self._options.output_bytes:,} bytes"
        return ""

    def _too_much(self) -> str:
        memory = resident(self._first) if self._first else 0
        if memory > self._options.memory_bytes:
            return f"it took more than {self._options.memory_bytes:,} bytes of memory"
        return ""

    def _too_large(self) -> str:
        count, size = size_of(self._folder, self._options.files)
        if count > self._options.files:
            return f"it left more than {self._options.files:,} files and folders"
        if size > self._options.total_bytes:
            return f"it left more than {self._options.total_bytes:,} bytes in files"
        return ""


def resident(first: int) -> int:
    """Resident bytes of a process and all below it. An orphan is the first one's child."""
    children: dict[int, list[int]] = {}
    pages: dict[int, int] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - many entries, many times a second
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 - as above
                fields = file.read().rpartition(b")")[2].split()
        except OSError:  # it ended meanwhile
            continue
        children.setdefault(int(fields[1]), []).append(int(name))
        pages[int(name)] = int(fields[_RSS])
    total = 0
    waiting = [first]
    while waiting:
        pid = waiting.pop()
        total += pages.get(pid, 0)
        waiting += children.get(pid, [])
    return total * _PAGE
