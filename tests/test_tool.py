from typing import Annotated

import pytest
from pydantic import Field

from deskwork.tools.errors import ToolError
from deskwork.tools.tool import Desk, ToolResult, tool


@tool(repeatable=True)
def add(
    left: Annotated[int, Field(description="The first number.")], desk: Desk, right: int = 1
) -> ToolResult:
    """Add two whole numbers."""
    return ToolResult(text=str(left + right))


def test_schema_comes_from_the_function_and_hides_the_desk() -> None:
    assert add.name == "add"
    assert add.description == "Add two whole numbers."
    assert add.parameters == {
        "additionalProperties": False,
        "properties": {
            "left": {"description": "The first number.", "type": "integer"},
            "right": {"default": 1, "type": "integer"},
        },
        "required": ["left"],
        "type": "object",
    }


async def test_wrong_arguments_are_a_sentence_for_the_model() -> None:
    with pytest.raises(ToolError, match="Wrong arguments for add: left: Input should be a valid"):
        await add.run({"left": "x"}, desk=None)  # type: ignore[arg-type]


async def test_runs_with_defaults() -> None:
    assert (await add.run({"left": 2}, desk=None)).text == "3"  # type: ignore[arg-type]
