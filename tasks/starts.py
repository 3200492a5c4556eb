"""Starting a job or going on with it: which job a request means, and what may have changed.

Without an id the job follows from the flow, its inputs and the files' hashes: an unfinished one
goes on, a finished one starts a numbered new run. When a job goes on only limits may change.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deskwork.tasks.encoding import dumps
from deskwork.tasks.entries import Draft
from deskwork.tasks.history import History
from deskwork.tasks.journal import FINISHED, Job, Journal
from deskwork.tasks.limits import Limits
from deskwork.tasks.requests import JobRequest, SourcesRequest
from deskwork.tools.errors import BadFile, NotFound, WrongUse
from deskwork.tools.library import fingerprint

_SWITCHES = ("web", "workspace")
_NAMED = 5
"""Files that a message names."""
_FIXED = ("model", "protocol", "profile", "budget")


@dataclass(frozen=True)
class Start:
    """What a job begins with: the request with absolute paths, the files' hashes, the settings."""

    flow: str
    key: str
    title: str
    request: dict[str, Any]
    files: list[tuple[str, str]]
    settings: dict[str, Any]
    limits: Limits
    parent: str | None = None

    def draft(self) -> Draft:
        """The job's first entry."""
        return Draft(
            "start",
            {
                "v": 1,
                "flow": self.flow,
                "request": self.request,
                "files": [list(pair) for pair in self.files],
                "settings": self.settings,
                "limits": self.limits.model_dump(),
            },
        )


def make_start(flow: str, request: JobRequest, settings: dict[str, Any]) -> Start:
    """The start of a root job. Reads every file once for its hash."""
    files = fingerprint([path.absolute() for path in request.files], without=request.written)
    images = [hashlib.sha256(read_image(path)).hexdigest() for path in request.images]
    unkept = {"limits", "job", "model", "budget", "addresses", "spread"}
    plain = request.model_dump(mode="json", by_alias=True, exclude=unkept)
    plain["files"] = [str(path.absolute()) for path in request.files]
    plain["images"] = [str(path.absolute()) for path in request.images]
    if isinstance(request, SourcesRequest):
        web = on_the_web(request, settings)
        # Only where it is on: a job without it is the same job as before there was any.
        plain = {name: value for name, value in plain.items() if name not in _SWITCHES}
        plain |= {"web": True} if web else {}
        programs = request.workspace
        if programs is None:
            programs = bool(settings.get("workspace"))
        plain |= {"workspace": True} if programs else {}
    for name in ("review_plan", "review_report"):
        if not plain.get(name, True):
            del plain[name]
    where = {"files", "images", "out", "question_set"}
    inputs = {name: value for name, value in plain.items() if name not in where}
    hashed = dumps([flow, inputs, images, [list(pair) for pair in files]])
    return Start(
        flow=flow,
        key=key_of(request) or hashlib.sha256(hashed).hexdigest(),
        title=request.question,
        request=plain,
        files=files,
        settings={**settings, "budget": request.budget},
        limits=request.limits,
    )


def key_of(request: JobRequest) -> str:
    """The key of work that isn't known by its inputs; "" for any other."""
    return hashlib.sha256(dumps(request.identity)).hexdigest() if request.identity else ""


def on_the_web(request: JobRequest, settings: dict[str, Any]) -> bool:
    """Whether a job may use the web: as its request says, else as the settings do."""
    if not isinstance(request, SourcesRequest):
        return False
    return bool(settings.get("web", {}).get("enabled")) if request.web is None else request.web


