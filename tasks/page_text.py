"""What a job's page says, as Markdown: where it stands while it runs, and its files at the end."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deskwork.tasks.journal import FINISHED, Job, Journal
from deskwork.tasks.limits import Limits
from deskwork.tasks.outcomes import descendants, usage_of
from deskwork.tasks.served import link_to
from deskwork.tasks.usage import usage_rows

NAME = 70
"""Characters of a job's title in its run's name."""
LISTED = 30
"""Parts of a job that its page lists, at most."""
SETTLED = (*FINISHED, "out of budget", "failed")
ORDER = {"running": 0, "waiting for a person": 0, "waits": 2, "done": 3}
"""Which parts are listed first where there are more; a part in any other state comes next."""


def run_name(title: str, job: str) -> str:
    """The name of a job's run: what was asked, and the id."""
    said = " ".join(title.split())
    said = said if len(said) <= NAME else said[: NAME - 1].rstrip() + "…"
    return f"{said} · {job}"


def standing_text(
    journal: Journal, job: Job, limits: Limits, planned: Mapping[str, str]
) -> tuple[str, float | None]:
    """Where a job stands, and how far it is in percent where its parts are known.

    ``planned`` has the title of each of its parts by the id of the child job that does it.
    """
    children = journal.children(job.id)
    family = [job.id, *descendants(journal, job.id)]
    used = usage_of(journal, family)
    parts = [
        f"**{_cell(job.title)}**",
        f"`{job.id}` is {job.state}, {_clock(time.time() - job.created)} since it began.",
        _used(used, limits),
    ]
    state_of = {child.id: child.state for child in children}
    titles = {child.id: child.title for child in children} | dict(planned)
    rows = [(title, state_of.get(name, "waits")) for name, title in titles.items()]
    ended = sum(state in SETTLED for _, state in rows)
    if rows:
        # Those under way first: of thousands of files, a page shows some.
        first = sorted(enumerate(rows, 1), key=lambda row: ORDER.get(row[1][1], 1))[:LISTED]
        table = _table(["#", "part", "state"], [(n, t, s) for n, (t, s) in sorted(first)])
        parts.append(f"### Plan: {ended} of {len(rows)} parts done\n\n{table}")
    if tiers := usage_rows(journal, "budget", family):
        parts.append(f"### Cost by thinking budget\n\n{_tiers(tiers)}")
    # What the job does with its parts, from draft to publishing, counts as one more.
    percent = round(100 * ended / (len(rows) + 1), 1) if planned else None
    return "\n\n".join(parts), percent


def _used(used: dict[str, Any], limits: Limits) -> str:
    rows: list[tuple[str, float, float | None]] = []
    rows += [("model calls", used["calls"], limits.max_steps)]
    rows += [("tokens", used["input"] + used["output"], limits.max_tokens)]
    if "cost" in used:
        rows.append(("cost", round(used["cost"], 4), limits.max_cost))
    rows.append(("seconds of model time", round(used.get("seconds", 0.0), 1), None))
    return _table(["", "used", "limit"], [(n, f"{u:,}", f"{m:,}" if m else "") for n, u, m in rows])


def _tiers(rows: list[dict[str, Any]]) -> str:
    def cost(row: dict[str, Any]) -> str:
        return f"{row['cost']:.4f}" if "cost" in row else ""

    cells = [
        (
            row["budget"],
            f"{row['calls']:,}",
            f"{row['input']:,}",
            f"{row.get('cache_read', 0):,}",
            f"{row['output']:,}",
            cost(row),
        )
        for row in rows
    ]
    return _table(["budget", "calls", "tokens in", "of them cached", "tokens out", "cost"], cells)


def result_text(job: str, state: str, reason: str, answer: str) -> str:
    """What came of a job: its state, and its answer or report."""
    head = f"**{job}: {state}**" + (f"\n\n{reason}" if reason and answer else "")
    return f"{head}\n\n{answer or reason}".rstrip()


def files_text(files: Sequence[str], home: Path, api_url: str) -> str:
    """The files of a job, each with a link where this machine's server serves it."""
    lines = []
    for name in files:
        path = Path(name)
        link = link_to(path, home, api_url)
        lines.append(f"- [{path.name}]({link}): `{path}`" if link else f"- `{path}`")
    return "\n".join(lines)


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(_cell(str(cell)) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(int(max(0, seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"
