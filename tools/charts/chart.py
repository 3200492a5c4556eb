"""A chart: figures of a job, drawn. It knows them by id, so that every bar leads to its source."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import Any, Literal

from deskwork.tools.errors import ToolError
from deskwork.tools.figures import SCALES, Figure

Kind = Literal["line", "bar", "stacked bar"]

_SCALE_NAMES = {power: name for name, power in SCALES.items() if power}


@dataclass(frozen=True)
class Line:
    """One series: its name, and for each place on the axis a figure's id or ""."""

    name: str
    figures: tuple[str, ...]


@dataclass(frozen=True)
class Chart:
    """A drawn chart. ``labels`` are the places on its axis; ``unit`` is what stands at the other
    axis ("USD, millions"); ``sources`` is the line at its bottom. ``sha256`` is the PNG's, which
    is in the blobs; ``png`` holds its bytes where it was just drawn.
    """

    id: str
    title: str
    kind: Kind
    labels: tuple[str, ...]
    series: tuple[Line, ...]
    unit: str
    sources: str
    sha256: str = ""
    png: bytes = field(default=b"", repr=False, compare=False)

    @property
    def figures(self) -> tuple[str, ...]:
        """The ids of the figures in it, each once, in order."""
        drawn = (figure for line in self.series for figure in line.figures if figure)
        return tuple(dict.fromkeys(drawn))

    def as_json(self) -> dict[str, Any]:
        """Plain values, as the journal records them; the picture is not among them."""
        plain = {item.name: getattr(self, item.name) for item in fields(self)}
        del plain["png"]
        series = [{"name": line.name, "figures": list(line.figures)} for line in self.series]
        return {
            **plain,
            "labels": list(self.labels),
            "series": series,
            "figures": list(self.figures),
        }

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Chart:
        """The chart that `as_json` gave; it has no picture."""
        known = {item.name: row[item.name] for item in fields(cls) if item.name in row}
        series = tuple(Line(line["name"], tuple(line["figures"])) for line in row["series"])
        return cls(**{**known, "labels": tuple(row["labels"]), "series": series})


def chart_id(kind: str, title: str, labels: Sequence[str], series: Sequence[Line]) -> str:
    """The id follows from what is drawn: the same in every job."""
    key = json.dumps([kind, title, list(labels), [[line.name, *line.figures] for line in series]])
    return "C" + hashlib.sha256(key.encode()).hexdigest()[:8]


def common_unit(figures: Sequence[Figure]) -> tuple[str, int]:
    """What stands at the axis, and the scale (a power of ten) that all values are shown in.

    Raises `ToolError` where the figures are not of one unit and currency.
    """
    kinds: dict[tuple[str, str], Figure] = {}
    for figure in figures:
        kinds.setdefault((figure.unit, figure.currency), figure)
    if len(kinds) > 1:
        told = "; ".join(f"{one.id} is in {_unit(one, one.scale)}" for one in kinds.values())
        raise ToolError(
            f"The figures are not of one unit: {told}.",
            "Draw each unit in a chart of its own.",
        )
    scale = max(figure.scale for figure in figures)
    return _unit(figures[0], scale), scale


def value_in(figure: Figure, scale: int) -> Decimal:
    """The figure's value in another scale, exactly."""
    return figure.value.scaleb(figure.scale - scale)


def _unit(figure: Figure, scale: int) -> str:
    words = {"money": "", "money/share": ""}
    what = figure.currency or words.get(figure.unit, figure.unit) or "number"
    if figure.unit == "money/share":
        what = f"{what} a share"
    return f"{what}, {_SCALE_NAMES.get(scale, f'10^{scale}')}" if scale else what
