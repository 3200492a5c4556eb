"""What a person or a schedule starts.

    from deskwork.flows import ask
    outcome = await ask("What was revenue in 2025?", files=["reports/"])

Importing this loads no Prefect; that happens when a job starts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deskwork.flows.calls import ask, briefing, documents, evaluate, research

__all__ = ["ask", "briefing", "documents", "evaluate", "research"]


def __getattr__(name: str) -> Any:
    # The command begins before its libraries are there: see `deskwork.flows.entry`.
    if name in __all__:
        from deskwork.flows import calls

        return getattr(calls, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
