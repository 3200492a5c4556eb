"""One call in a workspace: lay its files out, run, and tell and keep what changed.

The folder is made anew for each call from what the journal says, and removed after it. So a call
that was cut off leaves nothing behind, and to run it again is harmless.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from deskwork.tools.collection import Collection
from deskwork.tools.errors import ToolError
from deskwork.tools.tool import ToolResult
from deskwork.tools.workspace.box import Mounts
from deskwork.tools.workspace.files import lay_out, plain_files, read_plain, remove, unlock
from deskwork.tools.workspace.identity import Identity
from deskwork.tools.workspace.options import Workspace
from deskwork.tools.workspace.running import Ran, run_boxed

_AT_ONCE = threading.BoundedSemaphore(2)
"""Calls of this process that run at once: each may take its whole memory."""
_HEAD, _TAIL = 20_000, 10_000
"""Characters of what it printed that are told, from the beginning and the end."""
_LISTED = 40
_DOCUMENTS = 500
_PICTURES = 3
"""New pictures that are looked at, at most."""
_IS_PICTURE = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")


def run_in_workspace(
    workspace: Workspace, collection: Collection, argv: list[str], script: tuple[str, str]
) -> ToolResult:
    """Run a command with ``script`` (a name and a text) lying under ``/call``.

    The result's ``workspace`` maps each path that changed to its SHA-256, or to None where the
    file is gone. A call that a limit ended changes nothing.
    """
    with _AT_ONCE, _folder(workspace.scratch) as folder:
        mounts = Mounts(folder / "workspace", folder / "call", {})
        for path in (mounts.workspace, mounts.call, folder / "documents"):
            path.mkdir()
        lay_out(mounts.workspace, workspace.files, workspace.load)
        name, text = script
        (mounts.call / name).write_text(text)
        mounts.call.chmod(0o755)
        identity = Identity.fresh()
        identity.own(mounts.workspace)
        documents = _documents(collection, folder / "documents")
        mounts = Mounts(mounts.workspace, mounts.call, documents)
        ran = run_boxed(argv, mounts, workspace.options, identity)
        if ran.stopped:
            return _stopped(ran)
        unlock(mounts.workspace)
        return _kept(workspace, mounts.workspace, ran)


def _kept(workspace: Workspace, folder: Path, ran: Ran) -> ToolResult:
    before = workspace.files
    found, left_out = plain_files(folder)
    changed: dict[str, str | None] = {}
    lines: list[str] = []
    pictures: list[bytes] = []
    for name, path in found.items():
        data = read_plain(path)
        sha256 = workspace.keep(data)
        if before.get(name) == sha256:
            continue
        changed[name] = sha256
        lines.append(f"{'changed' if name in before else 'new'} {name} ({len(data):,} bytes)")
        if data.startswith(_IS_PICTURE) and len(pictures) < _PICTURES:
            pictures.append(data)
    for name in sorted(set(before) - set(found)):
        changed[name] = None
        lines.append(f"gone {name}")
    lines += [f"not kept {name}: only plain files are" for name in left_out[:_LISTED]]
    parts = [f"Exit code {ran.code}.", _printed(ran.output)]
    if lines:
        more = [f"and {len(lines) - _LISTED} more"] if len(lines) > _LISTED else []
        parts.append("Files:\n" + "\n".join([*lines[:_LISTED], *more]))
    data_out = {"exit_code": ran.code, "files": changed}
    return ToolResult(
        "\n".join(filter(None, parts)), images=tuple(pictures), workspace=changed, data=data_out
    )


def _stopped(ran: Ran) -> ToolResult:
    text = f"It was stopped: {ran.stopped}. The workspace's files are as before the call."
    return ToolResult("\n".join(filter(None, [text, _printed(ran.output)])), is_error=True)


def _printed(output: bytes) -> str:
    text = output.decode(errors="replace").rstrip()
    if len(text) <= _HEAD + _TAIL:
        return text
    left_out = len(text) - _HEAD - _TAIL
    return f"{text[:_HEAD]}\n[{left_out:,} characters left out]\n{text[-_TAIL:]}"


def _documents(collection: Collection, folder: Path) -> dict[str, Path]:
    """The job's documents by the names that the model knows, those in archives left out."""
    found: dict[str, Path] = {}
    for entry in collection.files[:_DOCUMENTS]:
        name = PurePosixPath(entry.name)
        if entry.state != "ready" or entry.container or name.is_absolute() or ".." in name.parts:
            continue
        path = entry.path
        if entry.load or not _for_all(path):
            path = folder / str(len(found))
            path.write_bytes(entry.load() if entry.load else entry.path.read_bytes())
            path.chmod(0o644)
        if path.is_file() and not _within(name, found):
            found[str(name)] = path.resolve()
    return found


def _for_all(path: Path) -> bool:
    """Whether any user may read a file: programs may run as another one."""
    try:
        return bool(path.stat().st_mode & 0o004)
    except OSError:
        return True


def _within(name: PurePosixPath, taken: Mapping[str, Path]) -> bool:
    """Whether a file would lie in another one, or bear its name."""
    return any(str(part) in taken for part in (name, *name.parents)) or any(
        name in PurePosixPath(other).parents for other in taken
    )


@contextlib.contextmanager
def _folder(scratch: Path) -> Iterator[Path]:
    """A new folder for one call. Those that killed processes left are removed as well."""
    try:
        scratch.mkdir(parents=True, exist_ok=True, mode=0o700)
        for old in scratch.iterdir():
            owner = old.name.partition("-")[0]
            if owner.isdigit() and not _runs(int(owner)):
                remove(old)
        folder = scratch / f"{os.getpid()}-{secrets.token_hex(6)}"
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise ToolError(
            f"There can be no folder for the workspace under {scratch.name}: {error.strerror}.",
            "A person must make room or give rights there.",
        ) from None
    try:
        yield folder
    finally:
        remove(folder)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it runs, and is somebody else's
        return True
    return True
