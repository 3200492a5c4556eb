"""The tools of what a person connected in the settings: databases, MCP servers, interfaces."""

from __future__ import annotations

from collections.abc import Sequence

from deskwork.tasks.connection_settings import Connections
from deskwork.tools.databases.tools import database_tools
from deskwork.tools.registry import default_tools
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
    """Every such tool, for jobs nobody chose tools for.

    Raises `WrongUse` for a server or document that can't be had: a job that goes on needs the
    tools it began with.
    """
    tools: list[Tool] = [*database_tools(connections.databases)]
    for server in connections.servers.values():
        tools += await mcp_tools(server)
    for api in connections.apis.values():
        tools += await api_tools(api)
    return tools
