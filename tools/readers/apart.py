"""Reading in a process of its own, for libraries that a damaged file can hang or make explode.

The child gets the file on standard input and gives the document as JSON on standard output. It
has bounds of time and memory; when it passes them, or dies, the file is broken and nothing else is.
"""

from __future__ import annotations

import importlib
import json
import math
import signal
import subprocess
import sys

from deskwork.tools.documents import Document
from deskwork.tools.errors import BadFile
from deskwork.tools.readers import READERS, Source

SECONDS = 30
MEMORY = 1_500_000_000  # bytes of address space


def read_apart(source: Source, seconds: float = SECONDS) -> Document:
    """The document, read by the kind's reader in a child process.

    Raises `BadFile` with the reader's own sentence, or with one about the bound that was passed.
    """
    head = {
        "name": source.name,
        "kind": source.kind,
        "password": source.password,
        "seconds": seconds,
    }
    try:
        # -P: a folder named like one of our packages in the current directory isn't imported.
        done = subprocess.run(
            [sys.executable, "-P", "-m", __name__],
            input=json.dumps(head).encode() + b"\n" + source.data,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BadFile(
            f"{source.name} is broken: it couldn't be read within {seconds:g} seconds."
        ) from None
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        raise BadFile(f"{source.name} is broken: its reader came to a sudden end.") from None
    if "refused" in answer:
        raise BadFile(answer["refused"], answer["hint"])
    return Document.from_json(answer)


def _child() -> None:
    """Read one file from standard input; a refusal is told as ``refused``."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    except (ImportError, ValueError, OSError):  # no such bound on this system; time is still one
        pass
    head = json.loads(sys.stdin.buffer.readline())
    # Whoever waits may be killed meanwhile: then the bound of time must hold by itself.
    if hasattr(signal, "alarm"):
        signal.alarm(math.ceil(head["seconds"]) + 1)
    source = Source(head["name"], head["kind"], sys.stdin.buffer.read(), head["password"])
    reader = importlib.import_module(f"deskwork.tools.readers.{READERS[source.kind]}")
    try:
        answer = reader.read(source).to_json()
    except BadFile as error:
        answer = {"refused": error.message, "hint": error.hint}
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    _child()
