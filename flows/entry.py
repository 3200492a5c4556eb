"""The command's first moments: a Ctrl-C while the rest is being imported is said, not traced."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType


def main() -> None:
    """Import the command and run it."""
    # No exception: a library that is being imported may catch whatever it gets.
    signal.signal(signal.SIGINT, _stop)
    signal.signal(signal.SIGTERM, _stop)
    from deskwork.flows import command

    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C
    command.main()


def _stop(number: int, frame: FrameType | None) -> None:
    sys.stderr.write("deskwork: Stopped. Run the same command again and it goes on.\n")
    sys.stderr.flush()
    # Half-imported libraries are best left without their clean-up.
    os._exit(130)
