"""Deaths to order: a process that kills itself at a named point, to prove that nothing is lost.

``DESKWORK_DIE_AT=after-reply:3`` ends the process by SIGKILL, as a power cut would, when it comes
to that point for the third time. Without the variable a point costs one look-up. Nothing else can
be made to fail here: a point either does nothing or leaves no time for anything.
"""

from __future__ import annotations

import os
import signal
from collections import Counter

VARIABLE = "DESKWORK_DIE_AT"
POINTS = (
    "job-created",
    "indexing",
    "before-request",
    "after-reply",
    "reply-recorded",
    "before-result",
    "result-recorded",
    "publishing",
    "delivering",
    "delivered",
    "filing-found",
    "filing-reported",
    "before-outcome",
    "after-outcome",
)
"""In the order in which a job comes to them."""

_passed: Counter[str] = Counter()


def point(name: str) -> None:
    """Die here if that is what was asked for."""
    wanted = os.environ.get(VARIABLE)
    if wanted is None:
        return
    _passed[name] += 1
    place, _, count = wanted.partition(":")
    if place == name and _passed[name] == int(count or 1):
        os.kill(os.getpid(), signal.SIGKILL)
