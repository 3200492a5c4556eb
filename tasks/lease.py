"""Who holds a job: one runner at a time, by a lease that a dead process can't keep.

A lease is renewed by a thread while its holder lives. It is free at once when the holder was a
process of this machine that no longer runs, and by lapse otherwise, within a minute of a kill.
"""

from __future__ import annotations

import contextlib
import functools
import os
import secrets
import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from deskwork.tasks.encoding import dumps, loads
from deskwork.tasks.processes import Process, boot_id
from deskwork.tools.errors import DeskworkError

if TYPE_CHECKING:
    from deskwork.tasks.journal import Journal

LEASE_SECONDS = 45.0
RENEW_SECONDS = 12.0


def new_holder() -> str:
    """A token for one runner of one job; two runners in one process differ too."""
    return secrets.token_hex(8)


def this_place() -> str:
    """Where this process runs: machine and boot, process id and start time, as JSON text."""
    return place_of(os.getpid())


def place_of(pid: int) -> str:
    """Where a process of this machine runs, as `this_place`."""
    return dumps({"machine": _machine(), "pid": pid, "started": _started(pid)}).decode()


def is_dead(place: str | None) -> bool:
    """True when the place names a process of this very machine that runs no more."""
    if not place:
        return True
    holder = loads(place)
    if holder["machine"] != _machine():
        return False
    return bool(_started(holder["pid"]) != holder["started"])


def is_alive(place: str | None) -> bool:
    """True when the place names a process of this very machine that runs."""
    return bool(place) and loads(place or "")["machine"] == _machine() and not is_dead(place)


def _started(pid: int) -> str | None:
    """When the process that has this number now started, or None if none runs."""
    process = Process.of(pid)
    return process.started if process else None


@functools.cache
def _machine() -> str:
    """Host, boot and process-id namespace: process ids mean the same only within all three."""
    parts = [socket.gethostname(), boot_id()]
    with contextlib.suppress(OSError):
        parts.append(Path("/proc/self/ns/pid").readlink().as_posix())
    return " ".join(parts)


class LeaseKeeper:
    """Renews the leases of one journal from a thread of its own.

    The event loop may be busy for longer than a lease lasts; the thread isn't.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._held: dict[str, str] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()

    def keep(self, job: str, holder: str) -> None:
        """Renew this lease until `drop`."""
        with self._lock:
            self._held[holder] = job
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="leases", daemon=True)
                self._thread.start()

    def drop(self, holder: str) -> None:
        """Stop renewing."""
        with self._lock:
            self._held.pop(holder, None)

    def _run(self) -> None:
        while not self._wake.wait(RENEW_SECONDS):
            with self._lock:
                held = dict(self._held)
            for holder, job in held.items():
                try:
                    self._journal.renew(job, holder)
                except DeskworkError:
                    # The next append meets the same trouble and reports it where it counts.
                    continue
