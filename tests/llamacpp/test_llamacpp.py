"""A real server and a real, very small model: what llama.cpp says to our requests.

The model is too small to call tools by itself. Where a job needs calls, a proxy asks the server,
keeps its usage, and puts a call in the place of what the model said.
"""

from __future__ import annotations

import base64
import io
import itertools
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import cast

import httpx
import pytest
from PIL import Image

from deskwork.tasks.endpoint import Endpoint
from deskwork.tasks.local_model import Asked, Said, ScriptedModel
from deskwork.tasks.local_server import Exchange, serve
from deskwork.tasks.model_errors import ContextOverflow, Rejected, Unavailable, WrongKey
from deskwork.tasks.profiles import Profile, find_profile
from deskwork.tasks.protocol import Codec, ImageRef, Opening, open_codec
from deskwork.tasks.replies import Usage
from deskwork.tasks.retries import RetryPolicy
from deskwork.tasks.sse import EventDecoder
from tests.jobs import TOOLS, answer, opened, runs
from tests.llamacpp.server import KEY, MODEL, WINDOW

# One server for all of them, in one process of the test run.
pytestmark = pytest.mark.xdist_group("llamacpp")

ONCE = RetryPolicy(quick_tries=1)
STEPS = 10
LIMIT = 8
"""Tokens of a reply."""


@pytest.fixture(params=["chat", "messages", "responses"])
def profile(request: pytest.FixtureRequest) -> Profile:
    return briefly(request.param)


def briefly(protocol: str) -> Profile:
    """The profile with a low limit: a small model may never end, and each token costs 20 ms."""
    return replace(find_profile("llamacpp", protocol, None), max_output=LIMIT)


def request_of(codec: Codec, *parts: str | ImageRef, system: str = "Be brief.") -> list[bytes]:
    """A request of one user's message; any picture is a small blue one."""
    opening = Opening(MODEL, "low", codec.tools(TOOLS), codec.system(system), "low")
    body = [part if isinstance(part, bytes) else picture() for part in codec.user(parts)]
    return [
        codec.head(opening),
        codec.glue(None, "user"),
        *body,
        codec.tail(opening, "user", None),
    ]


def picture() -> bytes:
    data = io.BytesIO()
    Image.new("RGB", (30, 20), "blue").save(data, "PNG")
    return base64.b64encode(data.getvalue())


class Counting(httpx.AsyncHTTPTransport):
    """The network, with the pieces of each answer counted."""

    pieces = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await super().handle_async_request(request)
        transport, inner = self, cast("httpx.AsyncByteStream", response.stream)

        class Stream(httpx.AsyncByteStream):
            async def __aiter__(self) -> AsyncIterator[bytes]:
                async for piece in inner:
                    transport.pieces += 1
                    yield piece

            async def aclose(self) -> None:
                await inner.aclose()

        response.stream = Stream()
        return response


class Caller:
    """Asks llama.cpp, and answers with its usage and a call of ``echo``, ``STEPS`` times.

    ``usage`` is by the replies that the conversation held, so that a request that was sent twice
    on a busy machine counts once. Life signs go out while the server reads a long prompt.
    """

    def __init__(self, url: str, codec: Codec) -> None:
        self.url = url
        self.codec = codec
        self.usage: dict[int, Usage] = {}

    def __call__(self, path: str, body: bytes, exchange: Exchange) -> None:
        exchange.start(200, "text/event-stream")
        with ThreadPoolExecutor(1) as pool:
            asking = pool.submit(self._ask, body)
            while not wait([asking], timeout=1.0).done:
                exchange.chunk(b": life sign\n\n")
        status, content = asking.result()
        if status == 200:
            for chunk in self._instead(path, body, content):
                exchange.chunk(chunk)
        else:
            exchange.chunk(b"data: " + content + b"\n\n")
        exchange.chunk(b"")

    def _ask(self, body: bytes) -> tuple[int, bytes]:
        headers = {"content-type": "application/json", **self.codec.headers(KEY)}
        answer = httpx.post(self.url + self.codec.path, content=body, headers=headers, timeout=120)
        return answer.status_code, answer.content

    def _instead(self, path: str, body: bytes, content: bytes) -> list[bytes]:
        decoder, parser = EventDecoder(), self.codec.parser()
        for event in [*decoder.feed(content), *decoder.close()]:
            parser.feed(event)
        usage = parser.result().usage
        assert usage is not None

        def say(asked: Asked) -> Said:
            step = asked.replies
            self.usage.setdefault(step, usage)
            if step == STEPS:
                return Said("Done.")
            return Said(calls=[("echo", {"text": f"step {step}"}, f"call_{step}")])

        return ScriptedModel(say).respond(path, body)[2]


