import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from deskwork.tasks.connection_settings import read_connections
from deskwork.tools.desk import DocumentDesk
from deskwork.tools.errors import ToolError, WrongUse
from deskwork.tools.library import Library
from deskwork.tools.remote.described import DescribedTool
from deskwork.tools.remote.mcp import McpServer, mcp_tools
from deskwork.tools.tool import ToolResult, WrongArguments
from tests.postgres import free_port

pytest.importorskip("mcp", reason="the extra is not installed: pip install 'deskwork[mcp]'")
SCRIPT = Path(__file__).with_name("mcp_server.py")


@pytest.fixture(scope="module")
def by_http() -> Iterator[McpServer]:
    port = free_port()
    with subprocess.Popen([sys.executable, str(SCRIPT), str(port)], stderr=subprocess.DEVNULL) as p:
        until = time.monotonic() + 30
        while time.monotonic() < until and p.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
        yield McpServer("small", url=f"http://127.0.0.1:{port}/mcp", seconds=20)
        p.terminate()


@pytest.fixture(params=["stdio", "http"])
def server(request: pytest.FixtureRequest) -> McpServer:
    if request.param == "http":
        found: McpServer = request.getfixturevalue("by_http")
        return found
    return McpServer("small", command=(sys.executable, str(SCRIPT)), env=("PASSED",), seconds=20)


async def run(tools: dict[str, DescribedTool], name: str, **arguments: object) -> ToolResult:
    desk = DocumentDesk(Library(Path.cwd() / "home").collect([]))
    return await tools[name].run(arguments, desk)


async def named(server: McpServer) -> dict[str, DescribedTool]:
    return {tool.name: tool for tool in await mcp_tools(server)}


async def test_tools_have_the_servers_name_and_schema(server: McpServer) -> None:
    tools = await named(server)
    assert list(tools)[:2] == ["small_add", "small_note"]
    assert tools["small_add"].description == "Add two numbers."
    assert tools["small_add"].parameters["required"] == ["a", "b"]
    assert tools["small_add"].repeatable
    assert not tools["small_note"].repeatable


async def test_results_come_as_text_and_pictures(server: McpServer) -> None:
    tools = await named(server)
    assert (await run(tools, "small_add", a=40, b=2)).text == "42"
    drawn = await run(tools, "small_draw")
    assert drawn.images[0].startswith(b"\x89PNG")
    failed = await run(tools, "small_fail")
    assert failed.is_error
    assert "small_fail" not in failed.text
    with pytest.raises(WrongArguments, match="'x' is not of type 'integer'"):
        await run(tools, "small_add", a="x", b=1)


async def test_a_server_is_kept_from_call_to_call(server: McpServer) -> None:
    tools = await named(server)
    first = int((await run(tools, "small_note", text="a")).text.split()[0])
    again = await named(server)
    assert (await run(again, "small_note", text="b")).text == f"{first + 1} notes"


async def test_a_server_that_ended_is_started_anew() -> None:
    server = McpServer("other", command=(sys.executable, str(SCRIPT)), seconds=20)
    tools = await named(server)
    with pytest.raises(ToolError, match="may or may not have happened"):
        await run(tools, "other_end")
    assert (await run(tools, "other_add", a=1, b=1)).text == "2"


async def test_only_named_variables_go_to_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASSED", "yes")
    monkeypatch.setenv("DESKWORK_MODEL_KEY", "secret")
    server = McpServer("env", command=(sys.executable, str(SCRIPT)), env=("PASSED",))
    tools = await named(server)
    assert (await run(tools, "env_variable", which="PASSED")).text == "yes"
    assert (await run(tools, "env_variable", which="DESKWORK_MODEL_KEY")).text == "unset"


async def test_a_server_that_cant_be_had_is_told() -> None:
    for server in (
        McpServer("gone", command=("/no/such/program",)),
        McpServer("gone", url=f"http://127.0.0.1:{free_port()}/mcp"),
    ):
        with pytest.raises(WrongUse, match=r"MCP server gone can't be had.*\[mcp\.gone\]"):
            await mcp_tools(server)


def test_settings() -> None:
    servers = read_connections(
        {"mcp": {"a": {"command": ["x", "y"], "env": ["K"]}, "b": {"url": "http://h/mcp"}}}
    ).servers
    assert servers["a"] == McpServer("a", command=("x", "y"), env=("K",))
    for row in ({}, {"command": ["x"], "url": "y"}, {"command": "x"}, {"spec": "x"}, "x"):
        with pytest.raises(WrongUse, match=r"\[mcp\.a\]"):
            read_connections({"mcp": {"a": row}})
