"""The one retry policy: what is retried, how often, and who waits.

Short failures are retried by the client inside the task, within a bound of seconds. Longer ones
end the attempt: the journal notes the time before which nothing is sent, and the task's next
attempt (which shows in the Prefect UI) waits for it, however far away it is.
"""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class RetryPolicy:
    """Times in seconds.

    ``quick_tries`` within one attempt, with back-off ``0.5 * 2^n`` up to ``quick_longest``; an
    asked-for wait over ``quick_bound`` ends the attempt. ``pauses`` are the waits between
    attempts; when they are used up the job stops, and running it again goes on.
    """

    quick_tries: int = 3
    quick_longest: float = 8.0
    quick_bound: float = 15.0
    pauses: tuple[float, ...] = (10, 30, 60, 120, 300, 600)

    def quick_wait(self, failed_tries: int, asked: float | None) -> float | None:
        """Seconds until the next try inside this attempt, or None when the attempt ends."""
        if failed_tries >= self.quick_tries:
            return None
        if asked is not None:
            return asked if asked <= self.quick_bound else None
        wait: float = min(self.quick_longest, 0.5 * 2 ** (failed_tries - 1))
        return wait * random.uniform(0.75, 1.25)

    def pause(self, failed_attempts: int, asked: float | None) -> float:
        """Seconds to wait before the next attempt: what was asked for, else the policy's own."""
        own = self.pauses[min(failed_attempts, len(self.pauses) - 1)]
        return asked if asked is not None else own * random.uniform(0.9, 1.1)


DEFAULT_RETRIES = RetryPolicy()
