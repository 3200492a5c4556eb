"""A process that outlives its starter, told apart from any later one that bears its number.

A process number alone names nothing: it is given out again, at the latest after a reboot. Number,
start time and boot together are unique, so a process that was written down can be ended safely.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

PROC = Path("/proc")

# Dropping a Popen whose child lives makes Python warn; these children live on by design.
_launched: list[subprocess.Popen[bytes]] = []


@dataclass(frozen=True)
class Process:
    """``started`` is the kernel's own start time (clock ticks on Linux, a date elsewhere)."""

    pid: int
    started: str
    boot: str

    @classmethod
    def of(cls, pid: int) -> Process | None:
        """The process that has this number now; None if there is none or it has ended."""
        started = _start_time(pid)
        return cls(pid, started, boot_id()) if started else None

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Process | None:
        """The process of a ``record()``; None if the record is torn."""
        try:
            return cls(int(record["pid"]), str(record["started"]), str(record["boot"]))
        except (KeyError, TypeError, ValueError):
            return None

    def record(self) -> dict[str, Any]:
        """The fields as JSON holds them."""
        return asdict(self)

    def lives(self) -> bool:
        """Whether this very process still runs; a zombie doesn't."""
        return Process.of(self.pid) == self

    def end(self, grace: float) -> None:
        """Ask it to end, and kill it after ``grace`` seconds. Does nothing if it is gone."""
        self._signal(signal.SIGTERM)
        if not until(lambda: not self.lives(), grace):
            self.kill()

    def kill(self) -> None:
        """Kill it and wait until it is gone."""
        self._signal(signal.SIGKILL)
        until(lambda: not self.lives(), 10)

    def _signal(self, number: signal.Signals) -> None:
        if self.lives():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)


def until(condition: Callable[[], bool], seconds: float, every: float = 0.05) -> bool:
    """Poll ``condition`` until it holds; False if it doesn't within ``seconds``."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= deadline:
            return False
        time.sleep(every)
    return True


def launch(
    argv: Sequence[str], env: Mapping[str, str], log: Path, cwd: Path
) -> subprocess.Popen[bytes]:
    """Start a process in a session of its own, so that no signal to the starter's group ends it.

    Its output is appended to ``log``; nothing else of the starter is inherited.
    """
    with log.open("ab") as output:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=dict(env),
            cwd=cwd,
            start_new_session=True,
        )
    _launched.append(process)
    return process


def bearing(variable: str, value: str) -> list[Process]:
    """Every process that was started with this environment variable, ancestors of none excepted.

    Finds what a dead parent left behind. Empty where the system has no ``/proc``.
    """
    mark = f"{variable}={value}".encode()
    found = []
    for folder in PROC.glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                process = Process.of(int(folder.name))
                if process and process.pid != os.getpid():
                    found.append(process)
    return found


@cache
def boot_id() -> str:
    """What changes with each boot of this machine."""
    with contextlib.suppress(OSError):
        return (PROC / "sys/kernel/random/boot_id").read_text().strip()
    return _output_of("sysctl", "-n", "kern.boottime")


def _start_time(pid: int) -> str:
    if (PROC / "self/stat").exists():
        try:
            text = (PROC / str(pid) / "stat").read_text()
        except OSError:
            return ""
        # The command's name stands in parentheses and may hold anything, parentheses too.
        fields = text.rpartition(")")[2].split()
        return "" if fields[0] in "ZX" else fields[19]
    state, _, started = _output_of("ps", "-o", "stat=,lstart=", "-p", str(pid)).partition(" ")
    return "" if state.startswith("Z") else started.strip()


def _output_of(*argv: str) -> str:
    result = subprocess.run(argv, capture_output=True, text=True, check=False)
    return result.stdout.strip()
