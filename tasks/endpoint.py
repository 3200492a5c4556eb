"""One model endpoint over HTTP: a request is bytes, a reply comes whole or not at all.

The transport can be given, so that tests and the built-in answerer need no network.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx

from deskwork.tasks.allowance import NO_LIMIT, Allowance, meter_of
from deskwork.tasks.encoding import loads
from deskwork.tasks.gate import Gate, gate_of
from deskwork.tasks.model_errors import (
    BrokenStream,
    Loading,
    Rejected,
    Unavailable,
    check_size,
    from_response,
    from_stream,
)
from deskwork.tasks.protocol import Codec
from deskwork.tasks.replies import Reply
from deskwork.tasks.retries import DEFAULT_RETRIES, RetryPolicy
from deskwork.tasks.secrets import SecretAway
from deskwork.tasks.sse import EventDecoder
from deskwork.tools.errors import DeskworkError, Stop
from deskwork.tools.masking import masked


class NotReachable(Unavailable):
    """Nothing answers at the endpoint's address."""


class Held(Unavailable):
    """Nothing is sent now: another caller was asked to wait, or met failures in a row."""

    shared = True


class Endpoint:
    """Sends requests for one codec. Close it when done.

    ``idle_seconds`` is how long the server may be silent, not how long a reply may take:
    thinking can last for many minutes, and keep-alives count as life signs. All endpoints of one
    address share what is known of it (`gate`) and its ``allowance``. ``look_up`` gives the key
    where ``key`` doesn't; it is called before the first request.
    """

    def __init__(
        self,
        url: str,
        codec: Codec,
        key: str | None = None,
        *,
        look_up: Callable[[], Awaitable[str | None]] | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        retries: RetryPolicy = DEFAULT_RETRIES,
        idle_seconds: float = 600.0,
        allowance: Allowance = NO_LIMIT,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.url = url
        self.codec = codec
        self.retries = retries
        self._allowance = allowance
        self._place = urlsplit(url).netloc
        self._key = key
        self._look_up = look_up
        self._sleep = sleep
        self.streams: bool | None = None
        """Whether the last reply came in pieces; None before the first."""
        self._client = httpx.AsyncClient(
            transport=transport,
            # Loading the certificates takes as long as several steps; plain http needs none.
            verify=url.startswith("https://"),
            timeout=httpx.Timeout(idle_seconds, connect=15.0, pool=None),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def ask(
        self,
        body: Sequence[bytes],
        on_trouble: Callable[[Unavailable, float], None] | None = None,
    ) -> Reply:
        """Send one request, given in pieces, and return the complete reply.

        Short failures are retried here; ``on_trouble(error, wait)`` hears of each. Raises
        `Unavailable` when the quick tries are used up, `Rejected` when the endpoint refuses.
        """
        size = sum(map(len, body))
        check_size(self.codec.profile.max_body, size, self.url)
        gate = gate_of(self.url)
        failed, loading, held_until = 0, 0.0, 0.0
        while True:
            try:
                await self._find_key()
                held_until = await self._until_free(gate, held_until, on_trouble)
                return await gate.pass_through(
                    lambda: self._send(gate, body, size), self.retries.back_off
                )
            except DeskworkError as error:
                # Servers echo what they refuse; what is told or recorded must not hold the key.
                error.message = masked(error.message, self._key, "the key")
                error.hint = masked(error.hint, self._key, "the key")
                if not isinstance(error, Unavailable) or isinstance(error, Held):
                    raise
                if isinstance(error, Loading):
                    wait = self.retries.loading_wait(loading, error.retry_after)
                    loading += wait or 0.0
                else:
                    failed += 1
                    wait = self.retries.quick_wait(failed, error.retry_after)
                if wait is None:
                    raise
                if on_trouble:
                    on_trouble(error, wait)
                if (held := gate.held_for) <= self.retries.quick_bound:
                    wait, held_until = max(wait, held), gate.held_until
                await self._sleep(wait)

    async def look(self, path: str, *, from_root: bool = False) -> dict[str, Any]:
        """What the server answers to a GET, as an object; empty where it answers anything else.

        ``path`` stands under the endpoint's address, or under its host alone.
        """
        base = urlunsplit((*urlsplit(self.url)[:2], "", "", "")) if from_root else self.url
        failures = (httpx.HTTPError, httpx.InvalidURL, ValueError, TimeoutError, Unavailable)
        with contextlib.suppress(*failures):
            await self._find_key()
            # httpx limits each silence; a server that drips would be listened to for ever.
            async with asyncio.timeout(10.0):
                found = await self._client.get(base + path, headers=self._headers)
            value = loads(found.content) if found.status_code == 200 else {}
            return value if isinstance(value, dict) else {}
        return {}

    async def _find_key(self) -> None:
        """Look the key up, once. Raises `Unavailable` where it can't be had now."""
        if self._look_up is None:
            return
        try:
            self._key = await self._look_up()
        except SecretAway as error:
            raise Unavailable(error.message, error.hint) from None
        self._look_up = None

    @property
    def _headers(self) -> dict[str, str]:
        return {"content-type": "application/json", **self.codec.headers(self._key)}

    async def _until_free(
        self,
        gate: Gate,
        waited_until: float,
        on_trouble: Callable[[Unavailable, float], None] | None,
    ) -> float:
        """Wait until the time before which the server wants nothing from anybody.

        Raises `Held` when that is far. ``waited_until`` is the time that was waited for already;
        returns the one that is now.
        """
        while (wait := gate.held_for) and gate.held_until > waited_until:
            held = Held(
                f"{self.url} is left alone after what another caller heard.", retry_after=wait
            )
            if wait > self.retries.quick_bound:
                raise held
            waited_until = gate.held_until
            if on_trouble:
                on_trouble(held, wait)
            await self._sleep(wait)
        return waited_until

    async def _send(self, gate: Gate, body: Sequence[bytes], size: int) -> Reply:
        meter = meter_of(self._place, self._allowance)
        if meter is None:
            return await self._try(gate, body, size)
        async with meter.asking(size):
            reply = await self._try(gate, body, size)
        if reply.usage:
            meter.learn(size, (reply.usage.input or 0) + (reply.usage.output or 0))
        return reply

    async def _try(self, gate: Gate, body: Sequence[bytes], size: int) -> Reply:
        headers = {**self._headers, "content-length": str(size)}
        try:
            async with self._client.stream(
                "POST", self.url + self.codec.path, content=_pieces(body), headers=headers
            ) as response:
                if response.status_code != 200:
                    raise self._refusal(response, await response.aread())
                self.streams = "event-stream" in response.headers.get("content-type", "")
                if self.streams:
                    gate.answers()
                    return await self._stream(response)
                return self._whole(await response.aread())
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise NotReachable(
                f"Nothing answers at {self.url}: {_cause(error)}.",
                "Check DESKWORK_MODEL_URL (model_url in deskwork.toml) and that the server runs, "
                "then run the same command again.",
            ) from error
        except httpx.ReadTimeout as error:
            raise BrokenStream(
                f"{self.url} was silent for {self._client.timeout.read:.0f} s in mid-reply."
            ) from error
        except httpx.InvalidURL as error:
            raise Rejected(f"{self.url} is no address: {error}.") from error
        except httpx.HTTPError as error:
            raise BrokenStream(f"The connection to {self.url} broke: {_cause(error)}.") from error

    async def _stream(self, response: httpx.Response) -> Reply:
        decoder, parser = EventDecoder(), self.codec.parser()
        try:
            async for chunk in response.aiter_bytes():
                for event in decoder.feed(chunk):
                    parser.feed(event)
        except httpx.TransportError:
            # A connection cut after the finish reason took nothing with it but the farewell.
            with contextlib.suppress(BrokenStream):
                return parser.result()
            raise
        for event in decoder.close():
            parser.feed(event)
        return parser.result()

    def _whole(self, data: bytes) -> Reply:
        try:
            value: Any = loads(data)
        except ValueError:
            # A web page where a reply was due is a wrong address: asking again won't help.
            kind = Rejected if b"<html" in data[:1000].lower() else BrokenStream
            raise kind(
                f"{self.url} answered something that is no model reply: "
                f"{data[:80].decode('utf-8', 'replace')!r}.",
                "Check DESKWORK_MODEL_URL; it ends in /v1 as a rule.",
            ) from None
        if isinstance(value, dict) and value.get("error"):
            raise from_stream(value["error"], self.url, value.get("request_id"))
        return self.codec.whole(value)

    def _refusal(self, response: httpx.Response, body: bytes) -> Unavailable | Stop:
        if response.is_redirect:
            return Rejected(
                f"{self.url} redirects to {response.headers.get('location')}.",
                "Set DESKWORK_MODEL_URL to the address it redirects to.",
            )
        error = from_response(response.status_code, response.headers, body, self.url)
        assert isinstance(error, Unavailable | Stop)
        return error


async def _pieces(body: Sequence[bytes]) -> AsyncIterator[bytes]:
    for piece in body:
        yield piece


def _cause(error: Exception) -> str:
    return str(error).rstrip(".") or type(error).__name__
