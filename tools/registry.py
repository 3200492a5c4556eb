"""The tools there are, by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from deskwork.tools.calculation import calculate
from deskwork.tools.charts.tools import draw_chart
from deskwork.tools.errors import NotFound, WrongUse
from deskwork.tools.figure_tools import bind_figure, derive_figure
from deskwork.tools.filings.tools import company, facts, filing_search, filings, read_filing
from deskwork.tools.picture_evidence import cite_picture
from deskwork.tools.plugins import TOOLS, added
from deskwork.tools.reading import (
    cite,
    list_documents,
    look_at_page,
    read_document,
    search_documents,
)
from deskwork.tools.tables.tools import list_tables, query_table
from deskwork.tools.tool import Tool
from deskwork.tools.web.tools import fetch_page, search_web
from deskwork.tools.workspace.tools import run_command, run_python

_TOOLS = (
    *(list_documents, search_documents, read_document, look_at_page, cite, calculate),
    *(list_tables, query_table, cite_picture, bind_figure, derive_figure, draw_chart),
    *(search_web, fetch_page, company, filings, read_filing, filing_search, facts),
    *(run_python, run_command),
)


class Registry(Mapping[str, Tool]):
    """Tools under their names, in a fixed order. A wrong name is `NotFound` and told the others."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools = {tool.name: tool for tool in tools}

    def __getitem__(self, name: str) -> Tool:
        try:
            return self._tools[name]
        except KeyError:
            names = ", ".join(self._tools)
            raise NotFound(f"There is no tool {name!r}.", f"Tools: {names}.") from None

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    def select(self, names: Iterable[str]) -> Registry:
        """Only the tools named, in the order named. Raises `NotFound` for a wrong name."""
        return Registry(self[name] for name in names)


def default_tools() -> Registry:
    """Every built-in tool, and those that installed packages add.

    Raises `WrongUse` for what a package adds and is no tool, or bears another's name.
    """
    return Registry([*_TOOLS, *added_tools()])


def added_tools() -> list[Tool]:
    """The tools that installed packages add by entry point (`deskwork.tools.plugins`)."""
    builtin = {tool.name for tool in _TOOLS}
    tools = []
    for name, value in added(TOOLS).items():
        if not isinstance(value, Tool):
            raise WrongUse(
                f"A package adds {name!r} to {TOOLS}, and it is no tool.",
                "Decorate its function with `@tool`, from deskwork.tools.tool.",
            )
        if value.name in builtin:
            raise WrongUse(
                f"A package adds a tool {value.name!r}, and Deskwork has one of that name.",
                "Give its function another name.",
            )
        tools.append(value)
    return tools
