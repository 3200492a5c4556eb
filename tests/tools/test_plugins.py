"""What another package adds by entry point is there for the command, and its faults are told."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from deskwork.tools.errors import WrongUse
from deskwork.tools.plugins import added
from deskwork.tools.registry import added_tools

COMMAND = Path(sys.executable).parent / "deskwork"
MODULE = '''
from deskwork.tools.documents import Document, Page
from deskwork.tools.readers.source import Source
from deskwork.tools.tool import ToolResult, tool

HOUSE = {"base": "vllm", "hosts": ["models.example.org"]}


@tool(repeatable=True)
def stock(item: str) -> ToolResult:
    """How many pieces of an item are in stock."""
    return ToolResult(text=f"12 pieces of {item}")


@tool(repeatable=True)
def calculate(item: str) -> ToolResult:
    """Another one of a name that is taken."""
    return ToolResult(text=item)


def read(source: Source) -> Document:
    """A plotter's file: its lines turned round."""
    text = source.data.decode()[::-1]
    return Document(source.name, "plot", (Page(1, text),))
'''


def package(folder: Path, name: str, points: str) -> None:
    """An installed package with these entry points, as an installer leaves it."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(points)


@pytest.fixture
def installed(tmp_path: Path) -> Iterator[Path]:
    """A folder with a module, for packages to add things of."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "warehouse.py").write_text(MODULE)
    added.cache_clear()
    yield folder
    added.cache_clear()
    sys.modules.pop("warehouse", None)


def run(installed: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(installed), **env}
    return subprocess.run(
        [str(COMMAND), *arguments], env=environment, capture_output=True, text=True, timeout=120
    )


def test_a_tool_a_reader_and_a_profile_of_another_package(installed: Path, tmp_path: Path) -> None:
    package(
        installed,
        "warehouse",
        "[deskwork.tools]\nstock = warehouse:stock\n"
        "[deskwork.readers]\nplc = warehouse:read\n"
        "[deskwork.profiles]\nhouse = warehouse:HOUSE\n",
    )
    assert "How many pieces of an item" in run(installed, "tools").stdout
    assert "12 pieces of 7" in run(installed, "tool", "stock", '{"item": "7"}').stdout
    drawing = tmp_path / "a.plc"
    drawing.write_bytes(b"enil A")
    read = run(installed, "read", str(drawing))
    assert "A line" in read.stdout, read.stderr
    model = {"DESKWORK_MODEL_URL": "https://models.example.org/v1", "DESKWORK_MODEL": "m"}
    assert run(installed, "jobs", DESKWORK_PROFILE="house", **model).returncode == 0
    assert run(installed, "jobs", DESKWORK_PROFILE="castle", **model).returncode == 2


def test_what_is_wrong_with_a_package_names_it(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(installed))
    for number, (points, said) in enumerate(
        [
            ("[deskwork.tools]\nx = warehouse:nothing\n", "can't be imported"),
            ("[deskwork.tools]\nx = warehouse:HOUSE\n", "it is no tool"),
            ("[deskwork.tools]\nx = warehouse:calculate\n", "has one of that name"),
        ]
    ):
        folder = installed / str(number)
        folder.mkdir()
        package(folder, "warehouse", points)
        with monkeypatch.context() as patch:
            patch.syspath_prepend(str(folder))
            added.cache_clear()
            with pytest.raises(WrongUse, match=said):
                added_tools()


def test_two_packages_that_add_the_same_are_both_named(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package(installed, "one", "[deskwork.tools]\nstock = warehouse:stock\n")
    package(installed, "two", "[deskwork.tools]\nstock = warehouse:calculate\n")
    monkeypatch.syspath_prepend(str(installed))
    added.cache_clear()
    with pytest.raises(WrongUse, match=r"package \w+ and The package \w+ both add 'stock'"):
        added_tools()
