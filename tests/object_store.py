"""An S3 server on loopback for tests: moto's, as a process of its own."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator

import httpx

from deskwork.tasks.processes import until
from tests.postgres import free_port

BUCKET = "deskwork"
VARIABLES = (
    "AWS_ENDPOINT_URL",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_DEFAULT_REGION",
)


@contextlib.contextmanager
def server() -> Iterator[dict[str, str]]:
    """A server with an empty bucket, as the environment that leads to it."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    argv = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def answers() -> bool:
        try:
            return httpx.put(f"{url}/{BUCKET}").is_success
        except httpx.HTTPError:
            return False

    try:
        assert until(answers, 60, every=0.2)
        yield dict(zip(VARIABLES, (url, "key", "secret", "us-east-1"), strict=True))
    finally:
        process.kill()
        process.wait()
