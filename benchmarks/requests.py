"""Building and sending a request from a long history: linear in its bytes.

Run: python -m benchmarks.requests

The row: building and sending a request from a 4 MB history, on loopback, under 30 ms.
"""

from __future__ import annotations

import asyncio
import statistics
import time

from benchmarks.steps import row
from deskwork.tasks.conversation import Conversation
from deskwork.tasks.endpoint import Endpoint
from deskwork.tasks.entries import Entry
from deskwork.tasks.local_model import Said, ScriptedModel
from deskwork.tasks.local_server import Exchange, serve
from deskwork.tasks.profiles import find_profile
from deskwork.tasks.protocol import open_codec


def history(megabytes: float) -> Conversation:
    """A conversation with results of 20 kB each."""
    codec = open_codec(find_profile("gateway", None, None))
    conversation = Conversation(1, {"label": "x", "model": "m", "tier": "high"}, codec, b"")
    body = codec.result("call", "x" * 20_000, [], is_error=False)[0]
    assert isinstance(body, bytes)
    system = Entry(0, 1, "system", {}, (), b"", 0.0)
    conversation.apply(system, codec.system("You are measured."))
    for place in range(int(megabytes * 1e6 / len(body))):
        conversation.apply(Entry(place + 1, 1, "tool", {"place": place}, (), b"", 0.0), body)
    return conversation


def answer(path: str, body: bytes, exchange: Exchange) -> None:
    """Reply at once."""
    _, media_type, chunks = ScriptedModel([Said("ok")]).respond(
        path, b'{"model":"m","stream":true}'
    )
    exchange.start(200, media_type)
    exchange.chunk(b"".join(chunks))
    exchange.chunk(b"")


async def measure(url: str, megabytes: float) -> float:
    """Median milliseconds from the history to the reply, less those of an empty history."""
    endpoint = Endpoint(url, open_codec(find_profile("gateway", None, None)))
    times = []
    for conversation in (history(0), history(megabytes)):
        each = []
        for _ in range(15):
            began = time.perf_counter()
            await endpoint.ask(conversation.request())
            each.append((time.perf_counter() - began) * 1000)
        times.append(statistics.median(each))
    await endpoint.close()
    return times[1] - times[0]


def main() -> None:
    with serve(answer) as url:
        small, large = (asyncio.run(measure(url, size)) for size in (1, 4))
    row("building and sending a 4 MB history, ms", large, "under 30")
    row("the same for 4 MB over 1 MB", large / small, "about 4")


if __name__ == "__main__":
    main()
