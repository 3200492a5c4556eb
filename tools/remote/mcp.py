"""Tools of MCP servers. A server is started, or connected to, once a process, and kept.

Connections live in a thread with an event loop of its own: a job's steps run in loops that come
and go. What a server says is data like any other result.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import threading
from collections.abc import AsyncIterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deskwork.tools.errors import ToolError, WrongUse
from deskwork.tools.remote.described import DescribedTool, described
from deskwork.tools.tool import ToolResult

if TYPE_CHECKING:
    from mcp import Client

_START_SECONDS = 30.0
_MOST_TOOLS = 100


@dataclass(frozen=True)
class McpServer:
    """A server of the settings: a ``command`` that speaks on standard input and output, or a
    ``url``. ``env`` names variables of this environment that the command gets; ``key_env`` names
    the one with the key that is sent to the url. ``allow`` names those of its tools, by its own
    names, that may change something and that jobs have unasked. ``seconds`` bounds one call.
    """

    name: str
    command: tuple[str, ...] = ()
    url: str = ""
    env: tuple[str, ...] = ()
    key_env: str = ""
    allow: tuple[str, ...] = ()
    seconds: float = 120.0


async def mcp_tools(server: McpServer) -> list[DescribedTool]:
    """The server's tools as ``NAME_tool``. One is repeatable only where the server says that it
    only reads. Raises `WrongUse` when it can't be had, or lacks a tool that ``allow`` names.
    """
    try:
        import mcp  # noqa: F401 - whether the extra is installed
    except ImportError:
        raise WrongUse(
            f"[mcp.{server.name}] is set, and MCP isn't installed.",
            "pip install 'deskwork[mcp]'",
        ) from None
    connection = await _connected(server)
    try:
        listed = await asyncio.wrap_future(connection.ask("list_tools"))
        rows = list(listed.tools)
        while listed.next_cursor and len(rows) < _MOST_TOOLS:
            listed = await asyncio.wrap_future(
                connection.ask("list_tools", cursor=listed.next_cursor)
            )
            rows += listed.tools
    except Exception as error:  # noqa: BLE001 - whatever a server does, it is told
        raise _failed(server, error) from None
    missing = {*server.allow} - {row.name for row in rows}
    if missing:
        raise WrongUse(
            f"The MCP server {server.name} has no tool {', '.join(sorted(missing))}.",
            f"Mend `allow` in [mcp.{server.name}]; `deskwork tools` lists its tools.",
        )
    return [_tool(server, row) for row in rows[:_MOST_TOOLS]]


def _tool(server: McpServer, row: Any) -> DescribedTool:
    hints = row.annotations
    reads = bool(hints and hints.read_only_hint)
    may_have = "" if reads else "It may or may not have happened: look before you try again."

    async def call(arguments: dict[str, Any]) -> ToolResult:
        connection = await _connected(server)
        try:
            asked = connection.ask("call_tool", row.name, arguments)
            async with asyncio.timeout(server.seconds):
                result = await asyncio.wrap_future(asked)
        except TimeoutError:
            raise ToolError(
                f"{server.name} took longer than {server.seconds:g} seconds for {row.name}.",
                may_have,
            ) from None
        except Exception as error:  # noqa: BLE001 - as above
            connection.drop()
            told = " ".join(str(error).split())[:300] or type(error).__name__
            raise ToolError(f"{row.name} of {server.name} failed: {told}.", may_have) from None
        return _result(result)

    about = row.description or row.title or row.name
    return described(
        server.name,
        row.name,
        about,
        row.input_schema,
        call,
        repeatable=reads,
        allowed=row.name in server.allow,
    )


def _result(result: Any) -> ToolResult:
    texts: list[str] = []
    images: list[bytes] = []
    for part in result.content:
        if part.type == "text":
            texts.append(part.text)
        elif part.type == "image":
            images.append(base64.b64decode(part.data))
        elif part.type == "resource" and hasattr(part.resource, "text"):
            texts.append(f"{part.resource.uri}\n{part.resource.text}")
        elif part.type == "resource_link":
            texts.append(f"{part.name}: {part.uri}")
        else:
            texts.append(f"[A {part.type}, which can't be shown.]")
    text = "\n\n".join(texts) or ("(no text)" if not images else "A picture.")
    data = result.structured_content
    return ToolResult(text, images=tuple(images), data=data, is_error=bool(result.is_error))


class _Connection:
    """A connected server, in the loop of the thread."""

    def __init__(self, server: McpServer) -> None:
        self._server = server
        self._client: Client | None = None
        self._end = asyncio.Event()

    async def serve(self, ready: Future[None]) -> None:
        """Hold the connection until it is dropped; it ends in the task in which it began."""
        try:
            async with _client(self._server) as client:
                self._client = client
                ready.set_result(None)
                await self._end.wait()
        except BaseException as error:
            if not ready.done():
                ready.set_exception(error)
            elif isinstance(error, asyncio.CancelledError):
                raise
        finally:
            if _connections.get(self._server) is self:
                del _connections[self._server]

    def ask(self, method: str, *args: Any, **more: Any) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(
            getattr(self._client, method)(*args, **more), _loop()
        )

    def drop(self) -> None:
        """Let go of it: the next call connects anew."""
        _connections.pop(self._server, None)
        _loop().call_soon_threadsafe(self._end.set)


_connections: dict[McpServer, _Connection] = {}
_running: list[asyncio.AbstractEventLoop] = []
_lock = threading.Lock()


def _loop() -> asyncio.AbstractEventLoop:
    with _lock:
        if not _running:
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="mcp", daemon=True).start()
            _running.append(loop)
        return _running[0]


async def _connected(server: McpServer) -> _Connection:
    if known := _connections.get(server):
        return known
    connection = _Connection(server)
    ready: Future[None] = Future()
    loop = _loop()
    serving = asyncio.run_coroutine_threadsafe(connection.serve(ready), loop)
    try:
        async with asyncio.timeout(_START_SECONDS):
            await asyncio.wrap_future(ready)
    except Exception as error:  # noqa: BLE001 - as above
        serving.cancel()
        raise _failed(server, error) from None
    _connections[server] = connection
    return connection


@contextlib.asynccontextmanager
async def _client(server: McpServer) -> AsyncIterator[Client]:
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    if server.url:
        key = os.environ.get(server.key_env, "") if server.key_env else ""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        async with (
            create_mcp_http_client(headers=headers) as http,
            Client(streamable_http_client(server.url, http_client=http)) as client,
        ):
            yield client
        return
    program, *arguments = server.command
    passed = {name: os.environ[name] for name in server.env if name in os.environ}
    parameters = StdioServerParameters(command=program, args=arguments, env=passed)
    with open(os.devnull, "w") as nowhere:  # noqa: ASYNC230, PTH123 - a device
        async with Client(stdio_client(parameters, errlog=nowhere)) as client:
            yield client


def _failed(server: McpServer, error: BaseException) -> WrongUse:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    told = " ".join(str(error).split())[:300] or type(error).__name__
    return WrongUse(
        f"The MCP server {server.name} can't be had: {told}.",
        f"Mend [mcp.{server.name}] in deskwork.toml, or take it out.",
    )
