"""The next due time of a timing in a zone. Pure: the moment to count from is passed in.

A time of the wall clock is due once a day: right after the gap where daylight saving skips it, at the first
of both where it occurs twice. A rule that leaves out no hour of a day names no time of day: it goes on
through a change as if nothing had happened, and neither pauses for a repeated hour nor hurries after a gap.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TypeAlias

from schedules.timing import calendar, cron
from schedules.timing.values import Calendar, Cron, Interval, Once, Timing, minutes_of
from schedules.timing.wall import SECOND, moment_of, next_transition, wall_of

WINDOW = timedelta(days=4)
"""So long is looked at a time: no zone changes its offset twice in it, nor by as much as half of it."""

Walled: TypeAlias = Cron | Calendar


def next_due(
    timing: Timing, after: datetime, zone: tzinfo, *, since: datetime | None = None
) -> datetime | None:
    """The first due time after `after`, in UTC; None where it is never due again.

    Intervals are counted from their start; from `since` where they have none, or from `after`.
    """
    after = after.astimezone(UTC)  # sums of moments with a zone count on its wall clock
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
    """The due times after `after`, from which intervals count too; in UTC, one after the other."""
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
    """Times of the wall clock never come before earlier ones: the first that is late enough is the next."""
    wall = _after_wall(timing, wall_of(after, zone))
    while wall is not None:
        moment = moment_of(wall, zone)
        if moment > after:
            return moment
        wall = _after_wall(timing, wall)
    return None


def _next_elapsed(timing: Walled, after: datetime, zone: tzinfo) -> datetime | None:
    """The first moment at which the wall clock shows one of the times, be it for the second time.

    From `moment` on the clock counts up from `shown`; it does so since `seen` and until the next change.
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
