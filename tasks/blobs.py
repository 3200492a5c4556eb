"""Blobs: images and large results, stored once under the SHA-256 of their content.

A local folder by default: temporary file, fsync, rename, fsync of the folder, so that a blob is
either whole or absent. Any other file system by its fsspec address: see `remote_blobs`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from pathlib import Path
from typing import Protocol

from deskwork.tools.errors import StorageError


class Blobs(Protocol):
    """A store of bytes by content hash (64 hex digits)."""

    def put(self, data: bytes) -> str:
        """Store the bytes durably and return their hash. Storing them again costs nothing."""

    def get(self, sha256: str) -> bytes:
        """The bytes under a hash. Raises `StorageError` when they are absent or damaged."""


def open_blobs(url: str | None, home: Path) -> Blobs:
    """The store at ``url``, or the folder ``blobs`` under the home."""
    if not url or url.startswith("file://"):
        return LocalBlobs(Path(url.removeprefix("file://")) if url else home / "blobs")
    from deskwork.tasks.remote_blobs import RemoteBlobs

    return RemoteBlobs(url)


class LocalBlobs:
    """A folder of blobs: ``ab/cdef…``, two hex digits and the rest."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, data: bytes) -> str:
        """Store the bytes durably and return their hash."""
        digest = hashlib.sha256(data).hexdigest()
        path = self._path(digest)
        if path.exists():
            return digest
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
            _sync_folder(path.parent)
            _sync_folder(self.folder)
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise StorageError(
                f"A blob of {len(data):,} bytes can't be written under {self.folder}: "
                f"{error.strerror or error}.",
                "Free some space or mend the folder's rights, then run the same command again; "
                "nothing recorded is lost.",
            ) from error
        return digest

    def get(self, sha256: str) -> bytes:
        """The bytes under a hash, checked against it."""
        try:
            data = self._path(sha256).read_bytes()
        except OSError as error:
            raise StorageError(
                f"Blob {sha256[:12]} can't be read under {self.folder}: {error.strerror or error}.",
                "Restore the folder from a backup; the job's journal refers to it.",
            ) from error
        return _checked(data, sha256)

    def _path(self, sha256: str) -> Path:
        return self.folder / sha256[:2] / sha256[2:]


def _checked(data: bytes, sha256: str) -> bytes:
    if hashlib.sha256(data).hexdigest() != sha256:
        raise StorageError(
            f"Blob {sha256[:12]} is damaged: its content no longer has that hash.",
            "Restore it from a backup.",
        )
    return data


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
