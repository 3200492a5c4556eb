"""Probes of a container: ``python -m deskwork.deployments.health alive`` or ``ready``.

``alive``: the container's process, the first under tini, runs and isn't stopped or dead. It asks
no other service, since a worker goes on with its jobs while the Prefect server is away.
``ready``: besides, the Prefect server at PREFECT_API_URL answers its health page.

Exit code 0 or 1, with a sentence on standard error. Standard library alone: a probe runs often.
"""

from __future__ import annotations

import os
import sys
import urllib.error
import urllib.request
from pathlib import Path

_DEAD = {"Z": "is a zombie", "X": "is dead", "T": "is stopped", "t": "is stopped by a tracer"}


def fault_of_process(proc: Path = Path("/proc")) -> str | None:
    """What is wrong with the container's process, by the folder ``/proc``; None if nothing."""
    number = "1"
    if (proc / "1/comm").read_text().strip() == "tini":
        children = (proc / "1/task/1/children").read_text().split()
        if not children:
            return "tini has no process"
        number = children[0]
    state = (proc / number / "stat").read_text().rpartition(")")[2].split()[0]
    return f"process {number} {_DEAD[state]}" if state in _DEAD else None


def fault_of_server(url: str, seconds: float = 5.0) -> str | None:
    """What is wrong with the Prefect server at an API address; None if it answers."""
    if not url.startswith(("http://", "https://")):
        return f"PREFECT_API_URL is {url!r}, which is no http address"
    try:
        with urllib.request.urlopen(f"{url.rstrip('/')}/health", timeout=seconds) as reply:
            return None if reply.status == 200 else f"{url}/health answers {reply.status}"
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        return f"the Prefect server at {url} does not answer: {error}"


def main(arguments: list[str]) -> int:
    """Run one probe: 0 if all is well, 1 if not, 2 for wrong use."""
    if arguments not in (["alive"], ["ready"]):
        print("Usage: python -m deskwork.deployments.health alive|ready", file=sys.stderr)
        return 2
    fault = fault_of_process()
    if fault is None and arguments == ["ready"]:
        fault = fault_of_server(os.environ.get("PREFECT_API_URL", ""))
    if fault is not None:
        print(f"Not {arguments[0]}: {fault}.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
