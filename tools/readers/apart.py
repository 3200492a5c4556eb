"""Reading in another process: who asks, with which limits, and what a passed limit is called.

A worker process reads one file after another, so that small files don't each pay for its start.
It gets requests and gives answers as frames (see `worker`). One that passes a limit of time is
killed, one that dies is replaced; either costs the one file it had. Workers wait idle for the
next file and end with the process that started them.
"""

from __future__ import annotations

import atexit
import json
import os
import selectors
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass
from typing import Any

from deskwork.tools.errors import BadFile
from deskwork.tools.readers.source import Source

_IDLE = 2  # workers kept for the next file; more only exist while more files are read at once
_FILES = 500  # that one worker reads: what a library leaks is bounded by it


@dataclass(frozen=True)
class Limits:
    """What one file may take. ``memory_bytes`` is address space, so mapped libraries count.

    OCR takes longer and more: ``ocr_seconds`` are added for a file that is read by OCR.
    """

    seconds: float = 120.0
    ocr_seconds: float = 1800.0
    memory_bytes: int = 3_000_000_000
    output_bytes: int = 400_000_000
    file_bytes: int = 1_000_000_000


DEFAULT = Limits()


def ask(task: str, source: Source, limits: Limits = DEFAULT, **more: Any) -> dict[str, Any]:
    """A worker's answer. Raises `BadFile` with the reader's sentence or the limit that was passed.

    ``task`` is "read" or "picture"; ``more`` are its further arguments.
    """
    seconds = limits.seconds + (limits.ocr_seconds if source.ocr else 0)
    head = {
        "task": task,
        "name": source.name,
        "passwords": source.passwords,
        "ocr": source.ocr,
        "bytes": len(source.data),
        "seconds": seconds,
        "limits": asdict(limits),
        **more,
    }
    worker = _taken()
    try:
        answer = worker.answer(json.dumps(head).encode(), source.data, seconds, limits)
    except TimeoutError:
        worker.end()
        raise BadFile(
            f"{source.name} is given up: it couldn't be read within {seconds:g} seconds.",
            "Raise `seconds` in the table [reading] of deskwork.toml if it is only long.",
        ) from None
    except (EOFError, OSError, ValueError):
        worker.end()
        raise BadFile(
            f"{source.name} is broken: its reader came to a sudden end.",
            "It may need more memory than the table [reading] of deskwork.toml gives.",
        ) from None
    except BaseException:  # a person's stop in mid-answer: this worker's stream is out of step
        worker.end()
        raise
    _returned(worker)
    if "refused" in answer:
        raise BadFile(answer["refused"], answer["hint"])
    return answer


class _Worker:
    """One process that reads files, and how many it has read."""

    def __init__(self) -> None:
        # -P: a folder named like one of our packages in the current directory isn't imported.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "deskwork.tools.readers.worker", str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )
        self.files = 0

    def alive(self) -> bool:
        return self._process.poll() is None

    def answer(self, head: bytes, data: bytes, seconds: float, limits: Limits) -> dict[str, Any]:
        """Send one request and wait for its frame. Raises `TimeoutError`, `EOFError`, `OSError`,
        or `ValueError` for an answer that is none."""
        self.files += 1
        until = time.monotonic() + seconds
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        to, back = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(to, False)
        os.set_blocking(back, False)
        waiting = [memoryview(head + b"\n"), memoryview(data)]
        got = bytearray()
        length: int | None = None
        with selectors.DefaultSelector() as selector:
            selector.register(to, selectors.EVENT_WRITE)
            selector.register(back, selectors.EVENT_READ)
            while length is None or len(got) < length:
                left = until - time.monotonic()
                if left <= 0:
                    raise TimeoutError
                for key, _ in selector.select(left):
                    if key.fd == to:
                        waiting[0] = waiting[0][os.write(to, waiting[0][: 1 << 20]) :]
                        if not waiting[0]:
                            waiting.pop(0)
                        if not waiting or not any(waiting):
                            waiting = []
                            selector.unregister(to)
                        continue
                    piece = os.read(back, 1 << 20)
                    if not piece:
                        raise EOFError
                    got += piece
                    if length is None and len(got) >= 8:
                        length = int.from_bytes(got[:8], "big")
                        del got[:8]
                        if length > limits.output_bytes + 1000:
                            raise ValueError
        answer: dict[str, Any] = json.loads(got)
        return answer

    def end(self) -> None:
        """Kill the process and let go of its pipes. Safe to call twice."""
        self._process.kill()
        self._process.wait()
        self.let_go()

    def let_go(self) -> None:
        """Close the pipes; the process ends by itself once nobody else holds them."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()


_lock = threading.Lock()
_idle: list[_Worker] = []


def _taken() -> _Worker:
    with _lock:
        while _idle:
            worker = _idle.pop()
            if worker.alive():
                return worker
            worker.end()
    return _Worker()


def _returned(worker: _Worker) -> None:
    with _lock:
        if len(_idle) < _IDLE and worker.files < _FILES:
            _idle.append(worker)
            return
    worker.end()


def _forget() -> None:
    """After a fork the child must not share its parent's workers; they are not its to end."""
    global _lock
    _lock = threading.Lock()
    while _idle:
        _idle.pop().let_go()


@atexit.register
def _end_all() -> None:
    with _lock:
        while _idle:
            _idle.pop().end()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
