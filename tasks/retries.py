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
    A server that loads its model is waited for up to ``loading_longest`` inside one attempt.
    """

    quick_tries: int = 3
    quick_longest: float = 8.0
    quick_bound: float = 15.0
    loading_longest: float = 600.0
    pauses: tuple[float, ...] = (10, 30, 60, 120, 300, 600)

    def quick_wait(self, failed_tries: int, asked: float | None) -> float | None:
        """Seconds until the next try inside this attempt, or None when the attempt ends."""
        if failed_tries >= self.quick_tries:
            return None
        if asked is not None:
            return asked if asked <= self.quick_bound else None
        return self.back_off(failed_tries) * random.uniform(0.75, 1.25)

    def back_off(self, failures: int) -> float:
        """Seconds to leave a server alone after so many failures in a row."""
        wait: float = min(self.quick_longest, 0.5 * 2 ** min(failures - 1, 30))
        return wait

    def loading_wait(self, waited: float, asked: float | None) -> float | None:
        """Seconds until a loading server is asked again, after ``waited``, or None for no more."""
        if waited >= self.loading_longest:
            return None
        # The same doubling as for other failures, told by the time waited instead of the tries.
        wait = min(self.quick_longest, max(0.5, waited))
        return min(wait if asked is None else asked, self.loading_longest)

    def pause(self, failed_attempts: int, asked: float | None) -> float:
        """Seconds to wait before the next attempt: what was asked for, else the policy's own."""
        own = self.pauses[min(failed_attempts, len(self.pauses) - 1)]
        return asked if asked is not None else own * random.uniform(0.9, 1.1)


DEFAULT_RETRIES = RetryPolicy()
