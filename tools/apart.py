"""One request to a module that runs in a process of its own: bounded in time, killed at the bound.

The module reads one JSON object from standard input and writes one to standard output. It starts
with a bare environment: no key and no setting of this process reaches it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any

from deskwork.tools.errors import ToolError

_KEPT = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "VIRTUAL_ENV", "PYTHONPATH")


def ask_apart(module: str, request: dict[str, Any], seconds: float, what: str) -> dict[str, Any]:
    """The module's answer. ``what`` names the work in errors ("The query").

    Raises `ToolError` when it takes longer than ``seconds``, comes to a sudden end, or answers
    with ``refused`` (a sentence) and ``hint``.
    """
    # -P: a folder named like one of our packages in the current directory isn't imported.
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={name: os.environ[name] for name in _KEPT if name in os.environ},
    )
    try:
        sent = json.dumps({**request, "seconds": seconds}).encode()
        out, _ = process.communicate(sent, timeout=seconds + 2)
    except subprocess.TimeoutExpired:
        raise ToolError(
            f"{what} was stopped after {seconds:g} seconds.", "Ask for less at a time."
        ) from None
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
    if process.returncode == -signal.SIGALRM:
        raise ToolError(f"{what} was stopped after {seconds:g} seconds.", "Ask for less at a time.")
    try:
        answer: dict[str, Any] = json.loads(out)
    except ValueError:
        raise ToolError(
            f"{what} came to a sudden end; it may have needed too much memory.",
            "Ask for less at a time.",
        ) from None
    if "refused" in answer:
        raise ToolError(answer["refused"], answer.get("hint", ""))
    return answer


def bound(seconds: float, memory_bytes: int) -> None:
    """For the module itself: an alarm that ends it, and a bound of address space.

    The alarm holds also when whoever waits was killed meanwhile.
    """
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        import resource

        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, hard))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, ValueError, OSError):  # no such bound on this system; time is still one
        pass
