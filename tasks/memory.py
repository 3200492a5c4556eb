"""Memory of a process that runs for months."""

from __future__ import annotations

import contextlib
import ctypes
import gc


def give_back() -> None:
    """Free what is garbage, and return it to the system where the C library can.

    Each run of a worker leaves cycles behind, Prefect's clients, which Python collects only once
    they are a quarter of all that lives; and glibc keeps what is freed. A worker would grow by half
    a megabyte a job, for some hundred jobs.
    """
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
