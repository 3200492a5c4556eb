"""Every error a person or a model can meet, split by what the one who gets it should do.

    DeskworkError
    ├── WrongUse          mend the command, the settings or the input, then run again   (exit 2)
    │   └── BadFile       a file that can't be read: locked, broken, empty, of no known kind
    ├── ToolError         told to the model, which may try another way; never ends a job
    │   ├── NotFound      nothing there under that name, page or id
    │   └── WebError      a search or a fetch failed; ``kind`` names how, for a report to list
    ├── Transient         the same call may work later; the retry policy decides when
    └── Stop              ends the job in a named state; a rerun goes on from there     (exit 6)
        ├── StorageError  the journal or a blob can't be written or read: disk, rights, schema
        └── JobHeld       another runner holds the job

Messages say what happened and to which object; ``hint`` says what to do next.
"""

from __future__ import annotations


class DeskworkError(Exception):
    """Something went wrong. ``hint`` is the next step for the person or model that reads it."""

    exit_code = 6

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.message!r})"


class WrongUse(DeskworkError):
    """The command, a setting or an input is wrong; nothing was started."""

    exit_code = 2


class BadFile(WrongUse):
    """A file can't be read. The message names it and says why: locked, broken, empty, unknown."""


class ToolError(DeskworkError):
    """A tool could not do what was asked. The model reads the text as the call's error result."""


class NotFound(ToolError):
    """There is nothing under that name, page number or id."""

    exit_code = 2


class WebError(ToolError):
    """A search or a fetch on the web failed. ``kind`` is one of `WEB_FAILURES`.

    ``retry_after`` is the wait the other side asked for, in seconds.
    """

    def __init__(
        self, kind: str, message: str, hint: str = "", *, retry_after: float | None = None
    ) -> None:
        super().__init__(f"{kind[0].upper()}{kind[1:]}: {message}", hint)
        self.kind = kind
        self.retry_after = retry_after


WEB_FAILURES = (
    "bad address",
    "refused address",
    "robots.txt",
    "unreachable",
    "timed out",
    "too large",
    "too many redirects",
    "half a download",
    "throttled",
    "forbidden",
    "login needed",
    "not found",
    "gone",
    "block page",
    "consent wall",
    "needs JavaScript",
    "server error",
    "unreadable",
    "nothing found",
    "search failed",
)
"""How a search or a fetch can fail. A call's outcome in the journal is one of these."""


class Transient(DeskworkError):
    """A failure that may pass. ``retry_after`` is the wait the other side asked for, in seconds."""

    def __init__(self, message: str, hint: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, hint)
        self.retry_after = retry_after


class Stop(DeskworkError):
    """The job can't go on now. What is recorded stays; running it again goes on from there."""


class StorageError(Stop):
    """The journal or the blob store could not be written or read."""


class JobHeld(Stop):
    """Another runner holds this job's lease."""
