"""The report as a workbook: figures with formulas that recompute, evidence, claims, conflicts."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import xlsxwriter
from xlsxwriter.utility import xl_rowcol_to_cell

from deskwork.tasks.publishing.excel import excel_formula
from deskwork.tasks.publishing.numbering import (
    about,
    checked_line,
    corrected_of,
    in_numbers,
    in_print,
    notes_of,
)
from deskwork.tasks.report import Report
from deskwork.tools.figures import Figure

_FIGURES = (
    *("id", "label", "printed", "amount", "value", "scale", "unit", "currency", "period_start"),
    *("period_end", "basis", "vintage", "status", "formula", "recomputed", "evidence"),
)
_AMOUNT = _FIGURES.index("amount")
_RECOMPUTED = _FIGURES.index("recomputed")
_EVIDENCE = (
    *("id", "file", "page", "cell", "box", "quote", "url", "retrieved", "sha256", "start"),
)
_CLAIMS = ("text", "status", "problem", "evidence", "figures")
_CELL = 32_000
"""Characters of a cell, at most (Excel's own bound is 32,767)."""


def book_of(report: Report) -> bytes:
    """The workbook's bytes."""
    out = io.BytesIO()
    # Texts are texts: a quote that begins with = is no formula here.
    options = {"strings_to_formulas": False, "strings_to_urls": False, "in_memory": True}
    with xlsxwriter.Workbook(out, options) as raw:
        book = _Book(raw)
        data = report.as_json()
        _about(book, report)
        _figures(book, report.figures)
        book.sheet("Evidence", _EVIDENCE, data["evidence"])
        book.sheet("Claims", _CLAIMS, _claims(report))
        book.sheet("Conflicts", ("label", "period_end", "shown", "figures"), data["conflicts"])
        columns = ("file", "kind", "pages", "url", "retrieved", "sha256")
        book.sheet("Documents", columns, data["sources"])
        _charts(book, report)
        _changes(book, report.changes)
    return out.getvalue()


class _Book:
    """A workbook whose sheets look alike: frozen heads, wrapped texts, columns that fit."""

    def __init__(self, book: xlsxwriter.Workbook) -> None:
        self._book = book
        self._head = book.add_format({"bold": True, "bottom": 1, "valign": "top"})
        self._head_right = book.add_format(
            {"bold": True, "bottom": 1, "valign": "top", "align": "right"}
        )
        self._text = book.add_format({"text_wrap": True, "valign": "top"})
        self._number = book.add_format({"num_format": "#,##0.############", "valign": "top"})
        self._whole = book.add_format({"num_format": "#,##0", "valign": "top"})
        self._right = book.add_format({"align": "right", "valign": "top"})
        self._link = book.add_format(
            {"bold": True, "underline": 1, "font_color": "blue", "valign": "top"}
        )

    def sheet(self, name: str, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Any:
        """A sheet of rows under the columns' names."""
        sheet = self._book.add_worksheet(name)
        sheet.freeze_panes(1, 0)
        sheet.set_landscape()
        sheet.fit_to_pages(1, 0)
        sheet.repeat_rows(0)
        widths = [_width(title, [row.get(title) for row in rows]) for title in columns]
        for line, row in enumerate(rows, 1):
            sheet.set_row(line, _height([row.get(title) for title in columns], widths))
        for column, title in enumerate(columns):
            values = [row.get(title) for row in rows]
            sheet.set_column(column, column, widths[column])
            numeric = any(isinstance(value, int | float) for value in values)
            right = numeric or title == "printed"
            sheet.write_string(0, column, title, self._head_right if right else self._head)
            for line, value in enumerate(values, 1):
                self._write(sheet, line, column, value, right=title == "printed")
        if rows:
            sheet.autofilter(0, 0, len(rows), len(columns) - 1)
        return sheet

    def formula(self, sheet: Any, line: int, column: int, formula: str, value: Decimal) -> None:
        sheet.write_formula(line, column, formula, self._format(float(value)), float(value))

    def link(self, sheet: Any, line: int, place: str, text: str) -> None:
        sheet.write_url(line, 0, f"internal:{place}", self._link, text)

    def _write(self, sheet: Any, line: int, column: int, value: Any, *, right: bool) -> None:
        if value is None or value == "" or value == []:
            return
        if isinstance(value, bool):
            sheet.write_boolean(line, column, value)
        elif isinstance(value, int | float) and math.isfinite(value):
            sheet.write_number(line, column, value, self._format(value))
        else:
            sheet.write_string(line, column, _told(value), self._right if right else self._text)

    def _format(self, value: float) -> Any:
        return self._whole if value == int(value) else self._number


def _width(title: str, values: Sequence[Any]) -> int:
    """A column's width in characters: its longest value's, within bounds that a screen has."""
    longest = max((len(_told(value)) for value in values), default=0)
    if any(isinstance(value, int | float) for value in values):
        longest = longest * 4 // 3 + 1  # marks between thousands
    return max(8, len(title) + 4, min(longest + 2, 90 if title == "note" else 60))


def _height(values: Sequence[Any], widths: Sequence[int]) -> float:
    """A row's height in points: readers that open a file don't all fit it to wrapped texts."""
    lengths = (len(_told(v)) if not isinstance(v, int | float) else 0 for v in values)
    lines = max((math.ceil(n * 1.1 / w) for n, w in zip(lengths, widths, strict=True)), default=1)
    return min(409.0, 15.0 * max(1, lines))


def _told(value: Any) -> str:
    """A value as its cell says it."""
    if value is None:
        return ""
    many = isinstance(value, list | tuple)
    return (", ".join(map(str, value)) if many else str(value))[:_CELL]


def _about(book: _Book, report: Report) -> None:
    """What the report is, first of all: its question, who reviewed it, what the check marked."""
    marked = checked_line(report)
    lines = [report.question, report.review_line, *([marked] if marked else [])]
    lines += [*notes_of(report), *corrected_of(report), *about(report)]
    lines += [f"{name}: {value}" for name, value in report.settings.items()]
    sheet = book.sheet("About", ("note",), [{"note": line} for line in lines])
    if marked:
        book.link(sheet, 3, "'Claims'!A1", marked)


def _claims(report: Report) -> list[dict[str, Any]]:
    """A row for each claim, as it is printed; those that the check marked come first."""
    claims = sorted(report.claims, key=lambda claim: claim.status != "unsupported")
    return [
        {
            "text": in_print(claim.text, report),
            "status": claim.status,
            "problem": in_print(claim.problem, report),
            "evidence": claim.evidence,
            "figures": claim.figures,
        }
        for claim in claims
    ]


def _figures(book: _Book, figures: Sequence[Figure]) -> None:
    """A row for each figure; a derived one's formula works on the others' amounts."""
    known = {figure.id: figure for figure in figures}
    cells = {f.id: xl_rowcol_to_cell(number, _AMOUNT) for number, f in enumerate(figures, 1)}
    rows = [
        {
            **figure.as_json(),
            "printed": figure.printed(),
            "amount": float(figure.amount),
            "value": float(figure.value),
            "formula": in_numbers(figure.formula, known),
        }
        for figure in figures
    ]
    sheet = book.sheet("Figures", _FIGURES, rows)
    for number, figure in enumerate(figures, 1):
        formula = excel_formula(figure, cells, known) if figure.formula else ""
        if formula:
            book.formula(sheet, number, _RECOMPUTED, formula, figure.amount)


def _charts(book: _Book, report: Report) -> None:
    """The data of every chart: a row for each place of each series."""
    known = {figure.id: figure for figure in report.figures}
    rows = [
        {
            "chart": chart.title,
            "series": line.name,
            "place": label,
            "figure": name,
            "amount": float(known[name].amount) if name in known else None,
            "unit": chart.unit,
            "sources": chart.sources,
        }
        for chart in report.charts
        for line in chart.series
        for label, name in zip(chart.labels, line.figures, strict=False)
    ]
    columns = ("chart", "series", "place", "figure", "amount", "unit", "sources")
    book.sheet("Charts", columns, rows)


def _changes(book: _Book, changes: Mapping[str, Any] | None) -> None:
    """What a standing report says otherwise than its last run, where there was one."""
    if changes is None:
        return
    rows = [
        {"what": name.replace("_", " "), **row}
        for name, listed in changes.items()
        if isinstance(listed, list)
        for row in listed
    ]
    columns = ("what", "label", "period_end", "before", "after", "why", "file", "evidence")
    book.sheet("Changes", columns, rows)
