"""Views over the journal: jobs, one job whole, usage. Each can be made again at any time."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from deskwork.tasks.blobs import Blobs
from deskwork.tasks.encoding import loads
from deskwork.tasks.entries import FIRST_PARENT, BlobSegment, Draft, Entry
from deskwork.tasks.history import History
from deskwork.tasks.journal import Journal
from deskwork.tasks.outcomes import descendants, outcome, usage_of
from deskwork.tasks.plan import read_plan
from deskwork.tasks.starts import first_entry
from deskwork.tasks.usage import usage_rows
from deskwork.tools.errors import WrongUse

__all__ = ["decide", "descendants", "job_record", "job_rows", "summary", "usage_rows"]


def job_rows(journal: Journal) -> list[dict[str, Any]]:
    """One row a root job, the newest last. Times are Unix seconds."""
    return [
        {
            "job": job.id,
            "flow": job.flow,
            "state": job.state,
            "reason": job.reason,
            "title": job.title,
            "created": job.created,
            "updated": job.updated,
        }
        for job in journal.jobs(roots=True)
    ]


def job_record(journal: Journal, blobs: Blobs, job_id: str) -> dict[str, Any]:
    """A job whole: state, settings, usage, and every entry with its message."""
    job = journal.job(job_id)
    start = first_entry(journal, job_id)
    parent, entries = FIRST_PARENT, []
    for entry in journal.entries(job_id):
        entries.append(_entry_row(entry, parent))
        parent = entry.digest
    children = journal.children(job_id)
    return {
        "job": job.id,
        "flow": job.flow,
        "state": job.state,
        "reason": job.reason,
        "settings": {**start["settings"], "limits": start["limits"], "request": start["request"]},
        "usage": usage_of(journal, [job_id, *descendants(journal, job_id)]),
        "answer": outcome(journal, job_id).answer,
        "children": [{"job": c.id, "state": c.state, "title": c.title} for c in children],
        "entries": entries,
    }


def _entry_row(entry: Entry, parent: bytes) -> dict[str, Any]:
    inline = sum(len(part) for part in entry.body if isinstance(part, bytes))
    return {
        "seq": entry.seq,
        "digest": entry.digest.hex(),
        "parent": parent.hex(),
        "role": entry.kind,
        "conversation": entry.conversation,
        "bytes": inline,
        "created": entry.created,
        "meta": entry.meta,
        "message": _message(entry),
    }


def _message(entry: Entry) -> Any:
    """The message as plain JSON, with a blob shown by its hash instead of its content."""
    if not entry.body:
        return None
    text = b"".join(
        part if isinstance(part, bytes) else f"blob {part.sha256}".encode()
        for part in entry.body
        if isinstance(part, bytes | BlobSegment)
    )
    try:
        return loads(text)
    except ValueError:
        # A user's content blocks stand side by side until a request puts them in a message.
        return loads(b"[" + text + b"]")


def summary(entry: dict[str, Any]) -> str:
    """An entry in one line."""
    meta, message = entry["meta"], entry["message"]
    if entry["role"] in ("assistant", "discarded"):
        usage = meta.get("usage") or {}
        return f"{meta['finish']}, {usage.get('output', '?')} tokens · {_text(message)}"
    if entry["role"] == "tool":
        return (
            f"{meta['name']} {meta.get('outcome', 'ok')} in {meta['seconds']} s · {_text(message)}"
        )
    if entry["role"] in ("system", "user"):
        return _text(message)
    shown = {k: v for k, v in meta.items() if k not in ("files", "request", "answer")}
    return _shorten(str(shown))


def _text(message: Any) -> str:
    parts: list[str] = []

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            for name, item in value.items():
                if name in ("text", "content", "arguments", "name") and isinstance(item, str):
                    parts.append(item)
                else:
                    walk(item)
        elif isinstance(value, list):
            for item in value:
                walk(item)

    walk(message)
    return _shorten(" ".join(parts))


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 110 else text[:107] + "..."


def decide(journal: Journal, blobs: Blobs, job: str, result: str | None) -> list[str]:
    """Record what a person decided about a job's interrupted calls: their result, or run again.

    Returns the calls in words. Raises `WrongUse` when none is waiting.
    """
    writer = journal.acquire(job)
    reason = journal.job(job).reason
    try:
        history = History(blobs)
        for entry in journal.entries(job):
            history.apply(entry)
        decided, drafts = [], []
        for conversation in history.conversations.values():
            staged = writer.open_calls(conversation.turn)
            for place, call in conversation.open_calls:
                if place in staged and staged[place] is None:
                    meta: dict[str, Any] = {"turn": conversation.turn, "place": place}
                    meta |= {"result": result} if result is not None else {"again": True}
                    drafts.append(Draft("decision", meta))
                    decided.append(f"{call.name}({call.arguments[:100]})")
        if not drafts:
            raise WrongUse(
                f"Job {job} has no interrupted call to decide about.",
                f"`deskwork show {job}` tells where it stands.",
            )
        writer.append(drafts)
        return decided
    finally:
        writer.release("stopped", reason and "decided; resume to go on")


def plan_in(path: Path) -> dict[str, Any]:
    """The plan in a person's file. Raises `WrongUse` where it holds none."""
    try:
        plan = read_plan(path.read_text(encoding="utf-8"), 1)
    except (OSError, ValueError) as error:
        why = str(getattr(error, "strerror", None) or error).rstrip(".")
        raise WrongUse(f"{path} holds no plan: {why}.", "Change what plan.json holds.") from None
    return plan.model_dump(exclude_defaults=True)


def decide_plan(journal: Journal, job: str, plan: dict[str, Any] | Literal[True]) -> None:
    """Record that a person approved a job's plan (True), or gave another one.

    Raises `WrongUse` when the job doesn't wait for that.
    """
    found = journal.job(job)
    if found.state != "waiting for a person" or "plan" not in found.reason.lower():
        raise WrongUse(
            f"Job {job} doesn't wait for its plan to be approved; it is {found.state}.",
            f"`deskwork show {job}` tells where it stands.",
        )
    writer = journal.acquire(job)
    try:
        writer.append([Draft("decision", {"plan": plan})])
    finally:
        writer.release("stopped", "the plan is decided; resume to go on")
