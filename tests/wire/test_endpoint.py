"""The endpoint over a real socket: retries, waits, broken streams, error texts."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from deskwork.tasks.endpoint import Endpoint, NotReachable
from deskwork.tasks.local_model import Said, ScriptedModel
from deskwork.tasks.local_server import Exchange, serve
from deskwork.tasks.model_errors import (
    BrokenStream,
    ContextOverflow,
    OutOfCredit,
    Rejected,
    Unavailable,
    WrongKey,
)
from deskwork.tasks.profiles import find_profile
from deskwork.tasks.protocol import open_codec
from deskwork.tasks.retries import RetryPolicy
from deskwork.tools.errors import DeskworkError

Answer = Callable[[Exchange], None]
BODY = b'{"messages":[]}'


class Server:
    """Answers each request by the next function; keeps the bodies and the times."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = [*answers]
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []

    def __call__(self, path: str, body: bytes, exchange: Exchange) -> None:
        self.bodies.append(body)
        self.headers.append({k.lower(): v for k, v in exchange.headers.items()})
        self.answers.pop(0)(exchange)


def status(code: int, body: Any, **headers: str) -> Answer:
    def answer(exchange: Exchange) -> None:
        media = "text/html" if isinstance(body, str) else "application/json"
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        exchange.start(code, media, named)
        exchange.chunk(body.encode() if isinstance(body, str) else json.dumps(body).encode())
        exchange.chunk(b"")

    return answer


def says(text: str, protocol: str = "chat") -> Answer:
    def answer(exchange: Exchange) -> None:
        path = {"messages": "/messages", "responses": "/responses"}.get(
            protocol, "/chat/completions"
        )
        _, media, chunks = ScriptedModel([Said(text)]).respond(path, b'{"stream":true}')
        exchange.start(200, media)
        for chunk in chunks:
            exchange.chunk(chunk)
        exchange.chunk(b"")

    return answer


def breaks_off(exchange: Exchange) -> None:
    """Half a reply, then the connection is gone."""
    exchange.start(200, "text/event-stream")
    exchange.chunk(b'data: {"choices":[{"index":0,"delta":{"content":"Hello wor"}}]}\n\n')
    exchange.close_connection = True
    exchange.connection.shutdown(socket.SHUT_RDWR)


def ends_early(exchange: Exchange) -> None:
    """A stream that ends cleanly, with no finish reason."""
    exchange.start(200, "text/event-stream")
    exchange.chunk(b'data: {"choices":[{"index":0,"delta":{"content":"Hello wor"}}]}\n\n')
    exchange.chunk(b"")


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def endpoint_at(waits: list[float]) -> Callable[..., Endpoint]:
    async def note(seconds: float) -> None:
        waits.append(seconds)

    def make(
        url: str, name: str = "gateway", protocol: str | None = None, **options: Any
    ) -> Endpoint:
        codec = open_codec(find_profile(name, protocol, None))
        return Endpoint(url, codec, "secret-key", sleep=note, **options)

    return make


async def test_the_key_and_the_bytes_arrive_as_they_are(endpoint_at: Any) -> None:
    server = Server(says("hi"), says("hi", "messages"), says("hi", "responses"))
    with serve(server) as url:
        await endpoint_at(url).ask([BODY])
        await endpoint_at(url, "anthropic").ask([BODY])
        await endpoint_at(url, "openai", protocol="responses").ask([BODY])
    assert server.bodies == [BODY, BODY, BODY]
    assert server.headers[0]["authorization"] == "Bearer secret-key"
    assert server.headers[2]["authorization"] == "Bearer secret-key"
    assert server.headers[1]["x-api-key"] == "secret-key"
    assert server.headers[1]["anthropic-version"] == "2023-06-01"


@pytest.mark.parametrize("code", [408, 409, 429, 500, 502, 503, 529])
async def test_short_failures_are_retried_with_the_same_bytes(
    endpoint_at: Any, waits: list[float], code: int
) -> None:
    server = Server(status(code, {"error": {"message": "busy"}}), says("hi"))
    with serve(server) as url:
        assert (await endpoint_at(url).ask([BODY])).text == "hi"
    assert server.bodies == [BODY, BODY]
    assert len(waits) == 1
    assert 0.3 < waits[0] < 1