def read_image(path: Path) -> bytes:
    """The bytes of a picture that was given. Raises `BadFile` naming it."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadFile(
            f"The picture {path} can't be read: {error.strerror or error}.", "Check its path."
        ) from None


def find_or_create(
    journal: Journal, start: Start, job: str | None = None, *, settings_may_differ: bool = False
) -> Job:
    """The job that a start means: the named one, an unfinished one, or a new one.

    Raises `WrongUse` when the job exists and anything but its limits would change. A worker
    passes ``settings_may_differ``: the job's recorded settings win over its own.
    """
    fixed = () if settings_may_differ else _FIXED
    if job is not None:
        try:
            found = journal.job(job)
        except NotFound:
            _create(journal, job, start)
            found = journal.job(job)
        _check(journal, found, start, fixed)
        return found
    base = f"{start.flow}-{start.key[:8]}"
    while True:
        # Its own runs alone: a fork has the same inputs and goes its own way.
        named = re.compile(re.escape(base) + r"(-\d+)?")
        known = [job for job in journal.jobs(prefix=base) if named.fullmatch(job.id)]
        if known and known[-1].state not in FINISHED:
            _check(journal, known[-1], start, fixed)
            return known[-1]
        _create(journal, f"{base}-{len(known) + 1}" if known else base, start)


def _create(journal: Journal, job: str, start: Start) -> None:
    journal.create(
        job,
        flow=start.flow,
        key=start.key,
        title=start.title,
        start=start.draft(),
        parent=start.parent,
    )


def differing(before: Iterable[Sequence[str]], now: Iterable[Sequence[str]]) -> str:
    """In words which files aren't what they were: pairs of name and SHA-256."""
    old, new = ({pair[0]: pair[1] for pair in pairs} for pairs in (before, now))
    told = [f"{name} has changed" for name in old if name in new and old[name] != new[name]]
    told += [f"{name} is gone" for name in old if name not in new]
    told += [f"{name} is new" for name in new if name not in old]
    rest = f", and {len(told) - _NAMED} more" if len(told) > _NAMED else ""
    return ", ".join(told[:_NAMED]) + rest


def _check(journal: Journal, job: Job, start: Start, fixed: tuple[str, ...]) -> None:
    recorded = first_entry(journal, job.id)
    hint = (
        f"When a job goes on, only its limits may change. `deskwork fork {job.id} --at N` makes "
        f"a job of its own from the first N entries; `deskwork resume {job.id} --model M` moves "
        "it to another model; `--job NEW-ID` starts a new one."
    )
    if job.flow != start.flow or job.key != start.key:
        same = recorded["files"] == [list(pair) for pair in start.files]
        what = "with other inputs"
        if not same and job.flow == start.flow:
            what = f"from other files ({differing(recorded['files'], start.files)})"
        raise WrongUse(f"Job {job.id} exists already, {what}.", hint)
    for name in fixed:
        before, now = recorded["settings"].get(name), start.settings.get(name)
        if before != now:
            raise WrongUse(f"Job {job.id} runs with {name} {before!r}, not {now!r}.", hint)


def first_entry(journal: Journal, job: str) -> dict[str, Any]:
    """The start entry of a job, with the settings of a fork or of a move laid over it."""
    start: dict[str, Any] = {}
    for _, kind, meta in journal.metas(job, "start", "fork", "moved"):
        if kind == "start":
            start = meta
            continue
        start = {**start, "settings": {**start["settings"], **meta["settings"]}}
        if kind == "fork":
            start["limits"] = meta["limits"]
    return start


def limits_of(journal: Journal, job: str) -> Limits:
    """The limits that a job had last: a person may have changed them since its start."""
    resumed = journal.metas(job, "resumed")
    return Limits(**(resumed[-1][2] if resumed else first_entry(journal, job))["limits"])


def moved_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """What changes when a job goes on elsewhere; the rest stays as it began."""
    names = ("model", "protocol", "profile", "own_profile", "model_url")
    return {name: settings.get(name) for name in names}


def move(journal: Journal, job: str, settings: dict[str, Any]) -> bool:
    """Record that a job goes on with another model, profile or protocol; False for the same.

    Raises `JobHeld` while it runs. ``settings`` are as `Workbench.recorded_settings` gives them.
    """
    before, after = first_entry(journal, job)["settings"], moved_settings(settings)
    if all(before.get(name) == after.get(name) for name in ("model", "protocol", "profile")):
        return False
    state = journal.job(job)
    writer = journal.acquire(job)
    try:
        writer.append([Draft("moved", {"settings": after, "from": before.get("model")})])
    finally:
        writer.release(state.state, state.reason)
    return True


def going_on(history: History, start: Start) -> list[Draft]:
    """The entry that a further start of a job adds; nothing for its first one."""
    if not history.conversations and history.limits == start.limits and not history.notes:
        return []
    return [
        Draft(
            "resumed",
            {
                "limits": start.limits.model_dump(),
                "model_url": start.settings.get("model_url"),
            },
        )
    ]
