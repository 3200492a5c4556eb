"""How much may be asked of one endpoint: calls at once, requests and tokens a minute.

``[endpoints."host:port"]`` in ``deskwork.toml`` sets it. Under a flow the Prefect server keeps
count, so that all flows of a machine share it; elsewhere this process does. Where nothing is set
nothing is counted and Prefect is sent no request.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import weakref
from collections.abc import AsyncIterator
from dataclasses import dataclass, fields
from typing import Any

from deskwork.tools.errors import WrongUse


@dataclass(frozen=True)
class Allowance:
    """Limits of one endpoint; None for no limit. Tokens count input and output."""

    concurrency: int | None = None
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None


NO_LIMIT = Allowance()


def read_allowances(table: Any) -> dict[str, Allowance]:
    """The table ``[endpoints]``: host, or host and port, to its limits. Raises `WrongUse`."""
    try:
        allowances = {str(place): Allowance(**row) for place, row in table.items()}
    except (TypeError, AttributeError):
        allowances = {"": Allowance(0)}
    numbers = [getattr(row, name.name) for row in allowances.values() for name in fields(Allowance)]
    if any(
        n is not None and (not isinstance(n, int) or isinstance(n, bool) or n < 1) for n in numbers
    ):
        raise WrongUse(
            "The table [endpoints] in deskwork.toml is not of the right form.",
            f'[endpoints."HOST:PORT"] holds whole numbers from 1 on under '
            f"{', '.join(name.name for name in fields(Allowance))}.",
        )
    return allowances


class Meter:
    """Counts what one endpoint is asked; shared by all callers on one event loop.

    What a request uses in tokens is known only when it is over, so it is reckoned from its
    bytes by what the last ones used; four bytes a token to begin with.
    """

    def __init__(self, place: str, allowance: Allowance) -> None:
        self.place = place
        self.allowance = allowance
        self._tokens_a_byte = 0.25
        self._slots = asyncio.Semaphore(allowance.concurrency or 1)
        self._requests = _Bucket(allowance.requests_per_minute)
        self._tokens = _Bucket(allowance.tokens_per_minute)

    @contextlib.asynccontextmanager
    async def asking(self, size: int) -> AsyncIterator[None]:
        """Wait until a request of ``size`` bytes may go, and hold its place while it runs."""
        tokens = max(1, round(size * self._tokens_a_byte))
        async with contextlib.AsyncExitStack() as held:
            if not await self._ask_prefect(held, tokens):
                await self._requests.take(1)
                await self._tokens.take(tokens)
                if self.allowance.concurrency:
                    await held.enter_async_context(self._slots)
            yield

    def learn(self, size: int, tokens: int) -> None:
        """A request of ``size`` bytes used so many tokens, input and output."""
        if size and tokens:
            self._tokens_a_byte = tokens / size

    async def _ask_prefect(self, held: contextlib.AsyncExitStack, tokens: int) -> bool:
        """True when the Prefect server let the request through."""
        context = sys.modules.get("prefect.context")
        if context is None or context.FlowRunContext.get() is None:
            return False
        from deskwork.tasks.prefect_limits import hold

        return await hold(held, self.place, self.allowance, tokens)


class _Bucket:
    """Lets ``a_minute`` units through a minute, all of a minute's at once after a quiet one."""

    def __init__(self, a_minute: int | None) -> None:
        self._most = a_minute
        self._debt = 0.0
        self._at = 0.0

    async def take(self, units: int) -> None:
        """Wait until the units are free. More than a minute's worth counts as a minute's."""
        if self._most is None:
            return
        a_second = self._most / 60
        now = asyncio.get_running_loop().time()
        self._debt = max(0.0, self._debt - (now - self._at) * a_second)
        self._at = now
        # The place in the queue is taken before the wait, so that the order is that of arrival.
        self._debt += min(units, self._most)
        if self._debt > self._most:
            await asyncio.sleep((self._debt - self._most) / a_second)


_meters: weakref.WeakKeyDictionary[
    asyncio.AbstractEventLoop, dict[tuple[str, Allowance], Meter]
] = weakref.WeakKeyDictionary()


def meter_of(place: str, allowance: Allowance) -> Meter | None:
    """The meter of an endpoint, one for all callers on this event loop; None without limits."""
    if allowance == NO_LIMIT:
        return None
    meters = _meters.setdefault(asyncio.get_running_loop(), {})
    return meters.setdefault((place, allowance), Meter(place, allowance))
