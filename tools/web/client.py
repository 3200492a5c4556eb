"""One GET: redirects by hand, each checked anew; bytes, time and hops bounded; no half pages."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from importlib.metadata import version

import httpcore
import httpx

from deskwork.tools.errors import WebError
from deskwork.tools.web.addresses import Guard
from deskwork.tools.web.network import PinnedTransport

REDIRECTS = 5
"""Hops from the address that was asked for, at most."""
CONNECT_SECONDS = 10.0
_MOVED = (301, 302, 303, 307, 308)
# More compact encodings make bigger bombs, and not every server's are decoded here.
_ENCODINGS = "gzip, deflate"


@dataclass(frozen=True)
class Bounds:
    """What one fetch may take: bytes after decoding, seconds in all."""

    max_bytes: int = 50_000_000
    seconds: float = 60.0


@dataclass(frozen=True)
class Answer:
    """A whole answer. ``media_type`` is bare, in lower case; empty where the server gave none."""

    url: str
    final_url: str
    status: int
    headers: httpx.Headers
    body: bytes

    @property
    def media_type(self) -> str:
        """The type of the bytes as the server calls it, without its parameters."""
        return str(self.headers.get("content-type", "")).partition(";")[0].strip().lower()


@dataclass(frozen=True)
class Key:
    """A header with a secret, for addresses of this origin alone."""

    origin: str
    header: str
    value: str = field(repr=False)

    def headers_for(self, at: httpx.URL) -> dict[str, str]:
        """The header, or none for another scheme, host or port."""
        own = httpx.URL(self.origin)
        same = (at.scheme, at.host, at.port) == (own.scheme, own.host, own.port)
        return {self.header: self.value} if same else {}


BeforeHop = Callable[[httpx.URL], Awaitable[None]]
"""Called with each address before it is asked; it may wait, and refuse by raising `WebError`."""


def user_agent(contact: str = "") -> str:
    """How we name ourselves: product, version and, where a person gave one, how to reach them."""
    return f"Deskwork/{version('deskwork')}" + (f" ({contact})" if contact else "")


class Client:
    """Fetches pages. ``guard`` decides what may be reached; ``network`` stands in for it in tests.

    ``agent`` is a User-Agent in place of our own. It takes no proxy, cookie or password from the
    environment and keeps none between requests.
    """

    def __init__(
        self,
        guard: Guard,
        *,
        bounds: Bounds | None = None,
        contact: str = "",
        agent: str = "",
        key: Key | None = None,
        ssl_context: ssl.SSLContext | None = None,
        network: httpcore.AsyncNetworkBackend | None = None,
    ) -> None:
        self._guard = guard
        self._bounds = bounds or Bounds()
        self._ssl_context = ssl_context
        self._network = network
        self._key = key
        self._headers = {
            "User-Agent": agent or user_agent(contact),
            "Accept": "text/html,application/xhtml+xml,application/pdf,*/*;q=0.8",
            "Accept-Encoding": _ENCODINGS,
        }

    def check(self, url: str) -> httpx.URL:
        """The address, parsed, if it may be asked at all. Raises `WebError`."""
        return self._guard.check(url)

    async def get(
        self,
        url: str,
        before: BeforeHop | None = None,
        *,
        bounds: Bounds | None = None,
    ) -> Answer:
        """The answer under an address, whatever its status, after redirects.

        Raises `WebError`: bad or refused address, unreachable, timed out, too large, too many
        redirects, half a download. The time that ``before`` waits counts for nothing.
        """
        bounds = bounds or self._bounds
        left = bounds.seconds
        at = self._guard.check(url)
        for _ in range(REDIRECTS + 1):
            if before:
                await before(at)
            clock = asyncio.get_running_loop().time
            began = clock()
            try:
                async with asyncio.timeout(left):
                    answer = await self._one(url, at, bounds)
            except TimeoutError:
                raise WebError(
                    "timed out",
                    f"{_shown(at)} took longer than {bounds.seconds:g} seconds.",
                    "Try another source; `seconds` in the table [web] of deskwork.toml is longer.",
                ) from None
            left = max(0.01, left - (clock() - began))
            target = answer.headers.get("location")
            if answer.status not in _MOVED or not target:
                return answer
            at = self._next(at, target)
        raise WebError(
            "too many redirects", f"{url} leads on more than {REDIRECTS} times.", "Try another."
        )

    def _next(self, at: httpx.URL, target: str) -> httpx.URL:
        try:
            joined = at.join(target)
        except (httpx.InvalidURL, ValueError):
            raise WebError("bad address", f"{_shown(at)} redirects to no address.") from None
        return self._guard.check(str(joined))

    async def _one(self, url: str, at: httpx.URL, bounds: Bounds) -> Answer:
        # A client for each request: no connection outlives the check of its address, no cookie
        # leads from one page to another.
        transport = PinnedTransport(self._guard, self._ssl_context, self._network)
        timeout = httpx.Timeout(bounds.seconds, connect=CONNECT_SECONDS)
        try:
            async with httpx.AsyncClient(
                transport=transport, trust_env=False, follow_redirects=False, timeout=timeout
            ) as client:
                own = self._key.headers_for(at) if self._key else {}
                request = client.build_request("GET", at, headers={**self._headers, **own})
                response = await client.send(request, stream=True)
                try:
                    body = await _body(response, at, bounds)
                finally:
                    await response.aclose()
        except httpcore.TimeoutException:
            raise TimeoutError from None
        except (httpcore.NetworkError, httpcore.ConnectError, ssl.SSLError, OSError) as error:
            raise WebError(
                "unreachable", f"{_shown(at)} can't be reached: {_cause(error)}.", "Try another."
            ) from None
        except (httpcore.RemoteProtocolError, httpcore.ProtocolError) as error:
            raise _broken_off(at, error) from None
        except httpx.DecodingError:
            raise WebError(
                "unreadable", f"What {_shown(at)} sent is packed and can't be unpacked."
            ) from None
        except (httpx.HTTPError, httpcore.UnsupportedProtocol) as error:
            raise WebError("unreachable", f"{_shown(at)}: {_cause(error)}.") from None
        return Answer(url, str(at), response.status_code, response.headers, body)


async def _body(response: httpx.Response, at: httpx.URL, bounds: Bounds) -> bytes:
    declared = response.headers.get("content-length", "")
    expected = int(declared) if declared.isdigit() else None
    if expected is not None and expected > bounds.max_bytes:
        raise _too_large(at, f"{expected:,} bytes", bounds)
    body = bytearray()
    async for part in response.aiter_bytes():
        body += part
        if len(body) > bounds.max_bytes:
            raise _too_large(at, "more", bounds)
    got = response.num_bytes_downloaded
    if expected is not None and got != expected:
        raise _half(at, f"{got:,} of {expected:,} bytes came")
    return bytes(body)


def _too_large(at: httpx.URL, size: str, bounds: Bounds) -> WebError:
    return WebError(
        "too large",
        f"{_shown(at)} has {size}; {bounds.max_bytes:,} are taken at most.",
        "`max_bytes` in the table [web] of deskwork.toml is the limit.",
    )


def _broken_off(at: httpx.URL, error: Exception) -> WebError:
    told = str(error)
    if "without sending complete message body" in told or "incomplete" in told:
        return _half(at, told)
    return WebError("unreachable", f"{_shown(at)} doesn't speak HTTP: {_cause(error)}.")


def _half(at: httpx.URL, why: str) -> WebError:
    return WebError(
        "half a download", f"{_shown(at)} broke off: {why}.", "Fetch it again, or another source."
    )


def _cause(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def _shown(at: httpx.URL) -> str:
    text = str(at)
    return text if len(text) < 300 else text[:300] + "…"
