"""How a job ends: named states, each with the next step a person can take."""

from __future__ import annotations

import asyncio

from deskwork.tools.errors import DeskworkError, Stop

EXIT_CODES = {
    "done": 0,
    "needs review": 3,
    "waiting for a person": 4,
    "out of budget": 5,
    "failed": 6,
    "stopped": 130,
}


class NeedsReview(Stop):
    """The job came to an end that a person should look at."""

    exit_code = 3


class WaitingForPerson(Stop):
    """The job needs a decision that only a person can make."""

    exit_code = 4


class OutOfBudget(Stop):
    """A limit is reached. Raising it and running again loses nothing."""

    exit_code = 5


def state_of(error: BaseException) -> tuple[str, str]:
    """(state, reason with the next step) of a job that ended by this error."""
    if isinstance(error, asyncio.CancelledError | KeyboardInterrupt) or _terminated(error):
        return "stopped", "It was stopped. Run the same command again and it goes on."
    for kind, state in (
        (NeedsReview, "needs review"),
        (WaitingForPerson, "waiting for a person"),
        (OutOfBudget, "out of budget"),
    ):
        if isinstance(error, kind):
            return state, str(error)
    if isinstance(error, DeskworkError):
        return "failed", str(error)
    return "failed", f"{type(error).__name__}: {error}"


def _terminated(error: BaseException | None) -> bool:
    """Whether SIGTERM is behind it: Prefect raises an error for that wherever a run happens to be.

    Its own code may trip over it, so that another error comes out in the end.
    """
    while error is not None and not isinstance(error, DeskworkError):
        if type(error).__name__ == "TerminationSignal":
            return True
        error = error.__cause__ or error.__context__
    return False
