"""A tool is a typed function with a docstring; this module turns it into what a model sees.

The name, the description and the JSON Schema of the parameters come from the function itself.
A parameter annotated ``Desk`` is filled in by Deskwork and never shown to the model. Arguments
are validated before the function runs, so that a wrong one becomes a sentence the model can act on.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema

from deskwork.tools.errors import ToolError
from deskwork.tools.sources import Source

if TYPE_CHECKING:
    # For the types alone: the collection makes `Evidence`, which is defined here.
    from deskwork.tools.charts.chart import Chart
    from deskwork.tools.collection import Collection
    from deskwork.tools.figures import Figure
    from deskwork.tools.web.access import Web
    from deskwork.tools.workspace.options import Workspace


Region = tuple[float, float, float, float]
"""Left, top, right and bottom as shares of a page, from its left and top edge."""


@dataclass(frozen=True)
class Evidence:
    """A quote that was found verbatim in a stored source.

    ``id`` follows from the content, so that the same quote has the same id in every job.
    ``sha256`` is the source file's; ``page`` counts from 1 (sheets and slides are pages);
    ``quote`` is the source's own text; ``start`` is its offset in the stored text of the page.
    ``box`` is where it stands on a page that has word boxes, in points from the left and bottom
    edge; ``cell`` is where it stands in a workbook (``Sheet1!B7``). ``url`` and ``retrieved`` (ISO
    8601, UTC) say where and when a fetched source came from; both are empty for a given file.
    ``accession`` is the number of the SEC filing that says it, where it is one. ``region`` is set
    where a model read the quote from the page's picture, which code can't check: the place that it
    read; ``start`` is then -1.
    """

    id: str
    file: str
    page: int
    quote: str
    sha256: str
    start: int
    box: tuple[float, float, float, float] | None = None
    cell: str = ""
    url: str = ""
    retrieved: str = ""
    accession: str = ""
    region: Region | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Evidence:
        """What ``asdict`` gave, also before it was known where a quote stands on its page."""
        places = {name: tuple(value[name]) for name in ("box", "region") if value.get(name)}
        return cls(**{**value, **places})


@dataclass(frozen=True)
class ToolResult:
    """What a tool gives back.

    ``text`` goes to the model. ``images`` are encoded pictures (PNG or JPEG bytes) that the model
    looks at. ``evidence``, ``figures`` and ``charts`` are recorded with the job, and so are
    ``sources``: what was fetched, which becomes a document of the job. ``workspace`` maps each
    path of the job's workspace that changed to its SHA-256, or to None where the file is gone.
    ``data`` is the same result as plain JSON values, for ``deskwork tool --json``.
    """

    text: str
    images: tuple[bytes, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    sources: tuple[Source, ...] = ()
    figures: tuple[Figure, ...] = ()
    charts: tuple[Chart, ...] = ()
    workspace: Mapping[str, str | None] = field(default_factory=dict)
    data: Any = None
    is_error: bool = False


class Desk(Protocol):
    """What a tool may reach: the documents of the job, and the evidence it has so far."""

    @property
    def collection(self) -> Collection:
        """The documents of the job."""

    def evidence(self, evidence_id: str) -> Evidence | None:
        """The recorded evidence with this id, or None."""

    def figure(self, figure_id: str) -> Figure | None:
        """The bound figure with this id, or None."""

    @property
    def web(self) -> Web:
        """Search and fetch on the web. Raises `ToolError` where there is none."""

    @property
    def workspace(self) -> Workspace:
        """The folder in which programs may run. Raises `ToolError` where there is none."""

    def stored(self, name: str) -> bytes:
        """A result that was too long for the history, by its name. Raises `NotFound`."""


class WrongArguments(ToolError):
    """The arguments of a call don't fit the tool's parameters."""


class _Schema(GenerateJsonSchema):
    """JSON Schema without the generated titles, which cost tokens and tell a model nothing."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


@dataclass(frozen=True)
class Tool:
    """One tool: ``parameters`` is the JSON Schema of its arguments.

    ``repeatable`` tells whether a call that began and never ended may be run again unasked.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    function: Callable[..., Any]
    repeatable: bool
    arguments: type[BaseModel] = field(repr=False)
    desk_parameter: str | None = None

    def check(self, arguments: dict[str, Any]) -> BaseModel:
        """The arguments, validated. Raises `WrongArguments` with a sentence for the model."""
        try:
            return self.arguments.model_validate(arguments)
        except ValidationError as error:
            raise WrongArguments(f"Wrong arguments for {self.name}: {_problems(error)}.") from None

    async def run(self, arguments: dict[str, Any], desk: Desk) -> ToolResult:
        """Validate the arguments and run the function (in a thread unless it is a coroutine).

        Raises `WrongArguments` with a sentence for the model when the arguments don't fit.
        """
        import asyncio

        checked = self.check(arguments)
        values = {name: getattr(checked, name) for name in type(checked).model_fields}
        if self.desk_parameter:
            values[self.desk_parameter] = desk
        if inspect.iscoroutinefunction(self.function):
            result = await self.function(**values)
        else:
            result = await asyncio.to_thread(self.function, **values)
        return result if isinstance(result, ToolResult) else ToolResult(text=str(result))


def _problems(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(str(part) for part in item['loc']) or 'arguments'}: {item['msg']}"
        for item in error.errors()
    )


def tool(*, repeatable: bool) -> Callable[[Callable[..., Any]], Tool]:
    """Make a `Tool` of a typed function. The docstring becomes the description as it stands."""

    def build(function: Callable[..., Any]) -> Tool:
        hints = typing.get_type_hints(function, include_extras=True)
        fields: dict[str, Any] = {}
        desk_parameter = None
        for name, parameter in inspect.signature(function).parameters.items():
            if hints[name] is Desk:
                desk_parameter = name
                continue
            default = ... if parameter.default is inspect.Parameter.empty else parameter.default
            fields[name] = (hints[name], default)
        model = create_model(function.__name__, __config__=ConfigDict(extra="forbid"), **fields)
        schema = model.model_json_schema(schema_generator=_Schema)
        schema.pop("title", None)
        return Tool(
            name=function.__name__,
            description=inspect.cleandoc(function.__doc__ or ""),
            parameters=schema,
            function=function,
            repeatable=repeatable,
            arguments=model,
            desk_parameter=desk_parameter,
        )

    return build
