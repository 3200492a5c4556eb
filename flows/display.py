"""Progress for whoever watches: a live status line in a terminal, plain lines elsewhere.

All of it goes to standard error; standard output holds the answer alone.
"""

from __future__ import annotations

import sys
import threading
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType

from rich.console import Console
from rich.markup import escape
from rich.status import Status

from deskwork.tasks.progress import Progress, watcher

_PLAIN = {"job", "link", "server", "trouble", "end", "publish", "plan", "notice"}


class Display(AbstractContextManager["Display"]):
    """Shows the progress of the jobs run inside its ``with`` block."""

    def __init__(self, *, quiet: bool = False, mute: bool = False) -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._live = self._console.is_terminal and not (quiet or mute)
        self._quiet = quiet
        self._mute = mute
        self._status: Status | None = None
        self._lock = threading.Lock()
        self._said: set[str] = set()
        self.job = ""
        """The id of the job that was begun last."""

    def __enter__(self) -> Display:
        if self._live:
            self._status = self._console.status("starting")
            self._status.start()
        self._token = watcher.set(self.show)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        watcher.reset(self._token)
        self.close()

    def close(self) -> None:
        """End the live line; what comes after stands below it."""
        if self._status:
            self._status.stop()
            self._status = None

    def show(self, progress: Progress) -> None:
        """Show one event; called from any thread."""
        if progress.kind == "job":
            self.job = progress.job
        if self._mute or (progress.kind == "end" and progress.text != "done"):
            return  # the command itself says how the job ended, and what to do
        with self._lock:
            line = _line(progress)
            if self._live and self._status and progress.kind not in _PLAIN:
                self._status.update(escape(line))
            elif not self._quiet or progress.kind in ("trouble", "server"):
                self._print(line, progress)

    def _print(self, line: str, progress: Progress) -> None:
        if progress.kind == "notice":
            if line in self._said:
                return
            self._said.add(line)
        style = {"trouble": "yellow", "link": "cyan", "notice": "bold"}.get(progress.kind)
        self._console.print(line, style=style, markup=False)


def _line(progress: Progress) -> str:
    text = progress.text
    if progress.kind == "link":
        return f"page: {text}"
    if progress.kind == "step":
        spend = progress.data.get("spend", {})
        if tier := progress.data.get("tier"):
            text += f" · thinking {tier}"
        if spend.get("tokens"):
            text += f" · {spend['tokens']:,} tokens"
        if (left := progress.data.get("left")) is not None:
            text += f" · {left:,} left in the window"
        if spend.get("cost") is not None:
            text += f" · cost {spend['cost']:.4f}"
    if progress.kind == "index" and progress.data.get("total"):
        text += f" ({progress.data['done']} of {progress.data['total']} files)"
    return text if len(text) <= 300 or progress.kind in _PLAIN else text[:297] + "..."


def busy(text: str, *, quiet: bool = False) -> AbstractContextManager[object]:
    """A spinner for short work that is no job; nothing where no terminal is."""
    console = Console(stderr=True)
    return console.status(text) if console.is_terminal and not quiet else nullcontext()


def complain(message: str, hint: str = "") -> None:
    """An error as a person reads it: what happened, then what to do."""
    sys.stdout.flush()
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    console.print(f"deskwork: {message}", style="red", markup=False)
    if hint:
        console.print(hint, markup=False)
