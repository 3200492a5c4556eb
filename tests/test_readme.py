"""The README's and the docs' commands and code are what the product takes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from deskwork.flows.command import cli

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.S | re.M)


def commands() -> list[str]:
    lines = [line for page in PAGES for block in blocks(page, "") for line in block.splitlines()]
    lines = [line.removeprefix(".venv/bin/") for line in lines]
    inline = re.findall(r"`(deskwork [a-z]+[^`]*)`", "".join(page.read_text() for page in PAGES))
    return [
        line for line in [*lines, *inline] if line.startswith("deskwork ") and "..." not in line
    ]


@pytest.mark.parametrize("line", sorted(set(commands())))
def test_every_command_is_one_that_parses(line: str) -> None:
    argv = shlex.split(line, comments=True)[1:]
    name, command, rest = cli.resolve_command(click.Context(cli), argv)
    assert name
    assert command is not None
    rest = ["7" if word == "N" else word for word in rest]
    if command.name in ("answer",) and not rest[1:]:
        rest = [*rest, "--give-up"]
    command.make_context(name, rest)


def test_there_are_commands_to_check() -> None:
    assert len(set(commands())) >= 15


def test_every_setting_named_exists() -> None:
    places = [ROOT / "tasks" / "settings.py", ROOT / "tasks" / "faults.py"]
    places += [ROOT / "deployments" / "compose.yaml", ROOT / "deployments" / "entrypoint.sh"]
    known = "".join(path.read_text() for path in places)
    for page in PAGES:
        for name in re.findall(r"DESKWORK_[A-Z_]+", page.read_text()):
            assert name in known, f"{page.name} names {name}"


def test_python_blocks_compile() -> None:
    sources = [block for page in PAGES for block in blocks(page, "python")]
    assert sources
    for source in sources:
        compile("async def block():\n" + re.sub(r"^", "    ", source, flags=re.M), "block", "exec")


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name} links {target}"


def test_every_test_that_shows_something_is_there() -> None:
    for page in PAGES:
        for target in re.findall(r"`(tests/[\w/.]+)`", page.read_text()):
            assert (ROOT / target).exists(), f"{page.name} names {target}"


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) < 250


def test_no_page_holds_a_placeholder() -> None:
    for page in [*PAGES, ROOT / "CHANGELOG.md"]:
        assert not re.findall(r"@[A-Z]+@", page.read_text()), page.name
