"""The command ``deskwork``: what a person types, and the exit codes scripts rely on.

Exit codes: 0 done; 2 wrong use; 3 needs review; 4 waiting for a person; 5 out of budget;
6 failed; 130 stopped.
"""

from __future__ import annotations

import os
import signal
import sys

import click

from deskwork.flows import (
    command_documents,
    command_machine,
    command_metrics,
    command_record,
    command_review,
    command_run,
    command_standing,
    launching,
)
from deskwork.flows.display import complain
from deskwork.tools.errors import DeskworkError

EPILOG = (
    "Settings come from flags, then DESKWORK_* variables, then deskwork.toml. "
    "DESKWORK_MODEL_URL and DESKWORK_MODEL name a model's endpoint; without them the built-in "
    "answerer quotes from your files and no language model is used."
)


@click.group(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="deskwork", prog_name="deskwork")
def cli() -> None:
    """Long knowledge-work jobs that survive anything, with every quote led back to its source."""


for module in (
    command_run,
    command_standing,
    command_documents,
    command_record,
    command_review,
    command_machine,
    command_metrics,
):
    for command in module.COMMANDS:
        cli.add_command(command)


def main() -> None:
    """Run the command; expected errors are sentences, never tracebacks."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: said, and with a code
    try:
        code = cli.main(standalone_mode=False)
    except click.exceptions.Abort:
        code = 130
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except DeskworkError as error:
        complain(error.message, error.hint)
        code = error.exit_code
    except KeyboardInterrupt:
        complain("Stopped.", "Run the same command again and it goes on.")
        code = 130
    except BrokenPipeError:
        # Whoever read our output has gone, as in `deskwork jobs | head`.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    code = code if isinstance(code, int) else 0
    if launching.lost.is_set():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
