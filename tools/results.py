"""Reading on in a result that was too long for the history."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from deskwork.tools.errors import ToolError
from deskwork.tools.tool import Desk, ToolResult, tool

PART_CHARACTERS = 20_000


@tool(repeatable=True)
def read_result(
    result: Annotated[str, Field(description="The result's name, as its first part gave it.")],
    desk: Desk,
    offset: Annotated[int, Field(description="Where to read on, in characters.", ge=0)] = 0,
) -> ToolResult:
    """Read on in a tool result that was too long to be shown whole."""
    text = desk.stored(result).decode("utf-8", "replace")
    if offset >= len(text):
        raise ToolError(f"The result ends at character {len(text)}.")
    end = min(len(text), offset + PART_CHARACTERS)
    left = f"\n\n[{len(text) - end:,} characters follow; offset {end} reads on.]"
    return ToolResult(text=text[offset:end] + (left if end < len(text) else ""))
