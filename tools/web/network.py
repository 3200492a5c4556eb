"""The connection: to the address that was checked, with the name's own TLS, and no proxy."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterable
from typing import Any

import httpcore
import httpx

from deskwork.tools.web.addresses import Guard


class PinnedBackend(httpcore.AsyncNetworkBackend):
    """Resolves a host once through the guard and connects to that answer.

    Certificates are still checked by the host's name: the pool asks for TLS with the name of the
    address, whatever was connected to.
    """

    def __init__(self, guard: Guard, inner: httpcore.AsyncNetworkBackend | None = None) -> None:
        self._guard = guard
        self._inner = inner or httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # httpcore's own signature
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """A stream to the host. Raises `WebError` for an address that is refused."""
        address = await self._guard.address(host, port)
        return await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109  # the same
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Never: there are no pages there."""
        raise httpcore.ConnectError("sockets of this machine are not fetched from")

    async def sleep(self, seconds: float) -> None:
        """Wait, for the pool's own retries."""
        await self._inner.sleep(seconds)


class PinnedTransport(httpx.AsyncBaseTransport):
    """An httpx transport over that backend. Failures come as httpcore's own errors."""

    def __init__(
        self,
        guard: Guard,
        ssl_context: ssl.SSLContext | None = None,
        network: httpcore.AsyncNetworkBackend | None = None,
    ) -> None:
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=ssl_context or httpx.create_ssl_context(),
            max_connections=20,
            network_backend=PinnedBackend(guard, network),
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request; its body is streamed."""
        response = await self._pool.handle_async_request(
            httpcore.Request(
                method=request.method,
                url=httpcore.URL(
                    scheme=request.url.raw_scheme,
                    host=request.url.raw_host,
                    port=request.url.port,
                    target=request.url.raw_path,
                ),
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
        )
        return httpx.Response(
            status_code=response.status,
            headers=response.headers,
            stream=_Stream(response),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        """Close every connection."""
        await self._pool.aclose()


class _Stream(httpx.AsyncByteStream):
    def __init__(self, response: httpcore.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._response.aiter_stream():
            yield part

    async def aclose(self) -> None:
        await self._response.aclose()
