"""The tools that bind figures: a number of a quote, or a formula over bound numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from deskwork.tools.errors import NotFound
from deskwork.tools.figures import Figure, Said, bind
from deskwork.tools.formulas import Wanted, derive
from deskwork.tools.printed import printed_in
from deskwork.tools.tool import Desk, ToolResult, tool

Label = Annotated[
    str, Field(description="What it is, with the company: 3M, capital expenditures.", min_length=3)
]
End = Annotated[
    str, Field(description="The period's last day, YYYY-MM-DD, or YYYY if the day isn't known.")
]
Start = Annotated[
    str, Field(description="The period's first day; empty for a balance at a day, or if unknown.")
]
Scale = Literal["", "units", "thousands", "millions", "billions", "trillions"]


@tool(repeatable=True)
def bind_figure(
    evidence: Annotated[str, Field(description="The id that cite gave, E1234abcd.")],
    value: Annotated[str, Field(description="The number as the quote prints it, such as (1,577).")],
    label: Label,
    period_end: End,
    desk: Desk,
    period_start: Start = "",
    unit: Annotated[
        str, Field(description="money, money/share, shares, %, x, or what is counted.")
    ] = "",
    scale: Annotated[Scale, Field(description="Left out: read from the source.")] = "",
    currency: Annotated[str, Field(description="ISO code; left out: read from the source.")] = "",
    basis: Literal["", "GAAP", "non-GAAP", "IFRS"] = "",
    vintage: Annotated[
        str, Field(description="as reported, restated, or the day it was filed, if that matters.")
    ] = "",
) -> ToolResult:
    """Bind a number of a cited quote as a figure. Wrong digits, signs, scales, currencies and
    years are refused: the source's table tells them.

    The result gives an id such as F1234abcd. Write {F1234abcd} where the report is to print the
    figure with its currency and scale, or {F1234abcd|abs} to print its size without the sign.
    """
    item = desk.evidence(evidence)
    if item is None:
        raise NotFound(f"There is no evidence {evidence!r} in this job.", "Call cite first.")
    if item.region:
        page, printed = item.quote, printed_in(item.quote, item.quote, 0, ())
    else:
        page = desk.collection.page(item.file, item.page).text
        tables = desk.collection.tables(item.file, item.page)
        printed = printed_in(item.quote, page, item.start, tables)
    said = Said(label, value, period_end, period_start, unit, scale, currency, basis, vintage)
    figure = bind(said, evidence, printed, item.quote, page)
    return _told(replace(figure, status="pictured") if item.region else figure)


@tool(repeatable=True)
def derive_figure(
    formula: Annotated[
        str, Field(description="Over figures' ids: (F1234abcd - F5678cdef) / F5678cdef")
    ],
    label: Label,
    desk: Desk,
    unit: Annotated[
        str, Field(description="% for a ratio as percent, x for a multiple; else left out.")
    ] = "",
    scale: Annotated[Scale, Field(description="Left out: as the first figure's.")] = "",
    digits: Annotated[int | None, Field(description="Behind the point.", ge=0, le=8)] = None,
    period_end: Annotated[str, Field(description="Left out: the latest of its figures.")] = "",
    period_start: Start = "",
) -> ToolResult:
    """Compute a figure from bound figures. Units must fit: dollars are not added to euros.

    Takes + - * / **, numbers, sum, mean, min, max and abs. The result gives an id like bind_figure.
    """
    wanted = Wanted(label, unit, scale, digits, period_start, period_end)
    return _told(derive(formula, desk.figure, wanted))


def _told(figure: Figure) -> ToolResult:
    period = f"{figure.period_start} to {figure.period_end}" if figure.period_start else (
        figure.period_end
    )  # fmt: skip
    basis = ", ".join(part for part in (figure.basis, figure.vintage) if part)
    lines = [
        f"{figure.id} · {figure.label} · {figure.printed()} · {period}"
        + (f" · {basis}" if basis else ""),
        f"Write {{{figure.id}}} where the figure is to stand.",
    ]
    if figure.formula:
        lines.insert(1, f"= {figure.formula}")
    return ToolResult("\n".join(lines), figures=(figure,), data=figure.as_json())
