"""The main text of a web page, by trafilatura, in a process of its own.

A page is a stranger's file: what its text does to a library costs that process alone. The answer
only chooses what is shown first; without one the whole page is shown.

    python -m deskwork.tools.web.main_text < page.html > main.txt
"""

from __future__ import annotations

import subprocess
import sys

SECONDS = 20.0
MEMORY = 2_000_000_000
_LARGEST = 5_000_000


def main_text(html: bytes, seconds: float = SECONDS) -> str:
    """The text of a page without its menus, asides and notices; empty where that isn't found."""
    if len(html) > _LARGEST:
        return ""
    try:
        done = subprocess.run(
            # -P: a folder named like a package in the current directory isn't imported.
            [sys.executable, "-P", "-m", "deskwork.tools.web.main_text"],
            input=html,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )
    except (subprocess.TimeoutExpired, OSError):
        return ""
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""


def _extract() -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, ValueError, OSError):  # no such bound on this system; time is still one
        pass
    import trafilatura

    text = trafilatura.extract(
        sys.stdin.buffer.read(), include_comments=False, include_tables=True, favor_recall=True
    )
    sys.stdout.buffer.write((text or "").encode("utf-8", "replace"))


if __name__ == "__main__":
    _extract()
