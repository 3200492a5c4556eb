"""The commands for this machine: ``up``, ``work``, ``down``, ``status``, ``doctor``."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import click

from deskwork.flows.command_standing import put_on_schedule
from deskwork.flows.display import busy
from deskwork.flows.doctor import examine
from deskwork.flows.launching import all_flows
from deskwork.tasks import machine, standing_deployments
from deskwork.tasks.briefings import read_briefing
from deskwork.tasks.settings import load_settings


def _say(text: str) -> None:
    click.echo(text, err=True)


@click.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
def up(files: tuple[Path, ...]) -> None:
    """Start the Prefect server with its UI, the deployments and a worker on this machine.

    Each of FILES is a standing report, which is put on its schedule as by `deploy`.
    """
    for file in files:
        # What is wrong in a file is told before anything is started.
        standing_deployments.flow_of(read_briefing(file))
    info = machine.up(load_settings().home, all_flows, say=_say)
    for file in files:
        put_on_schedule(file, info)
    names = ", ".join(sorted(f"{flow.name}/deskwork" for flow in all_flows()))
    click.echo(f"The UI is at {info.ui_url}")
    click.echo(f"Deployments: {names}. A worker waits for runs; `deskwork down` stops all of it.")


@click.command()
@click.option(
    "--limit", type=click.IntRange(min=1), default=4, show_default=True, help="Runs at once."
)
@click.option("--name", help="The worker's name on the Prefect page; default: the host's.")
def work(limit: int, name: str | None) -> None:
    """Take up runs of a Prefect server until Ctrl-C, and go on with those of dead workers.

    The server is the one that PREFECT_API_URL names, else this machine's own.
    """
    machine.work(load_settings().home, all_flows, say=_say, limit=limit, name=name)


@click.command()
def down() -> None:
    """Stop the worker and the Prefect server of this machine; jobs lose nothing."""
    click.echo("Stopped." if machine.down(load_settings().home) else "Nothing was running.")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def status(as_json: bool) -> None:
    """Tell what of Deskwork runs on this machine."""
    found = machine.status(load_settings().home)
    if as_json:
        click.echo(json.dumps(found))
        return
    for name in ("api", "ui", "worker"):
        click.echo(f"{name}: {found[name] or 'not running'}")
    click.echo(f"deployments: {', '.join(found['deployments']) or 'none'}")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def doctor(as_json: bool) -> int:
    """Check the endpoint, storage and Prefect, and say what to mend."""
    with busy("asking the endpoint", quiet=as_json):
        checks = asyncio.run(examine())
    if as_json:
        click.echo(json.dumps([vars(check) for check in checks], ensure_ascii=False))
    else:
        for check in checks:
            click.echo(f"{'ok  ' if check.ok else 'MEND'} {check.name}: {check.found}")
            if check.mend:
                click.echo(f"     {check.mend}")
    return 0 if all(check.ok for check in checks) else 6


COMMANDS = [up, work, down, status, doctor]
