"""Models that live in this process and speak the wire protocols: for tests and for no endpoint.

A `LocalModel` sees each request as plain data and says what to answer; everything around it, from
the encoded request to the streamed reply, is the same as with a server. It serves through an
in-process transport, or on loopback with `deskwork.tasks.local_server.serve`.

For your own tests, `ScriptedModel` answers from a list or a function::

    model = ScriptedModel([Said(calls=[("search_documents", {"query": "revenue"})]), Said("42")])
    answer = await ask("How much?", transport=model.transport())
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from types import ModuleType

import httpx

from deskwork.tasks import local_chat, local_messages, local_responses
from deskwork.tasks.encoding import dumps
from deskwork.tasks.local_turns import Asked, Said, Turn

__all__ = ["Asked", "LocalModel", "Said", "ScriptedModel"]


class LocalModel:
    """Base of the models in this process; `answer` is what differs."""

    name = "local"

    def __init__(self) -> None:
        self.requests: list[Asked] = []

    def answer(self, asked: Asked) -> Said:
        """What to say to this request."""
        raise LookupError("a local model needs an answer")

    def transport(self) -> httpx.AsyncBaseTransport:
        """An httpx transport that reaches this model and no network."""
        return _Transport(self)

    def respond(self, path: str, body: bytes) -> tuple[int, str, list[bytes]]:
        """(status, media type, chunks) for one request; used by transport and server alike."""
        try:
            data = json.loads(body)
        except ValueError:
            error = {"error": {"message": "the body is no JSON", "type": "invalid_request_error"}}
            return 400, "application/json", [dumps(error)]
        dialect = _dialect(path)
        asked = dialect.read(data)
        asked = Asked(asked.system, asked.messages, asked.tools, data, len(self.requests) + 1)
        self.requests.append(asked)
        turn = Turn(self.answer(asked), asked.number, len(body), data.get("model") or "")
        if data.get("stream"):
            return 200, "text/event-stream", list(dialect.stream(turn))
        return 200, "application/json", [dumps(dialect.whole(turn))]


def _dialect(path: str) -> ModuleType:
    if path.endswith("/messages"):
        return local_messages
    return local_responses if path.endswith("/responses") else local_chat


class ScriptedModel(LocalModel):
    """Says what a script tells: a list of `Said` in order, or a function of the request."""

    name = "scripted"

    def __init__(self, script: Sequence[Said] | Callable[[Asked], Said]) -> None:
        super().__init__()
        self._script = script

    def answer(self, asked: Asked) -> Said:
        """The script's next line."""
        if callable(self._script):
            return self._script(asked)
        if asked.number > len(self._script):
            raise LookupError(f"the script has {len(self._script)} lines, and was asked for more")
        return self._script[asked.number - 1]


class _Transport(httpx.AsyncBaseTransport):
    def __init__(self, model: LocalModel) -> None:
        self._model = model

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        body = await request.aread()
        status, media_type, chunks = self._model.respond(request.url.path, body)
        return httpx.Response(
            status, headers={"content-type": media_type}, stream=_Chunks(chunks), request=request
        )


class _Chunks(httpx.AsyncByteStream):
    def __init__(self, chunks: list[bytes]) -> None:
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk
