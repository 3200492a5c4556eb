"""The object store, against moto's server."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterator

import fsspec
import httpx
import pytest

from deskwork.tasks.blobs import open_blobs
from deskwork.tasks.remote_blobs import RemoteBlobs
from deskwork.tools.errors import StorageError
from tests import object_store

pytestmark = pytest.mark.xdist_group("s3")


@pytest.fixture(scope="module")
def server() -> Iterator[dict[str, str]]:
    with object_store.server() as environment:
        yield environment


@pytest.fixture
def s3(server: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> str:
    """The environment leads to the server; its address."""
    for name, value in server.items():
        monkeypatch.setenv(name, value)
    return server["AWS_ENDPOINT_URL"]


def test_blobs_are_stored_once_by_their_content_and_checked(s3: str) -> None:
    blobs = RemoteBlobs("s3://deskwork/jobs")
    name = blobs.put(b"picture")
    assert name == hashlib.sha256(b"picture").hexdigest()
    files, place = fsspec.filesystem("s3"), f"deskwork/jobs/{name[:2]}/{name[2:]}"
    assert files.cat_file(place) == b"picture"
    # What is there under the name is not written again, as it would be here if it were.
    files.pipe_file(place, b"tampered")
    assert blobs.put(b"picture") == name
    assert files.cat_file(place) == b"tampered"
    with pytest.raises(StorageError, match=r"damaged.*backup"):
        blobs.get(name)


def test_what_is_wrong_with_a_store_is_said(s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StorageError, match=r"can't be read.*bucket exists"):
        RemoteBlobs("s3://deskwork/jobs").get("ab" * 32)
    with pytest.raises(StorageError, match=r"can't be written to s3://absent/x.*bucket exists"):
        RemoteBlobs("s3://absent/x").put(b"x")
    assert httpx.head(f"{s3}/absent").status_code == 404  # nor is one made
    with pytest.raises(StorageError, match="names no bucket"):
        RemoteBlobs("s3://")


def test_no_key_no_package_and_no_server_are_said(s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    code = """
import os, sys
from deskwork.tasks.remote_blobs import RemoteBlobs
from deskwork.tools.errors import StorageError
if sys.argv[1] == "package":
    sys.modules["s3fs"] = None
if sys.argv[1] == "server":
    os.environ |= {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_ACCESS_KEY_ID": "k"}
    os.environ["AWS_SECRET_ACCESS_KEY"] = "s"
try:
    RemoteBlobs("s3://deskwork/x", patience=0.3).put(b"x")
except StorageError as error:
    print(type(error).__name__, error)
"""
    # Each in a process of its own: clients are kept, and so is what was imported.
    key, package, server = (
        subprocess.run(
            [sys.executable, "-c", code, what], capture_output=True, text=True, check=True
        ).stdout
        for what in ("key", "package", "server")
    )
    assert "Set AWS_ACCESS_KEY_ID" in key
    assert "Install deskwork[s3]." in package
    assert server.startswith("StoreAway")
    assert "AWS_ENDPOINT_URL is right" in server


def test_other_file_systems_need_no_extra() -> None:
    blobs = open_blobs("memory://blobs", None)  # type: ignore[arg-type]  # no home is touched
    assert blobs.get(blobs.put(b"x")) == b"x"
