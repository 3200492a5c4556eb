"""The numbers behind a chart, from its XML: python-pptx refuses some kinds (3-D), and the XML of
all kinds holds series in the same form."""

from __future__ import annotations

from typing import Any

from deskwork.tools.documents import Table

_C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_MAX_POINTS = 5_000  # of one series; an index beyond it is a broken or hostile file


def chart_tables(root: Any) -> list[Table]:
    """One table for each plot of a chart: the categories as header, a row for each series."""
    title = _title(root)
    tables = []
    for plot in root.iter(_C + "plotArea"):
        for group in plot:
            rows = _rows(group)
            if rows:
                tables.append(Table(tuple(rows), title or "Chart"))
    return tables


def _title(root: Any) -> str:
    for title in root.iter(_C + "title"):
        if title.getparent().tag == _C + "chart":
            return "".join(part.text or "" for part in title.iter(_A + "t")).strip()
    return ""


def _rows(group: Any) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    header: tuple[str, ...] = ()
    for series in group.findall(_C + "ser"):
        name = " ".join(_points(series.find(_C + "tx")).values()) or f"Series {len(rows) + 1}"
        across = _points(series.find(_C + "cat")) or _points(series.find(_C + "xVal"))
        values = _points(series.find(_C + "val")) or _points(series.find(_C + "yVal"))
        sizes = _points(series.find(_C + "bubbleSize"))
        count = 1 + max([*across, *values], default=-1)
        head = ("", *(across.get(at, str(at + 1)) for at in range(count)))
        if head != header:  # series of a scatter plot each have their own x values
            rows.append(head)
            header = head
        rows.append((name, *(values.get(at, "") for at in range(count))))
        if sizes:
            rows.append((f"{name} (size)", *(sizes.get(at, "") for at in range(count))))
    return rows


def _points(node: Any) -> dict[int, str]:
    """Index and text of each point. Of categories in levels the innermost come first."""
    if node is None:
        return {}
    found: dict[int, str] = {}
    for point in node.iter(_C + "pt"):
        index = int(point.get("idx") or 0)
        value = (point.findtext(_C + "v") or "").strip()
        if 0 <= index < _MAX_POINTS:
            found[index] = f"{value} {found[index]}" if index in found else value
    if not found:
        direct = node.findtext(_C + "v")
        return {0: direct.strip()} if direct else {}
    return {index: _number(value) for index, value in found.items()}


def _number(value: str) -> str:
    """Without the digits that binary numbers trail: 0.30000000000000004 is 0.3."""
    if len(value) < 12 or not value.replace(".", "").replace("-", "").isdigit():
        return value
    return f"{float(value):.12g}"
