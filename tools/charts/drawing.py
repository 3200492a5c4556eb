"""Drawing a chart as PNG: the same figures give the same bytes.

Matplotlib's objects are used without pyplot, which holds state of its own. What remains global
are its defaults: they are set back to matplotlib's own, one drawing at a time.
"""

from __future__ import annotations

import io
import textwrap
import threading
import warnings
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from deskwork.tools.charts.chart import Chart

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Values = Sequence[Sequence[Decimal | None]]
"""For each series, its value at each place, or None."""

_DRAWING = threading.Lock()
_SIZE = (8.0, 4.8)  # inches
_DPI = 150
_COLOURS = ("#1f4e79", "#c55a11", "#548235", "#7f6000", "#7030a0", "#808080", "#2e9ca6", "#a61c3c")
_MOST_TOLD = 24
"""Values that are printed at their marks; more would cover each other."""
_LINE = 110
"""Characters of the source line, before it is broken."""


def draw(chart: Chart, values: Values) -> bytes:
    """The chart as PNG bytes, 1200 pixels wide."""
    with _DRAWING, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a letter that the font lacks is drawn as a box
        import matplotlib

        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            return _drawn(chart, values)


def _drawn(chart: Chart, values: Values) -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=_SIZE, dpi=_DPI, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    (_lines if chart.kind == "line" else _bars)(axes, chart, values)
    # Never as mathematics: a title may well hold two dollar signs.
    plain: dict[str, Any] = {"parse_math": False}
    title = "\n".join(textwrap.wrap(chart.title, 80))
    axes.set_title(title, loc="left", fontsize=12, fontweight="bold", **plain)
    axes.set_ylabel(chart.unit, **plain)
    steep = sum(len(label) for label in chart.labels) > 70
    axes.set_xticks(range(len(chart.labels)))
    axes.set_xticklabels(
        list(chart.labels), rotation=30 if steep else 0, ha="right" if steep else "center", **plain
    )
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    axes.axhline(0, color="#404040", linewidth=0.8, visible=chart.kind != "line")
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if len(chart.series) > 1:
        legend = axes.legend(fontsize=9, frameon=False)
        for text in legend.get_texts():
            text.set_parse_math(False)
    said = "\n".join(textwrap.wrap(chart.sources, _LINE))
    figure.supxlabel(said, x=0.01, ha="left", fontsize=7.5, color="#505050", **plain)
    out = io.BytesIO()
    figure.savefig(out, format="png", metadata={"Software": None})
    return out.getvalue()


def _lines(axes: Axes, chart: Chart, values: Values) -> None:
    for number, (line, row) in enumerate(zip(chart.series, values, strict=True)):
        heights = [float("nan") if value is None else float(value) for value in row]
        places = range(len(heights))
        axes.plot(places, heights, marker="o", color=_colour(number), label=_label(line.name))
        for place, value in enumerate(row):
            if value is not None and _told(values):
                _tell(axes, place, float(value), value)


def _bars(axes: Axes, chart: Chart, values: Values) -> None:
    stacked = chart.kind == "stacked bar"
    width = 0.6 if stacked else 0.8 / len(chart.series)
    above = [0.0] * len(chart.labels)
    below = [0.0] * len(chart.labels)
    for number, (line, row) in enumerate(zip(chart.series, values, strict=True)):
        shift = 0.0 if stacked else (number - (len(chart.series) - 1) / 2) * width
        places, heights, bottoms, printed = [], [], [], []
        for place, value in enumerate(row):
            if value is None:
                continue
            height = float(value)
            stack = above if height >= 0 else below
            places.append(place + shift)
            heights.append(height)
            bottoms.append(stack[place] if stacked else 0.0)
            printed.append(value)
            stack[place] += height
        axes.bar(
            places, heights, width, bottom=bottoms, color=_colour(number), label=_label(line.name)
        )
        marks = zip(places, heights, bottoms, printed, strict=True) if _told(values) else ()
        for at, height, bottom, value in marks:
            if stacked:
                axes.annotate(
                    f"{value:,f}", (at, bottom + height / 2), ha="center", va="center",
                    fontsize=8, color="white",
                )  # fmt: skip
            else:
                _tell(axes, at, height, value)


def _told(values: Values) -> bool:
    return sum(value is not None for row in values for value in row) <= _MOST_TOLD


def _tell(axes: Axes, place: float, height: float, value: Decimal) -> None:
    under = height < 0
    axes.annotate(
        f"{value:,f}",
        (place, height),
        textcoords="offset points",
        xytext=(0, -4 if under else 4),
        ha="center",
        va="top" if under else "bottom",
        fontsize=8,
    )


def _label(name: str) -> str:
    # A label that begins with an underscore is left out of legends.
    return name.lstrip("_") or "series"


def _colour(number: int) -> str:
    return _COLOURS[number % len(_COLOURS)]
