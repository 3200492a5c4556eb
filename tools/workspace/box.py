"""The command line of the sandbox: bubblewrap, with nothing in it but what a program needs.

No network, no other process, no home, no devices but the harmless ones. The system's programs and
this Python are there read-only, ``/workspace`` is the one folder that can be written and stays;
``/tmp`` can be written and doesn't. No environment of this process goes in.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from deskwork.tools.errors import ToolError
from deskwork.tools.workspace.identity import Identity
from deskwork.tools.workspace.options import WorkspaceOptions

_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SETTINGS = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/fonts", "/etc/localtime")
_TMP_BYTES = 256_000_000
_SHARED_BYTES = 64_000_000
_VARIABLES = {
    "HOME": "/tmp",
    "LANG": "C.UTF-8",
    "MPLBACKEND": "Agg",
    "PYTHONDONTWRITEBYTECODE": "1",
    # Each thread reserves address space, which is bounded.
    "OMP_NUM_THREADS": "2",
    "OPENBLAS_NUM_THREADS": "2",
}


@dataclass(frozen=True)
class Mounts:
    """Folders and files of this machine that the sandbox sees: ``workspace`` can be written, the
    others are read only. ``documents`` maps names under ``/documents`` to paths.
    """

    workspace: Path
    call: Path
    documents: Mapping[str, Path]


def command_line(
    argv: list[str],
    mounts: Mounts,
    options: WorkspaceOptions,
    identity: Identity,
    status_fd: int,
    seccomp_fd: int | None,
) -> list[str]:
    """The whole command; its status goes to ``status_fd`` as JSON lines, its filter of system
    calls comes from ``seccomp_fd``.

    Raises `ToolError` where bubblewrap isn't installed.
    """
    bwrap = _program("bwrap", "bubblewrap")
    prlimit, setpriv = (_program(name, "util-linux") for name in ("prlimit", "setpriv"))
    limits = {
        "as": options.memory_bytes,
        "fsize": options.file_bytes,
        "core": 0,
        "nofile": 512,
        "cpu": int(options.seconds * 4) + 1,
    }
    return [
        prlimit,
        *(f"--{name}={value}" for name, value in limits.items()),
        bwrap,
        *identity.namespaces(),
        *("--die-with-parent", "--new-session", "--hostname", "workspace"),
        *("--json-status-fd", str(status_fd)),
        *(("--seccomp", str(seccomp_fd)) if seccomp_fd is not None else ()),
        *_environment(),
        *_system(),
        *("--proc", "/proc"),
        # A second bar before the kernel's settings, which root may write.
        *("--ro-bind", "/proc/sys", "/proc/sys"),
        *("--dev", "/dev", "--perms", "1777", "--size", str(_SHARED_BYTES)),
        *("--tmpfs", "/dev/shm", "--perms", "1777", "--size", str(_TMP_BYTES), "--tmpfs", "/tmp"),
        *_python(),
        *("--ro-bind", str(mounts.call), "/call"),
        *("--bind", str(mounts.workspace), "/workspace"),
        *_documents(mounts.documents),
        *("--remount-ro", "/dev", "--remount-ro", "/"),
        *("--chdir", "/workspace", "--"),
        *identity.command(setpriv, prlimit, options.processes),
        *argv,
    ]


def _program(name: str, package: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise ToolError(
            f"The workspace needs the program {name}, which isn't installed here.",
            f"A person can install it: on Debian, apt-get install {package}.",
        )
    return found


def _environment() -> list[str]:
    path = f"{sys.prefix}/bin:/usr/local/bin:/usr/bin:/bin"
    arguments = ["--clearenv", "--setenv", "PATH", path]
    for name, value in _VARIABLES.items():
        arguments += ["--setenv", name, value]
    return arguments


def _system() -> list[str]:
    arguments = ["--ro-bind", "/usr", "/usr"]
    for name in _SYSTEM:
        path = Path(name)
        if path.is_symlink():
            arguments += ["--symlink", str(path.readlink()), name]
        elif path.is_dir():
            arguments += ["--ro-bind", name, name]
    for name in _SETTINGS:
        arguments += ["--ro-bind-try", name, name]
    return arguments


def _python() -> list[str]:
    """Python itself and its packages, wherever they are, under the paths that they know.

    Bound after the empty /tmp, since they may lie there.
    """
    arguments: list[str] = []
    for prefix in dict.fromkeys((sys.base_prefix, sys.prefix)):
        if not Path(prefix).is_relative_to("/usr"):
            arguments += [*_folders(prefix), "--ro-bind", prefix, prefix]
    return arguments


def _documents(documents: Mapping[str, Path]) -> list[str]:
    arguments = ["--dir", "/documents"]
    for name, path in documents.items():
        inside = f"/documents/{name}"
        arguments += [*_folders(inside), "--ro-bind", str(path), inside]
    return arguments


def _folders(path: str) -> list[str]:
    """The folders above a path, open to all: else bubblewrap may make them root's alone."""
    above = [str(folder) for folder in reversed(Path(path).parents) if folder != Path("/")]
    return [word for folder in above for word in ("--dir", folder)]
