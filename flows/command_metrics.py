"""The command for whoever watches: ``metrics``."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import click

from deskwork.flows.display import complain
from deskwork.tasks.journal import Journal
from deskwork.tasks.workbench import opened
from deskwork.tools.errors import DeskworkError, WrongUse

PORT = 9477
INTERVAL = "OTEL_METRIC_EXPORT_INTERVAL"
"""OpenTelemetry's own setting: milliseconds between two sendings, 60,000 by default."""


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), default=PORT, show_default=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option("--once", is_flag=True, help="Print the numbers, or send them, and end.")
@click.option("--push", is_flag=True, help="Send them to OTEL_EXPORTER_OTLP_ENDPOINT instead.")
def metrics(port: int, host: str, *, once: bool, push: bool) -> None:
    """Serve tokens, cost, tool calls and jobs at /metrics, for Prometheus, or push them by OTLP."""
    with opened() as bench:
        if push:
            _push(bench.journal, once=once)
        elif once:
            _print(bench.journal)
        else:
            _serve(bench.journal, host, port)


def _print(journal: Journal) -> None:
    from prometheus_client import generate_latest

    from deskwork.tasks.metrics import registry_of

    click.echo(generate_latest(registry_of(journal)).decode(), nl=False)


def _serve(journal: Journal, host: str, port: int) -> None:
    from prometheus_client import start_http_server

    from deskwork.tasks.metrics import registry_of

    try:
        _, thread = start_http_server(port, host, registry_of(journal))
    except OSError as error:
        raise WrongUse(
            f"{host}:{port} can't be listened at: {error.strerror or error}.",
            "Choose another one by --host and --port.",
        ) from None
    click.echo(f"http://{host}:{port}/metrics", err=True)
    _for_ever(1.0, thread.is_alive)


def _push(journal: Journal, *, once: bool) -> None:
    from deskwork.tasks.numbers import Numbers
    from deskwork.tasks.otlp import Push

    push = Push(Numbers(journal))
    if once:
        push.send()
        return
    milliseconds = os.environ.get(INTERVAL, "60000")
    if not milliseconds.isdecimal() or int(milliseconds) == 0:
        raise WrongUse(f"{INTERVAL} is {milliseconds!r}, which is no number of milliseconds.")

    def send() -> bool:
        try:
            push.send()
        except DeskworkError as error:
            complain(error.message, error.hint)
        return True

    _for_ever(int(milliseconds) / 1000, send)


def _for_ever(seconds: float, call: Callable[[], Any]) -> None:
    """Until Ctrl-C, or until the call says that there is nothing more to do."""
    forever = threading.Event()
    while call() and not forever.wait(seconds):
        pass


COMMANDS = [metrics]
"""The commands for whoever watches."""
