"""Blobs in an object store, by fsspec: ``s3://bucket/prefix`` with the extra ``s3``.

A blob's name is its content's hash and a single PUT is atomic there, so writing it twice is
harmless, and two machines need no lock. Keys and region come as for any client of AWS: from
AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile or the machine's role; the address of
another server than Amazon's from AWS_ENDPOINT_URL.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, TypeVar

from deskwork.tasks.patience import LONGEST, StoreAway, wait_out
from deskwork.tools.errors import StorageError

T = TypeVar("T")

_KEPT = "then run the same command again; what was recorded is kept."


class RemoteBlobs:
    """Blobs under an address; a store that is away is waited for, ``patience`` seconds."""

    def __init__(self, url: str, *, patience: float = LONGEST) -> None:
        import fsspec

        self.url = url
        self.patience = patience
        self._files: Any
        try:
            self._files, self._root = fsspec.core.url_to_fs(url, use_listings_cache=False)
        except ImportError as error:
            name = url.partition(":")[0]
            extra = "Install deskwork[s3]." if name in ("s3", "s3a") else f"Install it: {error}."
            raise StorageError(
                f"The blob store {url} needs a package that is not installed.", extra
            ) from error
        except (ValueError, OSError) as error:
            raise StorageError(
                f"The blob store {url} can't be opened: {error}.",
                "Check DESKWORK_BLOBS_URL; it looks like s3://bucket/prefix.",
            ) from error
        if not self._root.strip("/"):
            raise StorageError(
                f"The blob store {url} names no bucket.",
                "DESKWORK_BLOBS_URL looks like s3://bucket/prefix.",
            )

    def put(self, data: bytes) -> str:
        """Store the bytes, unless they are there, and return their hash."""
        digest = hashlib.sha256(data).hexdigest()
        path = self._path(digest)

        def write() -> None:
            if not self._files.exists(path):
                if not self._is_s3:
                    self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
                self._files.pipe_file(path, data)

        self._do(f"A blob of {len(data):,} bytes can't be written to {self.url}", write)
        return digest

    def get(self, sha256: str) -> bytes:
        """The bytes under a hash, checked against it."""

        def read() -> bytes:
            data: bytes = self._files.cat_file(self._path(sha256))
            return data

        data = self._do(f"Blob {sha256[:12]} can't be read from {self.url}", read)
        if hashlib.sha256(data).hexdigest() != sha256:
            raise StorageError(
                f"Blob {sha256[:12]} in {self.url} is damaged: its content no longer has that "
                "hash.",
                "Restore it from a backup.",
            )
        return data

    @property
    def _is_s3(self) -> bool:
        # Making a folder there would make a missing bucket.
        return "s3" in self._files.protocol

    def _path(self, sha256: str) -> str:
        return f"{self._root}/{sha256[:2]}/{sha256[2:]}"

    def _do(self, failed: str, call: Callable[[], T]) -> T:
        def once() -> T:
            try:
                return call()
            except Exception as error:
                raise _storage_error(failed, error) from error

        return wait_out(once, self.patience)


def _storage_error(failed: str, error: Exception) -> StorageError:
    """What went wrong, by the error's name: fsspec's back ends share no base for these."""
    names = {kind.__name__ for kind in type(error).__mro__}
    cause = f"{failed}: {' '.join(str(error).split()) or type(error).__name__}."
    if names & {"NoCredentialsError", "PartialCredentialsError", "NoAuthTokenError"}:
        return StorageError(
            cause,
            f"Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the machine a role, {_KEPT}",
        )
    if isinstance(error, PermissionError):
        return StorageError(
            cause, f"Check the key, and that it may read and write the bucket, {_KEPT}"
        )
    if isinstance(error, FileNotFoundError):
        return StorageError(
            cause,
            "Check that the bucket exists and DESKWORK_BLOBS_URL names it; a single blob that is "
            "gone is restored from a backup.",
        )
    if isinstance(error, ConnectionError | TimeoutError) or names & {
        "ClientConnectionError",
        "ConnectionError",
        "EndpointConnectionError",
        "HTTPClientError",
    }:
        return StoreAway(
            cause, f"Check that the object store runs and AWS_ENDPOINT_URL is right, {_KEPT}"
        )
    return StorageError(cause, f"Mend the cause, {_KEPT}")
