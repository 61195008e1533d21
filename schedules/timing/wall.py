"""Wall-clock times and daylight saving: the moment of a time that is skipped or occurs twice.

A wall-clock time is a datetime without a zone, a moment is one in UTC.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo

SECOND = timedelta(seconds=1)


def wall_of(moment: datetime, zone: tzinfo) -> datetime:
    """The wall-clock time at the moment."""
    return moment.astimezone(zone).replace(tzinfo=None, fold=0)


def moment_of(wall: datetime, zone: tzinfo) -> datetime:
    """The moment at which the wall clock first shows the time; the end of the gap where it is skipped."""
    before = wall.replace(tzinfo=zone, fold=0)
    moment = before.astimezone(UTC)
    if wall_of(moment, zone) == wall:
        return moment
    return _transition(wall.replace(tzinfo=zone, fold=1).astimezone(UTC), moment, zone)


def next_transition(after: datetime, end: datetime, zone: tzinfo) -> datetime | None:
    """The first moment in (`after`, `end`] at which the clock changes; at most one change is in it."""
    if _offset(after, zone) == _offset(end, zone):
        return None
    return _transition(after, end, zone)


def _transition(before: datetime, end: datetime, zone: tzinfo) -> datetime:
    """The first moment with the offset that holds at `end`; transitions fall on whole seconds."""
    low, high = before.replace(microsecond=0), end.replace(microsecond=0)
    offset = _offset(high, zone)
    while high - low > SECOND:
        middle = low + (high - low) // 2 // SECOND * SECOND
        if _offset(middle, zone) == offset:
            high = middle
        else:
            low = middle
    return high


def _offset(moment: datetime, zone: tzinfo) -> timedelta:
    offset = moment.astimezone(zone).utcoffset()
    assert offset is not None, f"{zone} knows no offset"
    return offset
