"""A server on loopback that says exactly what a test tells it, half an answer included."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpcore


@dataclass
class Reply:
    """One answer. ``declared`` is a Content-Length other than the true one."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    declared: int | None = None
    waits: threading.Event | None = None


@dataclass
class Site:
    """A running server: what it answers by path, and what it was asked."""

    port: int
    pages: dict[str, Reply | Callable[[], Reply]]
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str) -> str:
        return f"http://{self.place}{path}"

    def paths(self) -> list[str]:
        return [path for path, _ in self.asked if path != "/robots.txt"]


@contextmanager
def site(pages: dict[str, Reply | Callable[[], Reply]]) -> Iterator[Site]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            running.asked.append((self.path, dict(self.headers.items())))
            found = pages.get(self.path) or pages.get(self.path.partition("?")[0])
            reply = found() if callable(found) else found or Reply(b"Not here", 404)
            if reply.waits:
                reply.waits.wait(30)
            self.send_response(reply.status)
            headers = {"Content-Type": "text/html; charset=utf-8", **reply.headers}
            for name, value in headers.items():
                self.send_header(name, value)
            length = len(reply.body) if reply.declared is None else reply.declared
            self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(reply.body)

        do_POST = do_GET  # noqa: N815  # the base class's own name

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    running = Site(server.server_address[1], pages)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield running
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Fence(httpcore.AsyncNetworkBackend):
    """A network of one place: whatever else is connected to is noted, and never reached.

    What a broken guard lets through must not leave this machine.
    """

    def __init__(self, port: int = 0) -> None:
        self.port = port
        self.others: list[str] = []
        self._inner = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # httpcore's own signature
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        if (host, port) != ("127.0.0.1", self.port):
            self.others.append(f"{host}:{port}")
            raise httpcore.ConnectError("behind the fence")
        return await self._inner.connect_tcp(host, port, timeout)


SENTENCES = [
    "Net sales rose to 842.6 million in fiscal 2025, after 781.3 million in fiscal 2024.",
    "The company opened eleven stores during the year and closed three of them again.",
    "Management expects that capital expenditure will come to about 65 million next year.",
    "Gross margin improved by 1.4 percentage points, mostly by lower freight costs.",
    "The board proposes a dividend of 1.20 per share, which shareholders vote on in May.",
]


def article(*sentences: str) -> bytes:
    """A page as publishers make them: menu, article with a table, footer."""
    paragraphs = "\n".join(f"<p>{text}</p>" for text in (*SENTENCES, *sentences))
    return f"""<!doctype html><html lang="en"><head><title>Annual results</title></head><body>
<nav><a href="/">Home</a> <a href="/about">About us</a></nav>
<div class="menu"><ul><li><a href="/a">Markets today</a></li><li><a href="/b">Opinion</a></li></ul>
</div>
<article><h1>Annual results</h1>{paragraphs}
<table><tr><th>Million</th><th>2025</th><th>2024</th></tr>
<tr><td>Net sales</td><td>842.6</td><td>781.3</td></tr>
<tr><td>Cost of sales</td><td>(488.7)</td><td>(464.1)</td></tr></table></article>
<footer><p>Copyright Example Media. Terms of use and privacy.</p></footer></body></html>""".encode()
