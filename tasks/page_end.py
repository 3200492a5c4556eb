"""What stands on a job's page once it has ended: the answer or report, its evidence, its files."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping

from deskwork.tasks.outcomes import Outcome, outcome
from deskwork.tasks.page import Page
from deskwork.tasks.page_text import (
    evidence_rows,
    files_text,
    result_text,
    standing_text,
    with_pictures,
)
from deskwork.tasks.republishing import load_report
from deskwork.tasks.starts import limits_of
from deskwork.tasks.workbench import Workbench


async def show_end(page: Page, bench: Workbench, report: str, parts: Mapping[str, str]) -> None:
    """Show what came of the page's job. ``report`` is the blob that holds its report, "" for none.

    Nothing is shown where the run left its job as another one holds it, and no error is raised.
    """
    shown = await asyncio.to_thread(_shown, bench, page.job, report, parts)
    for what, kind, data, description in shown:
        await page.show(what, kind, data, description)


def _shown(
    bench: Workbench, name: str, report: str, parts: Mapping[str, str]
) -> list[tuple[str, str, object, str]]:
    journal = bench.journal
    job, came = journal.job(name), outcome(journal, name)
    text, percent = standing_text(journal, job, limits_of(journal, name), parts)
    answer = came.answer
    more: list[tuple[str, str, object, str]] = []
    if report:
        found = load_report(bench, report)
        answer = with_pictures(answer, found)
        if found.evidence:
            rows = evidence_rows(found)
            more.append(("evidence", "table", rows, "The quotes that the report stands on"))
    if came.files:
        more.append(("files", "markdown", _files(bench, came), "The files that the job has made"))
    if percent is not None:
        over = 100.0 if job.state in ("done", "needs review") else percent
        more.append(("percent", "progress", over, "How far the job is"))
    return [
        ("answer", "markdown", result_text(came.job, came.state, came.reason, answer), _WHAT),
        ("progress", "markdown", text, "Where the job stands"),
        *more,
    ]


_WHAT = "What came of the job"


def _files(bench: Workbench, came: Outcome) -> str:
    api_url = os.environ.get("PREFECT_API_URL", "")
    return files_text(came.files, bench.settings.home, api_url)
