"""Structured logs: what a job recorded and what went wrong, never what was asked, read or said.

They go through the logger ``deskwork``: to the run's log on the Prefect page and, with
``DESKWORK_LOG=json``, to standard error as JSON lines. Fields are picked by name out of the
journal's entries; a text of a document, a person or a model is none of them, and neither are a
tool's arguments and a server's error message.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deskwork.tasks.entries import Entry

NAME = "deskwork"
LOGGER = logging.getLogger(NAME)
LOGGER.addHandler(logging.NullHandler())

flow_run: ContextVar[str | None] = ContextVar("flow_run", default=None)
"""The Prefect flow run that does the job, for the records made in it."""

_REPLY = ("finish", "status", "seconds", "cost", "lost")
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "conversation": ("model", "tier", "effective", "profile"),
    "assistant": _REPLY,
    "discarded": _REPLY,
    "tool": ("name", "outcome", "seconds"),
    "outcome": ("state",),
}
"""What is told of an entry, by its kind; other kinds are told by their kind alone, and what is
said to a model isn't told.
"""
_TOLD = ("state", "error", "wait", "tier", "done", "total")
"""The same of an event that isn't recorded."""
_SILENT = ("step", "tool", "plan", "publish", "link", "server", "notice", "index")
"""Events whose record is an entry of the journal, or that are for the terminal alone."""


def recorded(job: str, entry: Entry, step: int) -> None:
    """Log an entry that is on disk. ``step`` counts the job's model calls so far."""
    if entry.kind in ("system", "user") or not LOGGER.isEnabledFor(logging.INFO):
        return
    meta = entry.meta
    found = {name: meta[name] for name in _FIELDS.get(entry.kind, ()) if name in meta}
    if meta.get("outcome") == "unknown_tool":
        del found["name"]  # the model made it up
    found |= meta.get("usage") or {} if entry.kind in ("assistant", "discarded") else {}
    where = {"job": job, "step": step, "entry": entry.seq, "conversation": entry.conversation}
    _log(logging.INFO, entry.kind, where, found)


def told(kind: str, job: str, data: Mapping[str, Any]) -> None:
    """Log an event: that a job began, met trouble, or ended."""
    if kind in _SILENT:
        return
    level = logging.WARNING if kind == "trouble" else logging.INFO
    found = {name: data[name] for name in _TOLD if name in data}
    _log(level, kind, {"job": job}, found)


def said(text: str) -> None:
    """Say a sentence about a process itself, on its standard output or as a JSON line."""
    if _as_lines():
        LOGGER.info(text, extra={"fields": {"event": "worker"}})
    else:
        print(text, flush=True)


def _as_lines() -> bool:
    return any(isinstance(handler.formatter, JsonLines) for handler in LOGGER.handlers)


def _log(level: int, event: str, where: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    told_of = ", ".join(f"{name} {value}" for name, value in found.items() if value is not None)
    step = f", step {where['step']}" if "step" in where else ""
    text = f"job {where['job']}{step}: {event}{f': {told_of}' if told_of else ''}"
    LOGGER.log(level, "%s", text, extra={"fields": {"event": event, **where, **found}})


class JsonLines(logging.Formatter):
    """A record as one line of JSON: time (UTC), level, message, event, and the event's fields."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        at = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, Any] = {
            "time": at.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if run := flow_run.get():
            line["flow_run"] = run
        return json.dumps(line, ensure_ascii=False, default=str)


def begin(form: str, run: str | None = None) -> None:
    """Log for this flow run from now on, in the form ``text`` (Prefect's page alone) or ``json``.

    Called again, it adds nothing. A program that has set the logger's level itself keeps it, and
    gets the records at its own handlers.
    """
    flow_run.set(run)
    if LOGGER.level == logging.NOTSET:
        # Prefect adds its handler to the logger, and leaves the level to others.
        LOGGER.setLevel(logging.INFO)
        LOGGER.propagate = False
    if form != "json" or _as_lines():
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    LOGGER.addHandler(handler)
