"""What the callers of one endpoint in this process know of it together, so that none hammers it.

Twenty sections that ask side by side would send sixty requests to a server that is down. After a
few failures in a row the server gets a rest, then one caller tries; the others wait for what it
hears and count its failure as their own. A wait that the server asks of one of them holds for all.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Awaitable, Callable
from typing import TypeVar

from deskwork.tasks.model_errors import Unavailable
from deskwork.tools.errors import DeskworkError

T = TypeVar("T")
TRIP = 3
"""So many failures in a row, and callers try one at a time."""


class Gate:
    """The shared knowledge. Belongs to one event loop."""

    def __init__(self) -> None:
        self._asked_until = 0.0
        self._rests_until = 0.0
        self._failures = 0
        self._probes = 0
        self._probe: asyncio.Future[Unavailable | None] | None = None

    @property
    def held_until(self) -> float:
        """The loop's time before which nothing is sent: asked for by the server, or its rest."""
        return max(self._asked_until, self._rests_until)

    @property
    def held_for(self) -> float:
        """Seconds until then."""
        return max(0.0, self.held_until - asyncio.get_running_loop().time())

    async def pass_through(
        self, send: Callable[[], Awaitable[T]], rest: Callable[[int], float]
    ) -> T:
        """Run ``send``, or wait for the outcome of the caller that tries for all.

        ``rest(n)`` are the seconds until the n-th of them may try. Raises what ``send`` raises,
        and the `Unavailable` that another caller heard meanwhile.
        """
        while self._probe is not None:
            # Shielded: a waiter that is cancelled must not take the outcome from the others.
            error = await asyncio.shield(self._probe)
            if error is not None:
                heard = type(error)(error.message, error.hint, error.retry_after)
                heard.shared = True
                raise heard
        probe = None
        if self._failures >= TRIP:
            probe = self._probe = asyncio.get_running_loop().create_future()
        try:
            reply = await send()
        except Unavailable as error:
            now = asyncio.get_running_loop().time()
            self._failures += 1
            if error.retry_after is not None:
                self._asked_until = max(self._asked_until, now + error.retry_after)
            if probe or self._failures == TRIP:
                self._probes += 1
                self._rests_until = now + rest(self._probes)
            self._settle(probe, error)
            raise
        except DeskworkError:
            self.answers()
            raise
        finally:
            self._settle(probe, None)
        self.answers()
        return reply

    def answers(self) -> None:
        """The server takes requests: said as soon as a reply begins, for it may last minutes."""
        self._failures = self._probes = 0
        self._rests_until = 0.0
        self._settle(self._probe, None)

    def _settle(
        self, probe: asyncio.Future[Unavailable | None] | None, error: Unavailable | None
    ) -> None:
        if probe is None:
            return
        if not probe.done():
            probe.set_result(error)
        if self._probe is probe:
            self._probe = None


_gates: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Gate]] = (
    weakref.WeakKeyDictionary()
)


def gate_of(address: str) -> Gate:
    """The gate of an address: one for all callers on this event loop."""
    gates = _gates.setdefault(asyncio.get_running_loop(), {})
    return gates.setdefault(address, Gate())
