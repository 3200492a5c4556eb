"""What stands on a job's page once it has ended: the answer or report, its evidence, its files."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from collections.abc import Mapping

from deskwork.tasks.outcomes import Outcome, outcome
from deskwork.tasks.page import LONGEST, Page
from deskwork.tasks.page_text import (
    files_text,
    result_text,
    standing_text,
)
from deskwork.tasks.publishing.numbering import chart_file
from deskwork.tasks.report import Report
from deskwork.tasks.republishing import load_report
from deskwork.tasks.starts import limits_of
from deskwork.tasks.workbench import Workbench

PICTURES = 2_000_000
"""Bytes of pictures in a page's text, at most: the Prefect server keeps them in its database."""


async def show_end(page: Page, bench: Workbench, report: str, parts: Mapping[str, str]) -> None:
    """Show what came of the page's job. ``report`` is the blob that holds its report, "" for none.

    It takes no longer than is fair, with a server that is away too. Raises whatever goes wrong.
    """
    shown = await asyncio.to_thread(_shown, bench, page.job, report, parts)
    async with asyncio.timeout(1.5 * LONGEST):
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
        answer = _with_pictures(answer, found)
        if found.evidence:
            rows = _evidence_rows(found)
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


def _with_pictures(answer: str, report: Report) -> str:
    """A report's text whose charts stand in it as pictures, as far as there is room."""
    room = PICTURES
    for chart in report.charts:
        picture = base64.b64encode(chart.png).decode()
        room -= len(picture)
        if room < 0:
            break
        answer = answer.replace(f"({chart_file(chart.id)})", f"(data:image/png;base64,{picture})")
    return answer


def _evidence_rows(report: Report) -> str:
    """The evidence of a report as the rows of a table, in JSON."""
    rows = [
        {
            "file": item.file,
            "page": item.page,
            "quote": " ".join(item.quote.split()),
            "from": item.url or "",
        }
        for item in report.evidence
    ]
    return json.dumps(rows, ensure_ascii=False)
