"""Usage as a query over the journal: tokens, cost, time, and how the tool calls went."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deskwork.tasks.journal import Journal
from deskwork.tasks.outcomes import add_usage

GROUPS = {
    "ok": "ok",
    "decided": "ok",
    "invalid_json": "format_error",
    "unknown_tool": "format_error",
    "schema_error": "format_error",
    "not_run": "not_run",
    "refused": "not_run",
}
"""A call's outcome → the group it counts in; any other outcome is an ``execution_error``.

Format errors are the model's: the call could not be understood. ``not_run`` are calls of a reply
that the output limit cut, or that came instead of a hand-over.
"""


def usage_rows(
    journal: Journal, by: str, jobs: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """Usage of these jobs, or of all.

    ``by`` is ``job``, ``model``, ``budget``, ``tool``, ``prompt`` or ``toolset``.

    The last two are versions: of what the model was told, and of the tools it was given.
    A row counts model calls and tokens and, under ``tools``, tool calls by group; a row by tool
    counts its calls by group and by outcome, and under ``budgets`` by each tier's groups.
    """
    totals: dict[str, dict[str, Any]] = {}
    for job in [job.id for job in journal.jobs()] if jobs is None else jobs:
        opened = journal.conversations(job)
        for number, meta in journal.results(job):
            conversation = opened.get(number, {})
            calls = [(meta["name"], meta.get("outcome", "ok"), meta["seconds"])]
            _add_calls(totals, by, job, conversation, calls)
        for number, meta in journal.replies(job):
            conversation = opened.get(number, {})
            cut = [(name, "not_run", 0.0) for name in meta.get("not_run", ())]
            _add_calls(totals, by, job, conversation, cut)
            if by != "tool":
                add_usage(_row(totals, _name(by, job, conversation)), meta)
    return [{by: name, **row} for name, row in totals.items()]


def _name(by: str, job: str, conversation: dict[str, Any]) -> str:
    """The row that a reply or a call of a conversation belongs to."""
    if by == "job":
        return job
    if by == "budget":
        tier, sent = conversation.get("tier"), conversation.get("effective")
        return f"{tier}" if sent is None else f"{tier}, sent as {sent or 'none'}"
    if by == "prompt":
        # Every repair, and every investigation, has the same prompt.
        label = str(conversation.get("label", "")).rstrip(" 0123456789")
        return f"{label} {conversation.get('prompt', '')}".strip()
    if by == "toolset":
        return str(conversation.get("tools", "none"))
    return str(conversation.get("model"))


def _row(totals: dict[str, dict[str, Any]], name: str) -> dict[str, Any]:
    return totals.setdefault(name, {"calls": 0, "input": 0, "output": 0})


def _add_calls(
    totals: dict[str, dict[str, Any]],
    by: str,
    job: str,
    conversation: dict[str, Any],
    calls: list[tuple[str, str, float]],
) -> None:
    for tool, outcome, seconds in calls:
        group = GROUPS.get(outcome, "execution_error")
        if by != "tool":
            row = _row(totals, _name(by, job, conversation))
            _count(row.setdefault("tools", {"calls": 0, "ok": 0}), group)
            continue
        row = totals.setdefault(tool, {"calls": 0, "ok": 0, "seconds": 0.0})
        row["seconds"] = round(row["seconds"] + seconds, 3)
        _count(row, group)
        if group != "ok" and outcome != group:
            row[outcome] = row.get(outcome, 0) + 1
        tier = str(conversation.get("tier"))
        _count(row.setdefault("budgets", {}).setdefault(tier, {"calls": 0, "ok": 0}), group)


def _count(row: dict[str, Any], group: str) -> None:
    row["calls"] += 1
    row[group] = row.get(group, 0) + 1
