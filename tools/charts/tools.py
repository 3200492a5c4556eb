"""The tool that draws: bound figures in, a picture and a recorded chart out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from deskwork.tools.charts.chart import Chart, Kind, Line, chart_id, common_unit, value_in
from deskwork.tools.charts.drawing import draw
from deskwork.tools.charts.periods import check_lengths, period_label
from deskwork.tools.errors import NotFound, ToolError
from deskwork.tools.figures import Figure
from deskwork.tools.tool import Desk, Evidence, ToolResult, tool

_MOST_PLACES = 40
_MOST_SOURCES = 6
_DEPTH = 20
"""Formulas upon formulas that are followed to their evidence."""


class Series(BaseModel):
    """Figures that belong together: a line, or bars of one colour."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(description="What it is, for the legend.", max_length=80)]
    figures: Annotated[
        list[str],
        Field(
            description="Ids of bound figures, F1234abcd.", min_length=1, max_length=_MOST_PLACES
        ),
    ]


@tool(repeatable=True)
def draw_chart(
    kind: Annotated[Kind, Field(description="line for many periods, bar for few.")],
    title: Annotated[str, Field(description="What it shows.", min_length=3, max_length=160)],
    series: Annotated[list[Series], Field(min_length=1, max_length=8)],
    desk: Desk,
    labels: Annotated[
        list[str],
        Field(
            description="A name for each place on the axis, such as companies; left out: the "
            "figures' periods. With them, each series has a figure for each, or an empty text."
        ),
    ] = [],  # noqa: B006 - validated into a new list at each call
) -> ToolResult:
    """Draw a chart of bound figures: bind_figure and derive_figure give their ids.

    Unit, scale and periods are the figures' own, and the source line tells files and pages. Figures
    of different units or currencies are refused. You see the picture; the chart is recorded under
    an id such as C1234abcd: write it in braces, {C1234abcd}, on a line of its own, to put it in.
    """
    lines = [Line(one.name.strip(), tuple(one.figures)) for one in series]
    figures = [_figure(desk, name) for line in lines for name in line.figures if name]
    if not figures:
        raise ToolError("There is no figure to draw.", "Bind some with bind_figure.")
    unit, scale = common_unit(figures)
    if labels:
        places, placed = _under_labels(labels, lines)
    else:
        check_lengths(figures)
        places, placed = _under_periods(desk, lines)
    chart = Chart(
        id=chart_id(kind, title, places, placed),
        title=title.strip(),
        kind=kind,
        labels=tuple(places),
        series=tuple(placed),
        unit=unit,
        sources=source_line(desk, figures),
    )
    values = [
        [value_in(_figure(desk, name), scale) if name else None for name in line.figures]
        for line in placed
    ]
    png = draw(chart, values)
    chart = replace(chart, png=png, sha256=hashlib.sha256(png).hexdigest())
    text = (
        f"{chart.id} · {chart.kind} · {chart.title} · {unit}\n{', '.join(places)}\n{chart.sources}"
    )
    return ToolResult(text, images=(png,), charts=(chart,), data=chart.as_json())


def source_line(desk: Desk, figures: Sequence[Figure]) -> str:
    """``Source: FILE p. N; ...``: where the figures stand, those behind computed ones too."""
    places: dict[str, None] = {}
    for figure in figures:
        for item in _evidence(desk, figure, _DEPTH):
            places[f"{item.file} p. {item.page}"] = None
    named = list(places)
    more = len(named) - _MOST_SOURCES
    shown = "; ".join(named[:_MOST_SOURCES]) + (f"; and {more} more" if more > 0 else "")
    computed = " (computed)" if any(figure.formula for figure in figures) else ""
    return f"Source: {shown or 'not on record'}{computed}"


def _evidence(desk: Desk, figure: Figure, depth: int) -> Iterator[Evidence]:
    for name in figure.evidence:
        if item := desk.evidence(name):
            yield item
    for name in figure.inputs if depth else ():
        if behind := desk.figure(name):
            yield from _evidence(desk, behind, depth - 1)


def _figure(desk: Desk, name: str) -> Figure:
    figure = desk.figure(name.strip("{} "))
    if figure is None:
        raise NotFound(
            f"There is no figure {name!r} in this job.",
            "Charts are drawn of bound figures alone: call bind_figure or derive_figure first.",
        )
    return figure


def _under_labels(labels: Sequence[str], lines: Sequence[Line]) -> tuple[list[str], list[Line]]:
    for line in lines:
        if len(line.figures) != len(labels):
            raise ToolError(
                f"{line.name!r} has {len(line.figures)} figures for {len(labels)} labels.",
                "Give one for each label, an empty text where there is none.",
            )
    return [" ".join(label.split())[:60] for label in labels], list(lines)


def _under_periods(desk: Desk, lines: Sequence[Line]) -> tuple[list[str], list[Line]]:
    """The periods in order, and each series with its figures under them."""
    ends: dict[str, tuple[str, str]] = {}
    rows: list[dict[str, str]] = []
    for line in lines:
        row: dict[str, str] = {}
        for name in filter(None, line.figures):
            figure = _figure(desk, name)
            label = period_label(figure)
            if label in row:
                raise ToolError(
                    f"{line.name!r} has two figures for {label}: {row[label]} and {figure.id}.",
                    "Give `labels` for the places, or put them into series of their own.",
                )
            row[label] = figure.id
            ends[label] = (figure.period_end, figure.period_start)
        rows.append(row)
    places = sorted(ends, key=lambda label: ends[label])
    placed = [
        Line(line.name, tuple(row.get(label, "") for label in places))
        for line, row in zip(lines, rows, strict=True)
    ]
    return places, placed
