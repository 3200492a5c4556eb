"""A local model served over HTTP on loopback, for tests and for other clients to talk to."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from deskwork.tasks.local_model import LocalModel

Respond = Callable[[str, bytes, "Exchange"], None]


class Exchange(BaseHTTPRequestHandler):
    """One request. A test may answer it as it likes through `start` and `chunk`."""

    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        """Read the body and let the server's function answer."""
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.server.respond(self.path, body, self)

    def start(self, status: int, media_type: str, headers: dict[str, str] | None = None) -> None:
        """Send the status and the headers of a chunked answer."""
        self.send_response(status)
        for name, value in {"content-type": media_type, **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def chunk(self, data: bytes) -> None:
        """Send a part of the body at once; an empty one ends it."""
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the console belongs to others."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, respond: Respond) -> None:
        self.respond = respond
        super().__init__(("127.0.0.1", port), Exchange)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed in mid-request is no error here."""


@contextlib.contextmanager
def serve(model: LocalModel | Respond, port: int = 0) -> Iterator[str]:
    """Serve a model, or a function of (path, body, exchange); yields the address to set."""
    if isinstance(model, LocalModel):
        lock, local = threading.Lock(), model

        def respond(path: str, body: bytes, exchange: Exchange) -> None:
            with lock:
                status, media_type, chunks = local.respond(path, body)
            exchange.start(status, media_type)
            for part in chunks:
                exchange.chunk(part)
            exchange.chunk(b"")

        answer: Respond = respond
    else:
        answer = model
    server = _Server(port, answer)
    thread = threading.Thread(
        target=server.serve_forever, args=(0.02,), name="local model", daemon=True
    )
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
