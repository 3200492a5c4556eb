"""Many callers of one endpoint: what they send while it fails, and how much they may ask."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from deskwork.tasks.allowance import Allowance
from deskwork.tasks.endpoint import Endpoint, Held
from deskwork.tasks.local_server import Exchange, serve
from deskwork.tasks.model_errors import Rejected, Unavailable
from deskwork.tasks.profiles import find_profile
from deskwork.tasks.protocol import open_codec
from deskwork.tasks.retries import RetryPolicy
from tests.wire.test_endpoint import BODY, says, status

PATIENT = RetryPolicy(quick_tries=100, quick_longest=0.05)
BUSY = {"error": {"message": "busy"}}


def endpoint(url: str, **options: Any) -> Endpoint:
    codec = open_codec(find_profile("gateway", None, None))
    return Endpoint(url, codec, **{"retries": PATIENT, **options})


class Counting:
    """Answers by a rule; counts requests, failures, and how many are open at once."""

    def __init__(self, rule: Callable[[int], Callable[[Exchange], None]]) -> None:
        self.rule = rule
        self.lock = threading.Lock()
        self.requests = 0
        self.open = 0
        self.most_open = 0

    def __call__(self, path: str, body: bytes, exchange: Exchange) -> None:
        with self.lock:
            self.requests += 1
            number = self.requests
            self.open += 1
            self.most_open = max(self.most_open, self.open)
        try:
            self.rule(number)(exchange)
        finally:
            with self.lock:
                self.open -= 1


async def test_twenty_callers_do_not_hammer_a_server_that_is_down() -> None:
    ends = time.monotonic() + 1.0
    failures = 0

    def rule(number: int) -> Callable[[Exchange], None]:
        nonlocal failures
        if time.monotonic() < ends:
            failures += 1
            return status(503, BUSY)
        return says("hi")

    server = Counting(rule)
    with serve(server) as url:
        # Sections share an endpoint, other jobs of the process have their own: both are one here.
        shared = endpoint(url)
        callers = [shared] * 10 + [endpoint(url) for _ in range(10)]
        replies = await asyncio.gather(*[caller.ask([BODY]) for caller in callers])
    assert [reply.text for reply in replies] == ["hi"] * 20
    # The first twenty are out before the first failure is known. From then on there is one try
    # each 0.05 s; each caller for itself would send 400.
    assert 20 < failures <= 20 + 20
    assert server.requests == failures + 20


async def test_one_caller_at_a_time_tries_and_its_failure_is_everyone_s() -> None:
    server = Counting(lambda number: status(500, BUSY))
    with serve(server) as url:
        once = RetryPolicy(quick_tries=1, quick_longest=0.05)
        for _ in range(3):
            with pytest.raises(Unavailable):
                await endpoint(url, retries=once).ask([BODY])
        asked = [endpoint(url, retries=once).ask([BODY]) for _ in range(20)]
        outcomes = await asyncio.gather(*asked, return_exceptions=True)
    assert server.requests == 4
    assert {str(outcome) for outcome in outcomes} == {f'{url} answered 500: "busy".'}
    # Each knows whether it sent something: usage and traces count what was sent.
    assert sorted(outcome.shared for outcome in outcomes if isinstance(outcome, Unavailable)) == [
        False,
        *[True] * 19,
    ]


async def test_a_loading_server_is_asked_by_one_for_all() -> None:
    loading = status(503, {"error": {"code": 503, "message": "Loading model"}})
    server = Counting(lambda number: loading if number <= 26 else says("hi"))
    with serve(server) as url:
        # One try alone would not outlast it; loading is waited for apart from the tries.
        policy = RetryPolicy(quick_tries=1, quick_longest=0.05)
        callers = [endpoint(url, retries=policy).ask([BODY]) for _ in range(20)]
        replies = await asyncio.gather(*callers)
    assert [reply.text for reply in replies] == ["hi"] * 20
    assert server.requests == 26 + 20


async def test_a_reply_that_begins_lets_the_others_go_before_it_ends() -> None:
    more, all_in = threading.Event(), threading.Barrier(5)

    def begins(exchange: Exchange) -> None:
        exchange.start(200, "text/event-stream")
        exchange.chunk(b": thinking\n\n")
        all_in.wait(20)  # breaks unless all five are being answered at once
        says_rest(exchange)

    def says_rest(exchange: Exchange) -> None:
        more.set()
        exchange.chunk(
            b'data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}\n\n'
        )
        exchange.chunk(b"")

    server = Counting(lambda number: status(503, BUSY) if number <= 5 else begins)
    with serve(server) as url:
        one = endpoint(url)
        replies = await asyncio.gather(*[one.ask([BODY]) for _ in range(5)])
    assert [reply.text for reply in replies] == ["x"] * 5
    assert more.is_set()


async def test_a_wait_asked_of_one_holds_back_all() -> None:
    waits: list[float] = []
    begun, released = asyncio.Event(), asyncio.Event()

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        begun.set()
        if len(waits) == 3:
            released.set()
        await released.wait()

    server = Counting(
        lambda number: status(429, BUSY, retry_after="9") if number == 1 else says("hi")
    )
    with serve(server) as url:
        first = asyncio.create_task(endpoint(url, sleep=sleep).ask([BODY]))
        await begun.wait()
        others = [asyncio.create_task(endpoint(url, sleep=sleep).ask([BODY])) for _ in range(2)]
        await asyncio.wait_for(released.wait(), 20)
        assert server.requests == 1
        for task in (first, *others):
            assert (await task).text == "hi"
    assert all(8 < wait <= 9 for wait in waits)
    assert len(waits) == 3
    assert server.requests == 4


async def test_a_far_wait_asked_of_one_ends_the_attempts_of_all() -> None:
    server = Counting(lambda number: status(429, BUSY, retry_after="600"))
    with serve(server) as url:
        with pytest.raises(Unavailable):
            await endpoint(url).ask([BODY])
        with pytest.raises(Held, match="left alone") as caught:
            await endpoint(url).ask([BODY])
    assert 590 < (caught.value.retry_after or 0) <= 600
    assert server.requests == 1


async def test_a_far_wait_asked_of_another_meanwhile_ends_the_attempt() -> None:
    other_is_told, loop, begun = threading.Event(), asyncio.get_running_loop(), asyncio.Event()

    def rule(number: int) -> Callable[[Exchange], None]:
        return busy_later if number == 1 else status(429, BUSY, retry_after="600")

    def busy_later(exchange: Exchange) -> None:
        loop.call_soon_threadsafe(begun.set)
        other_is_told.wait(20)
        status(500, BUSY)(exchange)

    async def at_once(seconds: float) -> None:
        """No time passes."""

    server = Counting(rule)
    with serve(server) as url:
        first = asyncio.create_task(endpoint(url, sleep=at_once).ask([BODY]))
        await asyncio.wait_for(begun.wait(), 20)
        with pytest.raises(Unavailable):
            await endpoint(url).ask([BODY])
        other_is_told.set()
        with pytest.raises(Held):
            await first
    assert server.requests == 2


async def test_a_caller_that_is_stopped_while_it_tries_leaves_the_way_free() -> None:
    silent, asked, loop = threading.Event(), asyncio.Event(), asyncio.get_running_loop()

    def hangs(exchange: Exchange) -> None:
        loop.call_soon_threadsafe(asked.set)
        silent.wait(20)

    server = Counting(
        lambda number: status(500, BUSY) if number <= 3 else hangs if number == 4 else says("hi")
    )
    with serve(server) as url:
        for _ in range(3):
            with pytest.raises(Unavailable):
                await endpoint(url, retries=RetryPolicy(quick_tries=1, quick_longest=0.05)).ask(
                    [BODY]
                )
        hanging = asyncio.create_task(endpoint(url).ask([BODY]))
        await asyncio.wait_for(asked.wait(), 20)
        waiting = asyncio.create_task(endpoint(url).ask([BODY]))
        await asyncio.sleep(0)
        hanging.cancel()
        assert (await asyncio.wait_for(waiting, 20)).text == "hi"
        silent.set()


async def test_a_refusal_is_an_answer_and_holds_back_nobody() -> None:
    pair = threading.Barrier(2)

    def together(exchange: Exchange) -> None:
        pair.wait(10)  # breaks where one is let through alone
        says("hi")(exchange)

    codes = (500, 500, 400, 500)
    server = Counting(
        lambda number: status(codes[number - 1], BUSY) if number <= len(codes) else together
    )
    once = RetryPolicy(quick_tries=1, quick_longest=0.05)
    with serve(server) as url:
        for code in codes:
            with pytest.raises(Rejected if code == 400 else Unavailable):
                await endpoint(url, retries=once).ask([BODY])
        replies = await asyncio.gather(*[endpoint(url, retries=once).ask([BODY]) for _ in "ab"])
    assert [reply.text for reply in replies] == ["hi", "hi"]


async def test_calls_at_once_are_bounded() -> None:
    pair = threading.Barrier(2)

    def in_pairs(exchange: Exchange) -> None:
        pair.wait(20)
        says("hi")(exchange)

    server = Counting(lambda number: in_pairs)
    with serve(server) as url:
        callers = [endpoint(url, allowance=Allowance(concurrency=2)) for _ in range(8)]
        await asyncio.gather(*[caller.ask([BODY]) for caller in callers])
    assert server.most_open == 2


@pytest.mark.parametrize(
    "allowance",
    [Allowance(requests_per_minute=60), Allowance(tokens_per_minute=240)],
)
async def test_rates_are_kept_after_a_first_burst(allowance: Allowance) -> None:
    """60 requests, or 60 of four tokens, go at once; the next one a second later."""
    server = Counting(lambda number: status(400, BUSY))
    with serve(server) as url:
        one = endpoint(url, allowance=allowance)
        began = time.monotonic()
        await asyncio.gather(*[one.ask([BODY]) for _ in range(60)], return_exceptions=True)
        last = asyncio.create_task(one.ask([BODY]))
        await asyncio.wait([last], timeout=20)
        assert isinstance(last.exception(), Rejected)
    assert server.requests == 61
    assert time.monotonic() - began >= 1.0
