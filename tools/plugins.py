"""What other installed packages add by entry point: tools, readers, profiles.

A package names them in its ``pyproject.toml`` (PyPA's entry points specification):

    [project.entry-points."deskwork.tools"]
    stock = "mypackage.stock:stock"
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from deskwork.tools.errors import WrongUse

TOOLS, READERS, PROFILES = "deskwork.tools", "deskwork.readers", "deskwork.profiles"
"""The groups. A tool is a `Tool` under its own name; a reader, under a file's suffix without the
dot, a function from a `Source` to a `Document`; a profile a table as in ``deskwork.toml``."""


@cache
def added(group: str) -> dict[str, Any]:
    """What is added under a group, by name, loaded; the same for as long as the process lives.

    Raises `WrongUse` for one that can't be loaded, or that two packages add, naming the packages.
    """
    found: dict[str, EntryPoint] = {}
    for point in entry_points(group=group):
        other = found.setdefault(point.name, point)
        if other.value != point.value:
            raise WrongUse(
                f"{_package(other)} and {_package(point)} both add {point.name!r} to {group}.",
                "Uninstall one of them.",
            )
    return {name: _loaded(point, group) for name, point in sorted(found.items())}


def _loaded(point: EntryPoint, group: str) -> Any:
    try:
        return point.load()
    except Exception as error:
        raise WrongUse(
            f"{_package(point)} adds {point.name!r} to {group}, and {point.value} can't be "
            f"imported: {type(error).__name__}: {error}.",
            "Mend or uninstall that package.",
        ) from error


def _package(point: EntryPoint) -> str:
    return f"The package {point.dist.name}" if point.dist else "A package"
