"""What a period is called at an axis: never less exact than the figure knows it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

from deskwork.tools.errors import ToolError
from deskwork.tools.figures import Figure

_DAYS_OF_MONTH = 30.4


def months_of(figure: Figure) -> int | None:
    """How many months a figure's period has; None for a balance, or where it isn't known."""
    try:
        start, end = (date.fromisoformat(text) for text in (figure.period_start, figure.period_end))
    except ValueError:
        return None
    return max(1, round((end - start + timedelta(days=1)).days / _DAYS_OF_MONTH))


def period_label(figure: Figure) -> str:
    """``2018`` for a calendar year, ``3 months to 2018-06-30``, or the date alone."""
    months = months_of(figure)
    if months is None:
        return figure.period_end
    if months == 12 and figure.period_end.endswith("-12-31"):
        return figure.period_end[:4]
    return f"{months} month{'s' if months > 1 else ''} to {figure.period_end}"


def check_lengths(figures: Sequence[Figure]) -> None:
    """Raise `ToolError` where periods of different length would stand side by side."""
    lengths = {months_of(figure): figure for figure in figures}
    lengths.pop(None, None)
    if len(lengths) > 1:
        told = "; ".join(f"{one.id}: {period_label(one)}" for one in lengths.values())
        raise ToolError(
            f"The figures' periods are not of one length: {told}.",
            "Draw them apart, or name each place in `labels` so that nobody takes one for another.",
        )
