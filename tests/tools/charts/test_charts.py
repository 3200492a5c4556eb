import asyncio
import hashlib
import io
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from deskwork.tasks.forks import verify
from deskwork.tasks.local_model import Said, ScriptedModel
from deskwork.tools.charts.chart import Chart
from deskwork.tools.charts.periods import months_of, period_label
from deskwork.tools.desk import DocumentDesk
from deskwork.tools.errors import NotFound, ToolError
from deskwork.tools.figures import Figure
from deskwork.tools.library import Library
from deskwork.tools.registry import default_tools
from deskwork.tools.tool import Evidence, ToolResult, tool
from tests.jobs import answer, opened


def figure(name: str, value: str, year: int, **more: Any) -> Figure:
    given: dict[str, Any] = {
        "unit": "money",
        "scale": 6,
        "currency": "USD",
        "period_start": f"{year}-01-01",
        "period_end": f"{year}-12-31",
        "evidence": ("E00000001",),
    }
    return Figure(id=name, label=name, value=Decimal(value), **{**given, **more})


FIGURES = [
    figure("F00000001", "31657", 2017),
    figure("F00000002", "32765", 2018, evidence=("E00000002",)),
    figure("F00000003", "-1373", 2017),
    figure("F00000004", "-1.577", 2018, scale=9),
    figure("F00000005", "3.5", 2018, unit="%", currency="", scale=0),
    figure("F00000006", "12", 2018, currency="EUR"),
    figure("F00000007", "8000", 2018, period_start="2018-10-01"),
    figure("F00000008", "1108", 2018, formula="F00000002 - F00000001", evidence=(),
           inputs=("F00000002", "F00000001")),
]  # fmt: skip


@pytest.fixture
def desk(tmp_path: Path) -> DocumentDesk:
    recorded = {
        f"E0000000{n}": Evidence(f"E0000000{n}", "3M $2018$ 10-K.pdf", 50 + n, "q", "0" * 64, 0)
        for n in (1, 2)
    }
    bound = {item.id: item for item in FIGURES}
    return DocumentDesk(Library(tmp_path / "home").collect([]), recorded, bound=bound)


def run(desk: DocumentDesk, **arguments: Any) -> ToolResult:
    given = {"kind": "bar", "title": "3M: $ sales and $ spending"}
    return asyncio.run(default_tools()["draw_chart"].run({**given, **arguments}, desk))


def series(**lines: list[str]) -> list[dict[str, Any]]:
    return [{"name": name, "figures": figures} for name, figures in lines.items()]


def drawn(result: ToolResult) -> tuple[Chart, Image.Image]:
    (chart,) = result.charts
    assert result.images == (chart.png,)
    assert chart.sha256 == hashlib.sha256(chart.png).hexdigest()
    return chart, Image.open(io.BytesIO(chart.png))


@pytest.mark.parametrize("kind", ["line", "bar", "stacked bar"])
def test_each_kind_is_drawn_the_same_each_time(desk: DocumentDesk, kind: str) -> None:
    lines = series(Sales=["F00000002", "F00000001"], Spending=["F00000003", "F00000004"])
    chart, picture = drawn(run(desk, kind=kind, series=lines))
    assert picture.size == (1200, 720)
    assert (chart.labels, chart.unit) == (("2017", "2018"), "USD, billions")
    assert chart.series[0].figures == ("F00000001", "F00000002")
    assert chart.sources == "Source: 3M $2018$ 10-K.pdf p. 52; 3M $2018$ 10-K.pdf p. 51"
    again, _ = drawn(run(desk, kind=kind, series=lines))
    assert (again.png, again.id) == (chart.png, chart.id)
    assert chart.id.startswith("C")
    assert len(chart.id) == 9
    assert Chart.from_json(chart.as_json()) == chart
    colours = {colour for _, colour in picture.convert("RGB").getcolors(1 << 20) or ()}
    assert {(0x1F, 0x4E, 0x79), (0xC5, 0x5A, 0x11)} <= colours


def test_a_missing_period_is_a_gap(desk: DocumentDesk) -> None:
    lines = series(Sales=["F00000001", "F00000002"], Spending=["F00000004"])
    chart, _ = drawn(run(desk, kind="line", series=lines))
    assert chart.series[1].figures == ("", "F00000004")
    assert chart.figures == ("F00000001", "F00000002", "F00000004")


def test_a_computed_figure_leads_to_what_it_is_computed_from(desk: DocumentDesk) -> None:
    chart, _ = drawn(run(desk, series=series(Rise=["F00000008"])))
    assert chart.sources.endswith("p. 52; 3M $2018$ 10-K.pdf p. 51 (computed)")


def test_labels_name_the_places(desk: DocumentDesk) -> None:
    lines = series(Sales=["F00000002", "F00000002", ""])
    chart, _ = drawn(run(desk, series=lines, labels=["3M", "Another $x$", "None_at_all"]))
    assert chart.labels == ("3M", "Another $x$", "None_at_all")
    with pytest.raises(ToolError, match="'Sales' has 3 figures for 1 labels"):
        run(desk, series=lines, labels=["3M"])


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["F00000002", "F00000005"], r"not of one unit: F00000002 is in USD, millions; .* in %"),
        (["F00000002", "F00000006"], r"F00000006 is in EUR"),
        (["F00000001", "F00000007"], r"not of one length: F00000001: 2017; F00000007: 3 months"),
        (["F00000002", "F00000008"], r"two figures for 2018"),
    ],
)
def test_what_doesnt_fit_is_refused(desk: DocumentDesk, names: list[str], told: str) -> None:
    with pytest.raises(ToolError, match=told):
        run(desk, series=series(All=names))


def test_numbers_that_nobody_bound_are_no_figures(desk: DocumentDesk) -> None:
    with pytest.raises(NotFound, match="no figure '1577'"):
        run(desk, series=series(All=["1577"]))
    with pytest.raises(ToolError, match="no figure to draw"):
        run(desk, series=series(All=[""]), labels=["a"])


def test_periods_are_called_what_they_are() -> None:
    june = figure("F", "1", 2018, period_start="2017-07-01", period_end="2018-06-30")
    assert (months_of(june), period_label(june)) == (12, "12 months to 2018-06-30")
    balance = figure("F", "1", 2018, period_start="")
    assert (months_of(balance), period_label(balance)) == (None, "2018-12-31")
    month = figure("F", "1", 2018, period_start="2018-12-01")
    assert period_label(month) == "1 month to 2018-12-31"
    assert period_label(figure("F", "1", 2018, period_start="", period_end="2018")) == "2018"


@tool(repeatable=True)
def bound() -> ToolResult:
    """Bind."""
    return ToolResult("bound", figures=tuple(FIGURES))


async def test_a_chart_is_on_record_with_its_picture(tmp_path: Path) -> None:
    call = {"kind": "bar", "title": "Sales", "series": series(Sales=["F00000001", "F00000002"])}
    model = ScriptedModel(
        [Said(calls=[("bound", {})]), Said(calls=[("draw_chart", call)]), Said("ok")]
    )
    draw = default_tools()["draw_chart"]
    async with opened(tmp_path, model, tools=(bound, draw)) as session:
        session.desk = DocumentDesk(Library(tmp_path).collect([]), bound=session.history.figures)
        await answer(session)
        (chart,) = session.history.charts.values()
        assert session.blobs.get(chart.sha256).startswith(b"\x89PNG")
        assert verify(session.writer.journal, session.blobs, "job").problem == ""
    async with opened(tmp_path, model, tools=(bound, draw)) as session:
        assert session.history.charts == {chart.id: chart}
