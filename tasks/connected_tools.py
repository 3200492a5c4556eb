"""The tools of what a person connected in the settings: databases, MCP servers, interfaces."""

from __future__ import annotations

from collections.abc import Sequence

from deskwork.tasks.connection_settings import Connections
from deskwork.tools.databases.tools import database_tools
from deskwork.tools.registry import default_tools
from deskwork.tools.remote.described import DescribedTool
from deskwork.tools.remote.mcp import mcp_tools
from deskwork.tools.remote.openapi import api_tools
from deskwork.tools.selection import find_tools
from deskwork.tools.tool import Tool


async def named_tools(names: Sequence[str], connections: Connections) -> list[Tool]:
    """The tools under these names; nothing is connected where all are built in or one's own.

    Raises `NotFound` for an unknown name, and as `connected_tools`.
    """
    known = default_tools()
    if all(name in known or ":" in name for name in names):
        return find_tools(names)
    return find_tools(names, await connected_tools(connections))


async def connected_tools(connections: Connections) -> list[Tool]:
    """Every such tool, for a person to name.

    Raises `WrongUse` for a server or document that can't be had: a job that goes on needs the
    tools it began with.
    """
    tools: list[Tool] = [*database_tools(connections.databases)]
    for server in connections.servers.values():
        tools += await mcp_tools(server)
    for api in connections.apis.values():
        tools += await api_tools(api)
    return tools


async def offered_tools(connections: Connections) -> list[Tool]:
    """Those of a job nobody chose tools for. Raises as `connected_tools`."""
    return [tool for tool in await connected_tools(connections) if is_offered(tool)]


def is_offered(tool: Tool) -> bool:
    """Whether a job may have the tool that no person named for it.

    What may change something outside is for a person to name, or to allow in the settings: a model
    could be told to use it by a document that it reads.
    """
    return tool.repeatable or (isinstance(tool, DescribedTool) and tool.allowed)
