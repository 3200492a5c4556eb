"""The shared wire cases, by their ids, and a server on loopback that acts them out.

A test takes cases with ``@case("id", ...)`` and gets each as ``given_case``; that every
case is taken by some test is checked in ``test_conformance.py``.
"""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ConfigDict, create_model

from deskwork.tasks.cache_marks import without_marks
from deskwork.tasks.entries import Entry
from deskwork.tasks.local_model import Said, ScriptedModel
from deskwork.tasks.local_server import Exchange, serve
from deskwork.tasks.profiles import Profile
from deskwork.tasks.session import Session
from deskwork.tasks.starts import move
from deskwork.tasks.workbench import Workbench
from deskwork.tools.tool import Tool, ToolResult
from tests.conftest import SHARED
from tests.jobs import settings_in

FILE = SHARED / "wire" / "cases.json"
ALL: dict[str, dict[str, Any]] = (
    {row["id"]: row for row in json.loads(FILE.read_text())} if FILE.exists() else {}
)
TAKEN: set[str] = set()
"""The ids that the imported tests take."""


def case(*ids: str) -> Callable[[Any], Any]:
    """Run a test once for each of these cases; it skips where the shared files are missing."""
    TAKEN.update(ids)
    missing = pytest.mark.skip(reason=f"{FILE} is missing; set DESKWORK_SHARED")
    rows = [
        pytest.param(ALL[name], id=name)
        if name in ALL
        else pytest.param({}, id=name, marks=missing)
        for name in ids
    ]
    return pytest.mark.parametrize("given_case", rows)


class Stage:
    """Answers with a case's responses in turn, then ends the job; keeps what it was asked."""

    def __init__(self, *responses: dict[str, Any], finally_says: str = "Done.") -> None:
        self.responses = [*responses]
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self._last = ScriptedModel([Said(finally_says)] * 50)

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The bodies as JSON."""
        return [json.loads(body) for body in self.bodies]

    def __call__(self, path: str, body: bytes, exchange: Exchange) -> None:
        """Act out the next response."""
        self.paths.append(path)
        self.bodies.append(body)
        self.headers.append({name.lower(): value for name, value in exchange.headers.items()})
        if self.responses:
            act(self.responses.pop(0), exchange)
            return
        status, media, chunks = self._last.respond(path, body)
        exchange.start(status, media)
        for chunk in chunks:
            exchange.chunk(chunk)
        exchange.chunk(b"")


def act(response: dict[str, Any], exchange: Exchange) -> None:
    """Send one response of a case: ``body``, ``sse``, ``raw`` or ``byte_chunks_hex``."""
    headers = {name.lower(): value for name, value in (response.get("headers") or {}).items()}
    body = response.get("body")
    plain = "text/html" if isinstance(body, str) else "application/json"
    media = headers.pop("content-type", plain if "body" in response else "text/event-stream")
    exchange.start(response["status"], media, headers)
    if "body" in response:
        exchange.chunk(body.encode() if isinstance(body, str) else json.dumps(body).encode())
    for part in response.get("byte_chunks_hex", ()):
        exchange.chunk(bytes.fromhex(part))
    if "raw" in response:
        exchange.chunk(response["raw"].encode())
    for event in response.get("sse", ()):
        if "end" in event:
            exchange.close_connection = True
            exchange.connection.shutdown(socket.SHUT_RDWR)
            return
        exchange.chunk(_event(event))
    exchange.chunk(b"")


def _event(event: dict[str, Any]) -> bytes:
    if "comment" in event:
        return f": {event['comment']}\n\n".encode()
    data = event["data"] if isinstance(event["data"], str) else json.dumps(event["data"])
    name = f"event: {event['event']}\n" if event.get("event") else ""
    return f"{name}data: {data}\n\n".encode()


@contextlib.contextmanager
def staged(*responses: dict[str, Any]) -> Iterator[tuple[str, Stage]]:
    """A server on loopback with these responses: (address, stage)."""
    stage = Stage(*responses)
    with serve(stage) as url:
        yield url, stage


def completion(message: dict[str, Any], finish: str = "tool_calls") -> dict[str, Any]:
    """A chat completion in one piece."""
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", **message}}
    return {"status": 200, "body": {"object": "chat.completion", "choices": [choice]}}


def chat_call(call_id: str, arguments: str = "{}", name: str = "f") -> dict[str, Any]:
    """A chat message that makes one call and says nothing."""
    function = {"name": name, "arguments": arguments}
    calls = [{"id": call_id, "type": "function", "function": function}]
    return {"content": None, "tool_calls": calls}


def blocks(*content: dict[str, Any], stop: str = "tool_use") -> dict[str, Any]:
    """A message of content blocks in one piece."""
    body = {"type": "message", "role": "assistant", "model": "claude-x", "content": [*content]}
    return {"status": 200, "body": {**body, "stop_reason": stop}}


def entries(session: Session, *kinds: str) -> list[Entry]:
    """The entries of these kinds in a session's journal."""
    found = session.writer.journal.entries(session.job)
    return [entry for entry in found if entry.kind in kinds]


def moved(home: Path, profile: Profile, model: str | None = None) -> None:
    """Move the job of a home to another profile or model, as `deskwork resume --model` does."""
    bench = Workbench(settings_in(home, profile).with_model(model))
    assert move(bench.journal, "job", bench.recorded_settings())
    bench.journal.database.close()


def unmarked(stage: Stage) -> list[dict[str, Any]]:
    """The bodies as JSON, their cache marks left out."""
    return [json.loads(without_marks(body)) for body in stage.bodies]


def named(name: str, result: str | ToolResult = "fine", **fields: Any) -> Tool:
    """A tool for a case, of these ``fields`` (name → type); any others are left out when none."""
    ran: list[dict[str, Any]] = []

    def function(**arguments: Any) -> ToolResult:
        ran.append(arguments)
        return result if isinstance(result, ToolResult) else ToolResult(text=result)

    function.__dict__["ran"] = ran
    given: dict[str, Any] = {field: (kind, ...) for field, kind in fields.items()}
    config = ConfigDict(extra="forbid" if fields else "allow")
    model = create_model(name, __config__=config, **given)
    return Tool(name, f"Do {name}.", model.model_json_schema(), function, True, model)


def ran(tool: Tool) -> list[dict[str, Any]]:
    """The arguments that a `named` tool was run with, in order."""
    return list(tool.function.__dict__["ran"])
