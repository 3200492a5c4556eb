"""The command that puts a standing report on its schedule: ``deploy``."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime
from pathlib import Path

import click

from deskwork.flows.launching import flow_named
from deskwork.tasks import machine, standing_deployments
from deskwork.tasks.briefings import read_briefing
from deskwork.tasks.delivery.targets import secrets_of
from deskwork.tasks.prefect_server import ensure_server
from deskwork.tasks.prefect_settings import ServerInfo, client_settings
from deskwork.tasks.settings import load_settings
from deskwork.tools.errors import WrongUse


@click.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--remove", "removed", metavar="NAME", help="Take this standing report off instead.")
def deploy(file: Path | None, removed: str | None) -> None:
    """Put the standing report in FILE on its schedule, or let it watch for filings.

    The same command again takes over what has changed in the file.
    """
    if (file is None) is (removed is None):
        raise WrongUse("Give one FILE, or --remove NAME.", "`deskwork deploy briefing.yaml`")
    if removed is not None:
        for name in asyncio.run(standing_deployments.remove(_server(), removed)):
            click.echo(f"Removed {name}.")
        return
    assert file is not None
    standing_deployments.flow_of(read_briefing(file))
    info = _server()
    put_on_schedule(file, info)
    _advise(info)


def put_on_schedule(file: Path, info: ServerInfo) -> None:
    """Deploy the standing report in a file, and say so. Prefect's settings are in the environment.

    Raises `WrongUse` that lists what is wrong in the file.
    """
    briefing = read_briefing(file)
    kind = standing_deployments.flow_of(briefing)
    flow = flow_named(kind)
    changed = asyncio.run(standing_deployments.deploy(info, flow, briefing))
    click.echo(f"{kind}/{briefing.name} {'is deployed' if changed else 'has not changed'}.")
    timing = standing_deployments.timing_of(briefing)
    at = standing_deployments.next_run(timing, datetime.now(UTC))
    does = "It looks for new filings next" if kind == "watch" else "Its next run is"
    click.echo(f"{does} on {at:%A %Y-%m-%d} at {at:%H:%M} ({timing.timezone}).")
    for target in briefing.delivery:
        for secret in secrets_of(target):
            if secret.env and not os.environ.get(secret.env):
                click.echo(f"The worker needs {secret.env}, which is not set here.", err=True)


def _server() -> ServerInfo:
    info = ensure_server(load_settings().home, say=lambda text: click.echo(text, err=True))
    os.environ.update(client_settings(info))
    return info


def _advise(info: ServerInfo) -> None:
    if info.home is None:
        return
    if machine.status(info.home)["worker"] != "running":
        click.echo("No worker runs here yet: `deskwork up` starts one.", err=True)


COMMANDS = [deploy]
"""The commands of standing reports, beside ``briefing``."""
