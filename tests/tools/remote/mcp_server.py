"""A small MCP server: `python mcp_server.py` on standard input and output, with a port by HTTP."""

from __future__ import annotations

import base64
import io
import os
import sys

from mcp.server import MCPServer
from mcp.types import ImageContent, ToolAnnotations
from PIL import Image

server = MCPServer("small")
notes: list[str] = []


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def note(text: str) -> str:
    """Write something down."""
    notes.append(text)
    return f"{len(notes)} notes"


@server.tool()
def draw() -> ImageContent:
    """Draw a picture."""
    out = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(out, "PNG")
    return ImageContent(
        type="image", data=base64.b64encode(out.getvalue()).decode(), mime_type="image/png"
    )


@server.tool()
def fail() -> str:
    """Fail."""
    raise ValueError("it is broken")


@server.tool()
def end() -> str:
    """End the server at once."""
    os._exit(1)


@server.tool()
def variable(which: str) -> str:
    """What a variable of the environment holds."""
    return os.environ.get(which, "unset")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run("stdio")
