"""The next due time of a timing in a zone. Pure: the current moment is a parameter.

A wall-clock time is due once a day: right after the gap where daylight saving skips it, and the first time
where it occurs twice. A rule that matches in every hour of a day is not a time of day: it runs by elapsed
time through a change, without a pause in a repeated hour or a rush after a gap.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TypeAlias

from schedules.timing import calendar, cron
from schedules.timing.values import Calendar, Cron, Interval, Once, Timing, minutes_of
from schedules.timing.wall import SECOND, moment_of, next_transition, wall_of

WINDOW = timedelta(days=4)
"""The span of one search: no zone changes its offset twice in it, nor by as much as half of it."""

Walled: TypeAlias = Cron | Calendar


def next_due(
    timing: Timing, after: datetime, zone: tzinfo, *, since: datetime | None = None
) -> datetime | None:
    """The first due time after `after`, in UTC; None if there is none.

    Intervals are counted from their start; from `since` where they have none, or from `after`.
    """
    after = after.astimezone(UTC)  # arithmetic of datetimes with a zone uses the zone's wall clock
    since = after if since is None else since.astimezone(UTC)
    try:
        match timing:
            case Once():
                return timing.at.astimezone(UTC) if timing.at > after else None
            case Interval():
                return _next_interval(timing, after, since)
            case Cron() | Calendar() if _runs_each_hour(timing):
                return _next_elapsed(timing, after, zone)
            case _:
                return _next_once_a_day(timing, after, zone)
    except OverflowError:
        return None  # beyond the years that a date can hold


def upcoming(timing: Timing, after: datetime, zone: tzinfo) -> Iterator[datetime]:
    """The due times after `after`, from which intervals count too; in UTC, ascending."""
    due = next_due(timing, after, zone, since=after)
    while due is not None:
        yield due
        due = next_due(timing, due, zone, since=after)


def _next_interval(interval: Interval, after: datetime, since: datetime) -> datetime:
    period = timedelta(seconds=interval.seconds)
    first = since + period if interval.starting is None else interval.starting.astimezone(UTC)
    if first > after:
        return first.astimezone(UTC)
    return (first + ((after - first) // period + 1) * period).astimezone(UTC)


def _next_once_a_day(timing: Walled, after: datetime, zone: tzinfo) -> datetime | None:
    """Wall-clock times follow each other in order, so the first one that is late enough is the next."""
    wall = _after_wall(timing, wall_of(after, zone))
    while wall is not None:
        moment = moment_of(wall, zone)
        if moment > after:
            return moment
        wall = _after_wall(timing, wall)
    return None


def _next_elapsed(timing: Walled, after: datetime, zone: tzinfo) -> datetime | None:
    """The first moment at which the wall clock shows a matching time, for the first or the second time.

    From `moment` on the clock counts up from `shown`, since `seen` and until the next change of offset.
    """
    moment, shown, seen = after, wall_of(after, zone), after
    while (wall := _after_wall(timing, shown)) is not None:
        wait = wall - shown
        change = next_transition(seen, moment + min(wait, WINDOW), zone)
        if change is not None:
            moment, shown, seen = change - SECOND, wall_of(change, zone) - SECOND, change
        elif wait <= WINDOW:
            return (moment + wait).astimezone(UTC)
        else:
            moment = seen = moment + wait - WINDOW / 2
            shown = wall_of(moment, zone)
    return None


def _after_wall(timing: Walled, wall: datetime) -> datetime | None:
    if isinstance(timing, Cron):
        return cron.after_wall(timing, wall)
    return calendar.after_wall(timing, wall)


def _runs_each_hour(timing: Walled) -> bool:
    if isinstance(timing, Cron):
        return cron.runs_each_hour(timing)
    minutes = minutes_of(timing.times)
    return len(minutes) == 24 * len({minute % 60 for minute in minutes})
