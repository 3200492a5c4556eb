"""A published report over a PDF, a workbook and a web page, with bound and derived figures."""

from __future__ import annotations

import asyncio
import io
from dataclasses import dataclass
from pathlib import Path

import openpyxl
import pytest

from deskwork.tasks.claims import check
from deskwork.tasks.conflicts import conflicts_of
from deskwork.tasks.ledger import Ledger
from deskwork.tasks.publishing import publish
from deskwork.tasks.report import Report
from deskwork.tools.charts.tools import draw_chart
from deskwork.tools.collection import Collection
from deskwork.tools.desk import DocumentDesk
from deskwork.tools.figures import Figure, Said, bind
from deskwork.tools.formulas import Wanted, derive
from deskwork.tools.library import Library
from deskwork.tools.printed import printed_in
from deskwork.tools.tool import Evidence
from tests.tools.made import pdf

LINES = [
    "Acme Corp, consolidated statement of income",
    "(Millions of dollars) 2025 2024",
    "Net sales 8,426 7,813",
    "Net loss of the *Norden* [unit] (207) (12)",
]


@dataclass
class Published:
    """A report, its folder, and what it was made from."""

    report: Report
    folder: Path
    collection: Collection
    evidence: dict[str, Evidence]
    figures: dict[str, Figure]


def _cited(collection: Collection, file: str, quote: str) -> Evidence:
    return collection.find_quote(file, 1, quote)


def _bound(collection: Collection, item: Evidence, value: str, end: str) -> Figure:
    page = collection.page(item.file, item.page).text
    tables = collection.tables(item.file, item.page)
    printed = printed_in(item.quote, page, item.start, tables)
    return bind(Said("Acme, net sales", value, end), item.id, printed, item.quote, page)


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Published:
    folder = tmp_path_factory.mktemp("published")
    (folder / "files").mkdir()
    (folder / "files" / "acme_10K.pdf").write_bytes(pdf([LINES]))
    book, data = openpyxl.Workbook(), io.BytesIO()
    assert book.active is not None
    book.active.title = "Plan"
    for line in (["", "in millions", 2026], ["", "Planned net sales", 9000]):
        book.active.append(line)
    book.save(data)
    (folder / "files" / "plan.xlsx").write_bytes(data.getvalue())
    collection = Library(folder / "home").collect([folder / "files"])
    sales = _cited(collection, "acme_10K.pdf", LINES[2])
    loss = _cited(collection, "acme_10K.pdf", LINES[3])
    plan = _cited(collection, "plan.xlsx", "Planned net sales | 9000")
    new, old = (
        _bound(collection, sales, value, end)
        for value, end in (("8,426", "2025"), ("7,813", "2024"))
    )
    growth = derive(
        f"({new.id} - {old.id}) / {old.id}",
        {new.id: new, old.id: old}.get,
        Wanted("Acme, growth of net sales", unit="%"),
    )
    evidence = {item.id: item for item in (sales, loss, plan)}
    figures = {figure.id: figure for figure in (new, old, growth)}
    text = (
        "# Acme & co: <b>2025</b>\n\n## Summary\n\n"
        f"Net sales were {{{new.id}}} in 2025, {{{growth.id}}} more than in 2024. They had been "
        f"$7,813 million in 2024 [{sales.id}]. It says “Net sales 8,426 7,813” [{sales.id}].\n\n"
        f"- The net loss was $207 million in 2025 [{loss.id}].\n- It will grow by 55%.\n\n"
        "## Table\n\n| $ in millions | 2025 | 2024 |\n|---|---|---|\n"
        f"| Net sales | 8,426 | 7,813 [{sales.id}] |\n\n"
        f"1. Planned: 9,000 million in 2026 [{plan.id}].\n\n> a quote with `code` and *stress*\n"
    )
    desk = DocumentDesk(collection, evidence, bound=figures)
    series = [{"name": "Net sales", "figures": [old.id, new.id]}]
    given = {"kind": "bar", "title": "Net sales [of Acme]", "series": series}
    (chart,) = asyncio.run(draw_chart.run(given, desk)).charts
    text += f"\n{{{chart.id}}}\n"
    found = check(text, Ledger(collection, evidence, figures, {chart.id: chart}))
    stated = {**figures, **{figure.id: figure for figure in found.figures}}
    report = Report(
        job="research-1",
        state="needs review",
        question="How did Acme do in 2025, and what is $planned#?",
        text=text,
        evidence=tuple(evidence.values()),
        claims=found.claims,
        figures=tuple(stated.values()),
        charts=(chart,),
        conflicts=tuple(conflicts_of(list(stated.values()), evidence)),
        notes=("broken.pdf could not be read: it is broken.",),
        usage={"calls": 4, "input": 1000, "output": 100, "by": "Written by a-model"},
        sources=tuple(
            {
                "file": f.name,
                "kind": f.kind,
                "pages": f.pages,
                "sha256": f.sha256,
                "url": "",
                "retrieved": "",
            }
            for f in collection.files
        ),
        settings={"model": "a-model", "budget": "high"},
        as_of="2026-03-01T10:00:00+00:00",
    )
    publish(report, folder / "out", collection)
    return Published(report, folder / "out", collection, evidence, figures)