@pytest.mark.parametrize("failure", [breaks_off, ends_early])
async def test_a_partial_reply_is_thrown_away(endpoint_at: Any, failure: Answer) -> None:
    server = Server(failure, says("Hello world"))
    with serve(server) as url:
        assert (await endpoint_at(url).ask([BODY])).text == "Hello world"


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry_after": "3"}, 3.0),
        ({"retry_after_ms": "250", "retry_after": "9"}, 0.25),
        ({"retry_after": "0"}, 0.0),
    ],
)
async def test_the_wait_asked_for_is_kept(
    endpoint_at: Any, waits: list[float], headers: dict[str, str], wait: float
) -> None:
    server = Server(status(429, {"error": {"message": "slow down"}}, **headers), says("hi"))
    with serve(server) as url:
        await endpoint_at(url).ask([BODY])
    assert waits == [wait]


async def test_a_far_retry_after_ends_the_attempt_and_is_handed_on(
    endpoint_at: Any, waits: list[float]
) -> None:
    server = Server(status(429, {"error": {"message": "tomorrow"}}, retry_after="86400"))
    with serve(server) as url, pytest.raises(Unavailable) as caught:
        await endpoint_at(url).ask([BODY])
    assert caught.value.retry_after == 86400
    assert waits == []


async def test_quick_tries_are_bounded(endpoint_at: Any, waits: list[float]) -> None:
    server = Server(*[status(503, "<html><title>Bad gateway</title></html>")] * 3)
    with serve(server) as url, pytest.raises(Unavailable, match='503: "Bad gateway"'):
        await endpoint_at(url).ask([BODY])
    assert len(waits) == 2


@pytest.mark.parametrize(
    ("code", "body", "kind", "words"),
    [
        (401, {"error": {"message": "bad key"}}, WrongKey, "DESKWORK_MODEL_KEY"),
        (403, {"error": "no right"}, WrongKey, "no right"),
        (404, {"error": {"message": "no model x"}}, Rejected, "DESKWORK_MODEL_URL"),
        (400, {"object": "error", "message": "flat"}, Rejected, "flat"),
        (422, {"detail": [{"loc": ["x"], "msg": "odd"}]}, Rejected, "odd"),
        (429, {"error": {"code": "insufficient_quota", "message": "pay"}}, OutOfCredit, "pay"),
        (
            400,
            {"error": {"type": "invalid_request_error", "message": "credit balance is too low"}},
            OutOfCredit,
            "credit",
        ),
        (
            400,
            {"error": {"code": "context_length_exceeded", "message": "too long"}},
            ContextOverflow,
            "window",
        ),
        (
            400,
            {"object": "error", "message": "130000 is longer than the model's context length"},
            ContextOverflow,
            "130000",
        ),
        (404, "<html><title>nginx</title></html>", Rejected, "nginx"),
        (302, "", Rejected, "redirects to http://other/v1"),
        (500, {"error": {"message": "no"}}, Rejected, "no"),
    ],
)
async def test_what_can_not_pass_is_never_sent_again(
    endpoint_at: Any, waits: list[float], code: int, body: Any, kind: type[Exception], words: str
) -> None:
    headers = {"location": "http://other/v1"} if code == 302 else {}
    if code == 500:
        headers = {"x_should_retry": "false"}
    server = Server(status(code, body, **headers))
    with serve(server) as url, pytest.raises(kind, match=words):
        await endpoint_at(url).ask([BODY])
    assert len(server.bodies) == 1
    assert waits == []


async def test_a_picture_that_the_model_can_not_see_is_not_sent_again(endpoint_at: Any) -> None:
    said = "image input is not supported - hint: you may need to provide the mmproj"
    server = Server(status(500, {"error": {"code": 500, "message": said, "type": "server_error"}}))
    with serve(server) as url, pytest.raises(Rejected, match="takes no pictures"):
        await endpoint_at(url, "llamacpp").ask([BODY])


