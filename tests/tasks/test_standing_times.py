"""When a standing report runs next, as `deploy` tells it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from deskwork.tasks.briefings import Timing
from deskwork.tasks.standing_deployments import ANCHOR, next_run

SATURDAY = datetime(2026, 12, 5, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("timing", "expected"),
    [
        (Timing(cron="0 7 * * 1", timezone="Europe/Berlin"), datetime(2026, 12, 7, 6, tzinfo=UTC)),
        (Timing(cron="0 7 * * 1"), datetime(2026, 12, 7, 7, tzinfo=UTC)),
        # Summer time begins on 2027-03-28 in Berlin: seven o'clock there is five in UTC.
        (
            Timing(cron="0 7 29 3 *", timezone="Europe/Berlin"),
            datetime(2027, 3, 29, 5, tzinfo=UTC),
        ),
        (Timing(every="6h"), datetime(2026, 12, 5, 18, tzinfo=UTC)),
    ],
)
def test_the_next_run(timing: Timing, expected: datetime) -> None:
    assert next_run(timing, SATURDAY) == expected


def test_an_interval_is_counted_from_its_anchor() -> None:
    assert next_run(Timing(every="30m"), ANCHOR) == ANCHOR + timedelta(minutes=30)
    just_before = ANCHOR + timedelta(minutes=29, seconds=59)
    assert next_run(Timing(every="30m"), just_before) == ANCHOR + timedelta(minutes=30)
