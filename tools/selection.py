"""Which tools a job has: by name, by import path, or those that fit what it was given."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from pathlib import Path

from deskwork.tools.errors import WrongUse
from deskwork.tools.registry import Registry, added_tools, default_tools
from deskwork.tools.results import read_result
from deskwork.tools.tool import Tool

_WITHOUT_DOCUMENTS = ("calculate",)
_FILINGS = ("company", "filings", "read_filing", "filing_search", "facts")
_ON_THE_WEB = ("search_web", "fetch_page", *_FILINGS)
_IN_THE_WORKSPACE = ("run_python", "run_command")


def fitting_tools(
    *, documents: bool, web: bool = False, filings: bool = False, workspace: bool = False
) -> list[Tool]:
    """The tools of a job nobody chose any for.

    Those over documents only where it has some, or may fetch some; those over the web, and those
    that run programs, only where a person said so; of the web's, those over filings only where the
    SEC can be told who asks. Of those that packages add, all that may be run again unasked.
    """
    registry = default_tools()
    own = {tool.name: tool.repeatable for tool in added_tools()}
    names = [*(registry if documents or web else (*_WITHOUT_DOCUMENTS, *own))]
    # What an added tool may change outside is for a person to allow, by its name.
    left_out = {
        *_IN_THE_WORKSPACE,
        *(_ON_THE_WEB if not web else () if filings else _FILINGS),
        *(name for name, repeatable in own.items() if not repeatable),
    }
    chosen = registry.select(
        [
            *(name for name in names if name not in left_out),
            *(_IN_THE_WORKSPACE if workspace else ()),
        ]
    )
    return [*chosen.values(), read_result]


def find_tools(names: Iterable[str], connected: Iterable[Tool] = ()) -> list[Tool]:
    """The tools under these names, built in or ``connected``; ``module:attribute`` names one of
    your own.

    Raises `NotFound` for an unknown name, `WrongUse` for a path that leads to no tool.
    """
    registry = Registry([*default_tools().values(), *connected])
    found = [_imported(name) if ":" in name else registry[name] for name in names]
    return [*found, read_result]


def _imported(path: str) -> Tool:
    module, _, attribute = path.partition(":")
    if str(Path.cwd()) not in sys.path:
        # As `python -m` does: a module of one's own lies in the folder one works in.
        sys.path.append(str(Path.cwd()))
    try:
        value = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise WrongUse(
            f"The tool {path!r} can't be imported: {error}.",
            "It is written module:attribute; run this in the module's folder, or install it.",
        ) from None
    if not isinstance(value, Tool):
        raise WrongUse(
            f"{path!r} is no tool but a {type(value).__name__}.",
            "Make one of a function with @deskwork.tools.tool.tool(repeatable=...).",
        )
    return value
