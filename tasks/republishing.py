"""Publishing a finished report again, with what a person said of it since."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from deskwork.tasks.history import History
from deskwork.tasks.job_desk import with_sources
from deskwork.tasks.publishing import FORMS, Published, publish
from deskwork.tasks.report import Report
from deskwork.tasks.reviews import holding, reviewed
from deskwork.tasks.starts import first_entry
from deskwork.tasks.workbench import Workbench
from deskwork.tools.collection import Collection
from deskwork.tools.errors import WrongUse


def stored_report(bench: Workbench, job: str) -> tuple[Report, Path]:
    """The report that a job published, and the folder it stands in.

    Raises `NotFound` for an unknown job, `WrongUse` for one that published none.
    """
    ends = bench.journal.metas(bench.journal.job(job).id, "outcome")
    for _, _, meta in reversed(ends):
        if name := meta.get("report"):
            return load_report(bench, name), Path(meta["files"][0]).parent
    raise WrongUse(
        f"Job {job} has published no report.",
        "Research jobs and standing reports do, at their end.",
    )


def load_report(bench: Workbench, sha256: str) -> Report:
    """The report in a blob, with the pictures of its charts. Raises `StorageError`."""
    report = Report.from_json(json.loads(bench.blobs.get(sha256)))
    charts = (replace(one, png=bench.blobs.get(one.sha256)) for one in report.charts)
    return replace(report, charts=tuple(charts))


def republish(bench: Workbench, job: str, report: Report, folder: Path) -> Published:
    """Write all forms anew where they stand, with the job's reviews. Raises `StorageError`."""
    forms = first_entry(bench.journal, job)["request"].get("outputs", FORMS)
    said = reviewed(report, holding(bench.journal, job))
    return publish(said, folder, collected(bench, job), forms)


def collected(bench: Workbench, job: str) -> Collection:
    """A job's documents: its files as they are now, and what its investigations fetched."""
    files = [Path(path) for path in first_entry(bench.journal, job)["request"]["files"]]
    collection = bench.library.collect([path for path in files if path.exists()])
    for child in bench.journal.children(job):
        history = History(bench.blobs)
        for entry in bench.journal.entries(child.id):
            history.apply(entry)
        collection = with_sources(collection, history.sources, bench.blobs)
    return collection
