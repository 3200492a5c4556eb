"""The process that reads: requests come on standard input, answers go to standard output.

A request is one line of JSON and then the file's bytes; an answer is eight bytes of length and
then JSON. The process can reach no network and start no other process: an audit hook refuses
both, whatever a library or a file asks for. Bounds of memory and time hold by the system.
"""

from __future__ import annotations

import base64
import json
import math
import os
import signal
import sys
import threading
import time
from dataclasses import replace
from typing import Any, BinaryIO

from deskwork.tools.errors import BadFile
from deskwork.tools.readers import inside
from deskwork.tools.readers.source import Source

_REFUSED = (
    "socket.connect",
    "socket.getaddrinfo",
    "socket.gethostbyname",
    "socket.sendto",
    "subprocess.Popen",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "os.system",
    "os.fork",
    "os.forkpty",
    "os.remove",
    "os.rename",
    "os.rmdir",
)


def main() -> None:
    """Answer requests until standard input ends."""
    # A person's Ctrl-C is for the one who waits, who ends this process too.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # What a library prints must not fall among the answers.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    threading.Thread(target=_end_with, args=(_parent(),), daemon=True).start()
    sys.addaudithook(_refuse)
    while line := requests.readline():
        head = json.loads(line)
        # Whoever waits may be killed meanwhile: then the bound of time must hold by itself.
        if hasattr(signal, "alarm"):
            signal.alarm(math.ceil(head["seconds"]) + 1)
        _bound_memory(head["limits"]["memory_bytes"])
        _send(answers, _answer(head, requests.read(head["bytes"])))
        if hasattr(signal, "alarm"):
            signal.alarm(0)


def _parent() -> int:
    """Who asks, as told in the command line: by the time of the first look it may be gone."""
    return int(sys.argv[1]) if len(sys.argv) > 1 else os.getppid()


def _end_with(parent: int) -> None:
    """End when the process that asks is gone, in mid-file too: a killed job leaves nothing."""
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(0)


def _answer(head: dict[str, Any], data: bytes) -> bytes:
    try:
        source = Source(head["name"], "", data, tuple(head["passwords"]), head["ocr"])
        if head["task"] == "picture":
            source = replace(source, marks=tuple(head["marks"]))
            png = inside.picture(source, head["page"])
            value: dict[str, Any] = {"png": base64.b64encode(png).decode()}
        else:
            value = inside.read(source).to_json(boxes=True)
        answer = json.dumps(value).encode()
        bound = head["limits"]["output_bytes"]
        if len(answer) > bound:
            raise BadFile(f"{source.name} gives more text than {bound:,} bytes.")
    except BadFile as error:
        answer = json.dumps({"refused": error.message, "hint": error.hint}).encode()
    except (MemoryError, RecursionError):
        told = f"{head['name']} needs more memory than a file may take."
        answer = json.dumps({"refused": told, "hint": ""}).encode()
    except Exception as error:  # noqa: BLE001  # whatever it is, it must cost this file alone
        told = f"{head['name']} can't be read: {type(error).__name__}."
        answer = json.dumps({"refused": told, "hint": ""}).encode()
    return answer


def _send(answers: BinaryIO, answer: bytes) -> None:
    answers.write(len(answer).to_bytes(8, "big") + answer)
    answers.flush()


def _refuse(event: str, _: tuple[Any, ...]) -> None:
    if event in _REFUSED:
        raise PermissionError(f"A reader may not do this: {event}.")


def _bound_memory(count: int) -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (count, resource.getrlimit(resource.RLIMIT_AS)[1]))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, ValueError, OSError):  # no such bound on this system; time is still one
        pass


if __name__ == "__main__":
    main()
