"""A tool whose parameters come as JSON Schema from elsewhere, not from a function of ours."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from deskwork.tools.errors import WrongUse
from deskwork.tools.tool import Desk, Tool, ToolResult, WrongArguments

Call = Callable[[dict[str, Any]], Awaitable[ToolResult]]
_LONGEST_NAME = 64
_LONGEST_DESCRIPTION = 4_000


class Given(BaseModel):
    """Arguments as they came: their schema is the tool's own."""

    model_config = ConfigDict(extra="allow")


@dataclass(frozen=True)
class DescribedTool(Tool):
    """A tool with a schema of its own; ``function`` takes the arguments as one dictionary.

    ``allowed`` is whether a person allowed it in the settings, by its name.
    """

    allowed: bool = False

    def check(self, arguments: dict[str, Any]) -> BaseModel:
        """The arguments, if they fit the schema. Raises `WrongArguments`."""
        from jsonschema import Draft202012Validator

        found = sorted(Draft202012Validator(self.parameters).iter_errors(arguments), key=str)
        if found:
            told = "; ".join(
                f"{'.'.join(map(str, error.path)) or 'arguments'}: {error.message[:300]}"
                for error in found[:5]
            )
            raise WrongArguments(f"Wrong arguments for {self.name}: {told}.")
        return Given()

    async def run(self, arguments: dict[str, Any], desk: Desk) -> ToolResult:
        """Check the arguments and make the call. Raises `WrongArguments` and `ToolError`."""
        self.check(arguments)
        result: ToolResult = await self.function(arguments)
        return result


def described(
    server: str,
    name: str,
    about: str,
    schema: dict[str, Any],
    call: Call,
    *,
    repeatable: bool,
    allowed: bool = False,
) -> DescribedTool:
    """A tool ``SERVER_NAME``. Raises `WrongUse` for a schema that is none."""
    from jsonschema import Draft202012Validator, SchemaError

    full = re.sub(r"[^A-Za-z0-9_-]+", "_", f"{server}_{name}")[:_LONGEST_NAME]
    parameters = {"type": "object", "properties": {}, **schema}
    try:
        Draft202012Validator.check_schema(parameters)
    except SchemaError as error:
        raise WrongUse(
            f"The tool {name!r} of {server} has a schema that is none: {error.message[:200]}.",
            f"Mend {server}, or take it out of deskwork.toml.",
        ) from None
    text = about.strip()[:_LONGEST_DESCRIPTION] or name
    return DescribedTool(full, text, parameters, call, repeatable, Given, allowed=allowed)
