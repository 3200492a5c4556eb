"""The commands that look at documents and tools as a model would: no job, no cost."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress as Bar

from deskwork.tasks.connected_tools import connected_tools, is_offered, named_tools
from deskwork.tasks.settings import load_settings
from deskwork.tools.collection import Collection
from deskwork.tools.desk import DocumentDesk
from deskwork.tools.errors import ToolError, WrongUse
from deskwork.tools.library import Library
from deskwork.tools.library import Progress as Indexed
from deskwork.tools.registry import default_tools
from deskwork.tools.selection import find_tools
from deskwork.tools.web.access import Web

_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("file", type=_PATH)
@click.option("--page", type=click.IntRange(1), help="This page only; they count from 1.")
@click.option("--password", help="The password of a locked file.")
@click.option("--ocr", is_flag=True, help="Read pages without text by their picture.")
@click.option("--json", "as_json", is_flag=True, help="Print the document as JSON.")
def read(file: Path, page: int | None, password: str | None, ocr: bool, as_json: bool) -> None:
    """Print FILE as a model sees it: Markdown, or JSON with pages, tables and warnings."""
    from deskwork.tools.readers import read as read_file

    reading = load_settings().reading
    document = read_file(
        file,
        password=password,
        passwords=reading.passwords,
        ocr=ocr or reading.ocr,
        limits=reading.limits,
    )
    if page is not None and page > len(document.pages):
        raise WrongUse(f"{file} has {len(document.pages)} pages, so there is no page {page}.")
    if as_json:
        click.echo(json.dumps(document.to_json(page), ensure_ascii=False))
    else:
        click.echo(document.to_markdown(page))


@click.command()
@click.argument("query")
@click.option("--files", type=_PATH, multiple=True, required=True, help="Folder or file.")
@click.option("--top", type=click.IntRange(1), default=10, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def search(query: str, files: tuple[Path, ...], top: int, as_json: bool) -> None:
    """Find the pages in the files that answer QUERY, best first."""
    collection = collect(files, quiet=as_json)
    hits = collection.search(query, top=top)
    if as_json:
        click.echo(json.dumps([asdict(hit) for hit in hits], ensure_ascii=False))
        return
    for number, hit in enumerate(hits, 1):
        click.echo(f"[{number}] {hit.file} · page {hit.page} · score {hit.score:.2f}")
        click.echo(f"    {' '.join(hit.snippet.split())}")
        if hit.row:
            click.echo(f"    → {hit.row}")
    if not hits:
        click.echo("Nothing found.", err=True)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print their schemas as a JSON list.")
def tools(as_json: bool) -> None:
    """List the tools a model may call, with their parameters."""
    found = find_tools(default_tools())
    found += asyncio.run(connected_tools(load_settings().connections))
    if as_json:
        rows = [
            {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                "repeatable": tool.repeatable,
                "offered": is_offered(tool),
            }
            for tool in found
        ]
        click.echo(json.dumps(rows, ensure_ascii=False))
        return
    for tool in found:
        names = ", ".join(tool.parameters["properties"])
        click.echo(f"{tool.name}({names})")
        click.echo(f"    {tool.description.splitlines()[0]}")
        if not is_offered(tool):
            click.echo("    It may change something outside: jobs have it by --tool alone.")


@click.command()
@click.argument("name")
@click.argument("arguments", default="{}")
@click.option("--files", type=_PATH, multiple=True, help="Folder or file the tool may reach.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def tool(name: str, arguments: str, files: tuple[Path, ...], as_json: bool) -> int:
    """Run one tool as a model would, with ARGUMENTS as a JSON object, and print its result."""
    settings = load_settings()
    found = asyncio.run(named_tools([name], settings.connections))[0]
    try:
        given = json.loads(arguments)
    except ValueError as error:
        raise WrongUse(
            f"The arguments are no JSON: {error}.", """They look like '{"query": "revenue"}'."""
        ) from None
    if not isinstance(given, dict):
        raise WrongUse("The arguments are no JSON object.", """They look like '{"page": 3}'.""")
    web = Web(settings.web, settings.home)
    desk = DocumentDesk(collect(files, quiet=as_json), online=web)
    try:
        result = asyncio.run(found.run(given, desk))
    except ToolError as error:
        if as_json:
            click.echo(json.dumps({"error": str(error)}, ensure_ascii=False))
        else:
            click.echo(f"Error: {error}")
        return 6
    if as_json:
        row: dict[str, Any] = {
            "text": result.text,
            "data": result.data,
            "evidence": [asdict(item) for item in result.evidence],
            "sources": [source.as_json() for source in result.sources],
            "images": len(result.images),
            "is_error": result.is_error,
        }
        click.echo(json.dumps(row, ensure_ascii=False))
    else:
        click.echo(result.text)
    return 6 if result.is_error else 0


def collect(paths: tuple[Path, ...], *, quiet: bool = False) -> Collection:
    """The documents under the paths, read with a progress bar where one is seen."""
    settings = load_settings()
    library = Library(settings.home, settings.reading)
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        return _complain_of_failed(library.collect(paths))
    with Bar(console=console, transient=True) as bar:
        task = bar.add_task("reading", total=None)

        def show(at: Indexed) -> None:
            bar.update(task, completed=at.done, total=at.total, description=at.file.name[-40:])

        return _complain_of_failed(library.collect(paths, show))


def _complain_of_failed(collection: Collection) -> Collection:
    for file in collection.files:
        if file.state != "ready":
            click.echo(f"not read: {file.name}: {file.reason}", err=True)
    return collection


COMMANDS = [read, search, tools, tool]
