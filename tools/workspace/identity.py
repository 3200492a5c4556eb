"""As whom programs of a workspace run, so that the kernel itself bounds how many there are.

The kernel counts processes by user, and never root's. So where Deskwork runs as root, programs run
under a number that nobody else has; else in a user namespace, in which the count begins anew.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from pathlib import Path

_FIRST = 1_900_000_000  # far from what systems give to users and to containers
_COUNTED_APART = (5, 14)
"""The kernel from which on processes are counted for each user namespace."""


@dataclass(frozen=True)
class Identity:
    """The user on this machine that programs run as, or None for this process's own user."""

    uid: int | None

    @classmethod
    def fresh(cls) -> Identity:
        """For one call."""
        return cls(_FIRST + secrets.randbelow(1 << 24) if os.geteuid() == 0 else None)

    def own(self, folder: Path) -> None:
        """Give a folder that we filled to that user."""
        if self.uid is None:
            return
        for path in (folder, *folder.rglob("*")):
            os.chown(path, self.uid, self.uid, follow_symlinks=False)

    def namespaces(self) -> list[str]:
        """Bubblewrap's options: which namespaces, and which rights it keeps while it sets up."""
        if self.uid is None:
            return [
                *("--unshare-all", "--unshare-user", "--disable-userns"),
                *("--cap-drop", "ALL", "--uid", "1000", "--gid", "1000"),
            ]
        kept = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")
        return [
            *("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"),
            *("--unshare-cgroup-try", "--cap-drop", "ALL"),
            *(word for name in kept for word in ("--cap-add", name)),
        ]

    def command(self, setpriv: str, prlimit: str, processes: int) -> list[str]:
        """What stands before the program: it gives up all rights, then bounds its processes."""
        drop: list[str] = []
        if self.uid is not None:
            drop = [
                *(setpriv, f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups"),
                *("--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all"),
                *("--no-new-privs", "--"),
            ]
        elif _kernel() < _COUNTED_APART:
            processes += _mine()
        return [*drop, prlimit, f"--nproc={processes}", "--"]


def _kernel() -> tuple[int, ...]:
    numbers = os.uname().release.split("-")[0].split(".")
    return tuple(int(number) for number in numbers[:2] if number.isdigit())


def _mine() -> int:
    """Threads of this user."""
    count, uid = 0, os.geteuid()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if path.stat().st_uid == uid:
                count += sum(1 for _ in (path / "task").iterdir())
        except OSError:  # it ended meanwhile
            continue
    return count