async def test_an_error_inside_a_stream_or_with_status_200(endpoint_at: Any) -> None:
    def in_stream(exchange: Exchange) -> None:
        exchange.start(200, "text/event-stream")
        exchange.chunk(
            b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error"}}\n\n'
        )
        exchange.chunk(b"")

    server = Server(in_stream, says("hi", "messages"))
    with serve(server) as url:
        assert (await endpoint_at(url, "anthropic").ask([BODY])).text == "hi"
    server = Server(status(200, {"error": {"code": 502, "message": "upstream"}}), says("hi"))
    with serve(server) as url:
        assert (await endpoint_at(url).ask([BODY])).text == "hi"
    server = Server(status(200, {"error": {"code": 402, "message": "credits"}}))
    with serve(server) as url, pytest.raises(Rejected, match="credits"):
        await endpoint_at(url).ask([BODY])


async def test_a_web_page_where_a_reply_was_due_is_a_wrong_address(endpoint_at: Any) -> None:
    server = Server(status(200, "<!doctype html><html>Welcome</html>"))
    with serve(server) as url, pytest.raises(Rejected, match=r"no model reply.*DESKWORK_MODEL_URL"):
        await endpoint_at(url).ask([BODY])
    assert len(server.bodies) == 1


async def test_a_server_that_does_not_stream(endpoint_at: Any) -> None:
    message = {"role": "assistant", "content": "whole"}
    body = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": None}
    with serve(Server(status(200, body))) as url:
        reply = await endpoint_at(url).ask([BODY])
    assert (reply.text, reply.usage) == ("whole", None)


async def test_silence_ends_an_attempt_and_keep_alives_do_not(endpoint_at: Any) -> None:
    release = threading.Event()

    def silent(exchange: Exchange) -> None:
        exchange.start(200, "text/event-stream")
        exchange.chunk(b": life sign\n\n")
        release.wait(20)

    def slow_but_alive(exchange: Exchange) -> None:
        exchange.start(200, "text/event-stream")
        ends = time.monotonic() + 1.2
        while time.monotonic() < ends:
            exchange.chunk(b": life sign\n\n")
            release.wait(0.1)
        _, _, chunks = ScriptedModel([Said("at last")]).respond(
            "/chat/completions", b'{"stream":true}'
        )
        for chunk in chunks:
            exchange.chunk(chunk)
        exchange.chunk(b"")

    once = RetryPolicy(quick_tries=1)
    with (
        serve(Server(silent)) as url,
        pytest.raises(BrokenStream, match=r"silent for 0|silent for 1"),
    ):
        await endpoint_at(url, idle_seconds=0.6, retries=once).ask([BODY])
    release.set()
    release.clear()
    with serve(Server(slow_but_alive)) as url:
        reply = await endpoint_at(url, idle_seconds=0.6, retries=once).ask([BODY])
    assert reply.text == "at last"


async def test_nothing_answers(endpoint_at: Any, waits: list[float]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        with pytest.raises(NotReachable, match=rf"Nothing answers at {url}.*DESKWORK_MODEL_URL"):
            await endpoint_at(url).ask([BODY])
    assert len(waits) == 2


@pytest.mark.parametrize("code", [400, 401, 503])
async def test_a_key_that_a_server_echoes_is_not_told(endpoint_at: Any, code: int) -> None:
    echo = status(code, {"error": {"message": "Incorrect API key provided: secret-key"}})
    with serve(Server(*[echo] * 3)) as url, pytest.raises(DeskworkError) as caught:
        await endpoint_at(url).ask([BODY])
    assert "secret-key" not in str(caught.value)
    assert "[the key]" in str(caught.value)


async def test_a_server_that_implements_no_post_is_a_wrong_address(
    endpoint_at: Any, waits: list[float]
) -> None:
    server = Server(status(501, "<html><title>Error response</title></html>"))
    with serve(server) as url, pytest.raises(Rejected, match="DESKWORK_MODEL_URL"):
        await endpoint_at(url).ask([BODY])
    assert waits == []
