"""Waiting for a store that is away: a database that is restarted, an object store that is moved.

Only for what may safely be done once more: the caller says so by what it passes.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from deskwork.tools.errors import StorageError

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")

LONGEST = 60.0
"""Seconds for which a store is waited for."""


class StoreAway(StorageError):
    """The store can't be reached just now, or the connection broke off in mid-call."""


def wait_out(call: Callable[[], T], longest: float = LONGEST) -> T:
    """The result of a call that is made again while the store is away, up to ``longest`` seconds.

    It is tried after 0.1 s, 0.2 s and so on up to 2 s. Raises the last `StoreAway` after that.
    """
    deadline, pause = time.monotonic() + longest, 0.1
    while True:
        try:
            return call()
        except StoreAway:
            if time.monotonic() + pause > deadline:
                raise
        time.sleep(pause)
        pause = min(2.0, pause * 2)


def waiting(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """A method that may be run again as a whole, and is while the store is away."""

    def patient(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        longest: Any = getattr(self, "patience", LONGEST)
        return wait_out(lambda: method(self, *args, **kwargs), longest)

    functools.update_wrapper(patient, method)
    return patient
