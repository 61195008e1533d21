"""Days as budgets count them: when one ends."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from hermes_jobs.text.moments import day_end, day_of


@pytest.mark.parametrize(
    ("moment", "end"),
    [
        ("2026-11-24T12:00:00", "2026-11-25T00:00:00"),
        ("2026-11-24T23:59:59", "2026-11-25T00:00:00"),
        ("2026-10-25T00:30:00", "2026-10-26T00:00:00"),  # a day of 25 hours
        ("2026-12-31T08:00:00", "2027-01-01T00:00:00"),
    ],
)
def test_a_day_ends_at_midnight_of_its_zone(moment: str, end: str) -> None:
    zone = ZoneInfo("Europe/Berlin")
    now, then = (datetime.fromisoformat(each).replace(tzinfo=zone).timestamp() for each in (moment, end))
    assert day_end(now, zone) == then
    assert day_of(then - 1, zone) == moment[:10]
