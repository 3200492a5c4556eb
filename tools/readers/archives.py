"""Opening ZIP archives that strangers made: bounds on what they unpack to, and safe names."""

from __future__ import annotations

import io
import posixpath
import zipfile

from deskwork.tools.errors import BadFile

MAX_UNPACKED = 1_000_000_000  # bytes of an archive's members together; more is a bomb
_MAX_RATIO = 300  # unpacked over packed; deflate comes to 1,000 at most, office files to 50
_SMALL = 50_000_000  # bytes that any archive may unpack to, whatever the ratio
MAX_MEMBERS = 10_000


def opened(data: bytes, name: str) -> zipfile.ZipFile:
    """The archive. Raises `BadFile` when it is broken or would unpack to too much.

    The sizes are the directory's. A member that holds more than it says there fails when it is
    read: zipfile stops at the size and finds that the checksum is wrong.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, IndexError):
        raise BadFile(f"{name} is broken: its archive can't be opened.") from None
    entries = archive.infolist()
    if len(entries) > MAX_MEMBERS:
        raise BadFile(f"{name} holds {len(entries):,} files; at most {MAX_MEMBERS:,} are opened.")
    total = sum(entry.file_size for entry in entries)
    if total > MAX_UNPACKED:
        raise BadFile(f"{name} unpacks to more than {MAX_UNPACKED:,} bytes.")
    if total > _SMALL and total > _MAX_RATIO * len(data):
        raise BadFile(f"{name} unpacks to more than {_MAX_RATIO:,} times its size: it is a bomb.")
    return archive


def inner_name(name: str) -> tuple[str, bool]:
    """A member's path as it may be shown, and whether it tried to lead elsewhere.

    Nothing is ever written under these names; they are cleaned so that no one after us does.
    """
    flat = "".join(letter if letter.isprintable() else "\ufffd" for letter in name)
    flat = flat.replace("\\", "/")
    parts = [part for part in flat.split("/") if part not in ("", ".", "..")]
    drive = bool(parts) and len(parts[0]) == 2 and parts[0][1] == ":"
    if drive:
        parts = parts[1:]
    tricky = drive or flat.startswith("/") or ".." in flat.split("/")
    return posixpath.join(*parts) if parts else "unnamed", tricky