async def test_a_job_of_ten_steps_is_read_from_the_cache(
    llamacpp: str, profile: Profile, tmp_path: Path
) -> None:
    runs.clear()
    caller = Caller(llamacpp, open_codec(profile))
    with serve(caller) as url:
        async with opened(tmp_path, None, url=url, profile=profile) as session:
            assert await answer(session) == "Done."
    assert runs == {f"step {step}": 1 for step in range(STEPS)}
    assert [*caller.usage] == [*range(STEPS + 1)]
    read = [usage.cache_read or 0 for usage in caller.usage.values()]
    sent = [usage.input or 0 for usage in caller.usage.values()]
    assert all(earlier < later for earlier, later in itertools.pairwise(sent))
    for index in range(1, STEPS + 1):
        assert read[index] > (read[index - 1] if index > 1 else 0)
        # All that was sent before, but for the few tokens that opened the reply.
        assert read[index] >= sent[index - 1] - 8


async def test_a_reply_comes_in_pieces_and_with_its_usage(llamacpp: str, profile: Profile) -> None:
    transport = Counting()
    codec = open_codec(profile)
    endpoint = Endpoint(llamacpp, codec, KEY, transport=transport, retries=ONCE)
    reply = await endpoint.ask(request_of(codec, "Tell me about the sea."))
    await endpoint.close()
    assert reply.text.strip()
    assert reply.model == MODEL
    assert transport.pieces > 5
    assert reply.usage is not None
    assert (reply.usage.input or 0) > 20
    assert 0 < (reply.usage.output or 0) <= LIMIT


async def test_a_picture_for_a_model_that_sees_none_is_a_clear_error(
    llamacpp: str, profile: Profile
) -> None:
    """The server says 500, which may pass as a rule; this one never does."""
    codec = open_codec(profile)
    endpoint = Endpoint(llamacpp, codec, KEY)
    with pytest.raises(Rejected, match=r"takes no pictures.*image input is not supported"):
        await endpoint.ask(request_of(codec, "What is this?", ImageRef("0" * 64, "image/png")))
    await endpoint.close()


async def test_a_history_longer_than_the_window_is_told_apart(
    llamacpp: str, profile: Profile
) -> None:
    codec = open_codec(profile)
    endpoint = Endpoint(llamacpp, codec, KEY)
    with pytest.raises(ContextOverflow, match=str(WINDOW)):
        await endpoint.ask(request_of(codec, "word " * (WINDOW + 10)))
    await endpoint.close()


async def test_a_wrong_key_is_refused_at_once(llamacpp: str, profile: Profile) -> None:
    codec = open_codec(profile)
    for key in ("wrong-key", None):
        endpoint = Endpoint(llamacpp, codec, key)
        with pytest.raises(WrongKey, match=r"401.*Invalid API Key"):
            await endpoint.ask(request_of(codec, "Hello"))
        await endpoint.close()


async def test_a_server_that_still_loads_is_asked_again(loading_llamacpp: str) -> None:
    codec = open_codec(briefly("chat"))
    troubles: list[str] = []
    endpoint = Endpoint(loading_llamacpp, codec, KEY, retries=RetryPolicy(quick_tries=20))

    def note(error: Unavailable, wait: float) -> None:
        troubles.append(error.message)

    reply = await endpoint.ask(request_of(codec, "Hello"), note)
    await endpoint.close()
    assert reply.text
    assert troubles
    assert all("503" in trouble and "Loading model" in trouble for trouble in troubles)


async def test_the_words_of_a_reply_are_the_same_in_all_protocols(llamacpp: str) -> None:
    """Greedy decoding of the same prompt: what differs is only how it is told."""
    texts: set[str] = set()
    for protocol in ("chat", "messages", "responses"):
        codec = open_codec(briefly(protocol))
        body = request_of(codec, "Count from one to ten.")
        body[-1] = body[-1][:-1] + b',"temperature":0}'
        endpoint = Endpoint(llamacpp, codec, KEY, retries=ONCE)
        texts.add((await endpoint.ask(body)).text)
        await endpoint.close()
    assert len(texts) == 1
