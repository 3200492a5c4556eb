"""The command that serves numbers for Prometheus: ``metrics``."""

from __future__ import annotations

import threading

import click

from deskwork.tasks.workbench import opened
from deskwork.tools.errors import WrongUse

PORT = 9477


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), default=PORT, show_default=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option("--once", is_flag=True, help="Print the numbers and end.")
def metrics(port: int, host: str, *, once: bool) -> None:
    """Serve tokens, cost, tool calls and jobs at /metrics, for Prometheus."""
    from prometheus_client import generate_latest, start_http_server

    from deskwork.tasks.metrics import registry_of

    with opened() as bench:
        registry = registry_of(bench.journal)
        if once:
            click.echo(generate_latest(registry).decode(), nl=False)
            return
        try:
            _, thread = start_http_server(port, host, registry)
        except OSError as error:
            raise WrongUse(
                f"{host}:{port} can't be listened at: {error.strerror or error}.",
                "Choose another one by --host and --port.",
            ) from None
        click.echo(f"http://{host}:{port}/metrics", err=True)
        forever = threading.Event()
        while thread.is_alive() and not forever.wait(1.0):
            pass


COMMANDS = [metrics]
"""The commands for whoever watches."""
