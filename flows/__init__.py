"""What a person or a schedule starts.

    from deskwork.flows import ask
    outcome = await ask("What was revenue in 2025?", files=["reports/"])

Importing this loads no Prefect; that happens when a job starts.
"""

from __future__ import annotations

from deskwork.flows.calls import ask, research

__all__ = ["ask", "research"]
