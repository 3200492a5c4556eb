"""The report as a workbook: figures with formulas that recompute, evidence, claims, conflicts."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

import xlsxwriter
from xlsxwriter.utility import xl_rowcol_to_cell

from deskwork.tasks.publishing.numbering import about, notes_of
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
_FUNCTIONS = {"mean": "AVERAGE", "sum": "SUM", "min": "MIN", "max": "MAX", "abs": "ABS"}
_CELL = 32_000
"""Characters of a cell, at most (Excel's own bound is 32,767)."""


def book_of(report: Report) -> bytes:
    """The workbook's bytes."""
    out = io.BytesIO()
    # Texts are texts: a quote that begins with = is no formula here.
    options = {"strings_to_formulas": False, "strings_to_urls": False, "in_memory": True}
    with xlsxwriter.Workbook(out, options) as book:
        _figures(book, report.figures)
        data = report.as_json()
        _sheet(book, "Evidence", _EVIDENCE, data["evidence"])
        _sheet(book, "Claims", ("text", "status", "problem", "evidence", "figures"), data["claims"])
        _sheet(book, "Conflicts", ("label", "period_end", "shown", "figures"), data["conflicts"])
        columns = ("file", "kind", "pages", "url", "retrieved", "sha256")
        _sheet(book, "Documents", columns, data["sources"])
        _charts(book, report)
        _changes(book, report.changes)
        lines = [*about(report), *(f"{n}: {v}" for n, v in report.settings.items())]
        notes = [{"note": line} for line in (report.question, *notes_of(report), *lines)]
        _sheet(book, "About", ("note",), notes)
    return out.getvalue()


def _figures(book: xlsxwriter.Workbook, figures: Sequence[Figure]) -> None:
    """A row for each figure; a derived one's formula works on the others' amounts."""
    sheet = _new(book, "Figures", _FIGURES)
    rows = {figure.id: number for number, figure in enumerate(figures, 1)}
    for figure in figures:
        number = rows[figure.id]
        row = {**figure.as_json(), "printed": figure.printed(), "amount": float(figure.amount)}
        row["value"] = float(figure.value)
        for column, name in enumerate(_FIGURES):
            _write(sheet, number, column, row.get(name))
        formula = excel_formula(figure, rows)
        if formula:
            sheet.write_formula(number, _RECOMPUTED, formula, None, float(figure.amount))
    if figures:
        sheet.autofilter(0, 0, len(figures), len(_FIGURES) - 1)


def _charts(book: xlsxwriter.Workbook, report: Report) -> None:
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
    _sheet(book, "Charts", columns, rows)


def _changes(book: xlsxwriter.Workbook, changes: Mapping[str, Any] | None) -> None:
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
    _sheet(book, "Changes", columns, rows)


def excel_formula(figure: Figure, rows: Mapping[str, int]) -> str:
    """A derived figure's formula over the sheet's cells; "" where it isn't over bound figures."""
    names = re.findall(r"F[0-9a-f]{8}", figure.formula)
    if not names or not all(name in rows for name in names):
        return ""
    cells = {name: xl_rowcol_to_cell(rows[name], _AMOUNT) for name in names}
    text = re.sub(r"F[0-9a-f]{8}", lambda match: cells[match[0]], figure.formula)
    text = re.sub(r"\b(mean|sum|min|max|abs)\b", lambda match: _FUNCTIONS[match[1]], text)
    text = text.replace("**", "^")
    return f"=({text})*100" if figure.unit == "%" and _is_ratio(figure) else f"={text}"


def _is_ratio(figure: Figure) -> bool:
    return "/" in figure.formula


def _sheet(
    book: xlsxwriter.Workbook, name: str, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]
) -> None:
    sheet = _new(book, name, columns)
    for number, row in enumerate(rows, 1):
        for column, key in enumerate(columns):
            _write(sheet, number, column, row.get(key))
    if rows:
        sheet.autofilter(0, 0, len(rows), len(columns) - 1)


def _new(book: xlsxwriter.Workbook, name: str, columns: Sequence[str]) -> Any:
    sheet = book.add_worksheet(name)
    bold = book.add_format({"bold": True, "bottom": 1})
    sheet.freeze_panes(1, 0)
    for column, title in enumerate(columns):
        sheet.set_column(column, column, 40 if title in ("quote", "text", "note", "label") else 16)
        sheet.write_string(0, column, title, bold)
    return sheet


def _write(sheet: Any, line: int, column: int, value: Any) -> None:
    if value is None or value == "" or value == []:
        return
    if isinstance(value, bool):
        sheet.write_boolean(line, column, value)
    elif isinstance(value, int | float):
        sheet.write_number(line, column, value)
    elif isinstance(value, list | tuple):
        sheet.write_string(line, column, ", ".join(map(str, value))[:_CELL])
    else:
        sheet.write_string(line, column, str(value)[:_CELL])
