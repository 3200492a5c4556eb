"""The command's first moments: a Ctrl-C while the rest is being imported is said, not traced."""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Import the command and run it."""
    try:
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C
        from deskwork.flows import command
    except KeyboardInterrupt:
        sys.stderr.write("deskwork: Stopped. Run the same command again and it goes on.\n")
        sys.stderr.flush()
        # Half-imported libraries are best left without their clean-up.
        os._exit(130)
    command.main()
