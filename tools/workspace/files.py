"""A workspace's files: laid out before a call, and what a call left of them.

Only plain files are kept. Links are left where they are: one could point anywhere by the time it
is followed. So are pipes, sockets, and names that are no text.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from deskwork.tools.errors import ToolError

_DEEPEST = 32
"""Folders within folders that are looked into."""


def lay_out(folder: Path, files: Mapping[str, str], load: Callable[[str], bytes]) -> None:
    """Write the files into an empty folder. All may be executed: modes aren't kept."""
    for name, sha256 in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(load(sha256))
        path.chmod(0o755)


def size_of(folder: Path, most: int) -> tuple[int, int]:
    """How many things a folder holds, and their bytes; it stops counting soon after ``most``."""
    count = size = 0
    for entry, _ in _walk(folder):
        count += 1
        try:
            size += entry.stat(follow_symlinks=False).st_size
        except OSError:  # it went meanwhile
            continue
        if count > most:
            break
    return count, size


def plain_files(folder: Path) -> tuple[dict[str, Path], list[str]]:
    """The plain files by their path in the folder, and the names of what is left out.

    Raises `ToolError` for folders too deep within each other.
    """
    found: dict[str, Path] = {}
    left_out: list[str] = []
    for entry, depth in _walk(folder):
        name = os.path.relpath(entry.path, folder)
        if depth > _DEEPEST:
            raise ToolError(
                f"Folders are more than {_DEEPEST} deep within each other.", "Make fewer of them."
            )
        mode = entry.stat(follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode):
            continue
        if stat.S_ISREG(mode) and _is_text(name):
            found[name] = Path(entry.path)
        else:
            left_out.append(name.encode(errors="replace").decode())
    return dict(sorted(found.items())), sorted(left_out)


def read_plain(path: Path) -> bytes:
    """The bytes of a plain file, and never of what a link points to."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


def unlock(folder: Path) -> None:
    """Let us read all that a program left; ``chmod -R`` follows no link that it meets."""
    _run("chmod", "-R", "u+rwX", "--", str(folder))


def remove(folder: Path) -> None:
    """Remove a folder whatever a program made of it: locked folders, a thousand levels."""
    unlock(folder)
    _run("rm", "-rf", "--", str(folder))


def _run(*argv: str) -> None:
    found = shutil.which(argv[0], path=os.defpath)
    subprocess.run([found or argv[0], *argv[1:]], check=False, stderr=subprocess.DEVNULL)


def _walk(folder: Path) -> Iterator[tuple[os.DirEntry[str], int]]:
    """Everything in a folder with its depth, no link followed, and no deeper than is bearable."""
    waiting: list[tuple[str, int]] = [(str(folder), 1)]
    while waiting:
        path, depth = waiting.pop()
        try:
            with os.scandir(path) as listed:
                entries = list(listed)
        except OSError:  # it went meanwhile, it is locked, or its name is too long by now
            continue
        for entry in entries:
            yield entry, depth
            if depth <= _DEEPEST and entry.is_dir(follow_symlinks=False):
                waiting.append((entry.path, depth + 1))


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return name.isprintable()
