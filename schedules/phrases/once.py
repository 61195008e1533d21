"""Single due times: the moment of a date, a weekday, a clock time or a length of time."""

from __future__ import annotations

from calendar import monthrange
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo

from schedules.phrases.clock_times import Reading, minute_of_day
from schedules.phrases.draft import Bound, ComingWeekday, Length, OnDate, RelativeDay, TimingDraft, Weekdays
from schedules.phrases.outcome import (
    Refusal,
    ambiguous,
    contradictory,
    given_twice,
    impossible,
    incomplete,
    past,
    unknown,
)
from schedules.timing import Once
from schedules.timing.names import MONTHS, WEEKDAYS
from schedules.timing.wall import moment_of, wall_of

RECENT = timedelta(days=60)
"""A date without a year that passed so recently may be a past one."""

LONGEST_AHEAD = 36_525
"""Days in a hundred years."""


def resolve_once(draft: TimingDraft, now: datetime, zone: tzinfo) -> Once:
    """The one moment of the draft. Raises `Refusal`."""
    if draft.moment is not None:
        _require_only(draft, {"moment", "zone"})
        return at_moment(moment_in(draft.moment, zone), now, zone)
    if draft.ahead is not None:
        return _ahead(draft, draft.ahead, now, zone)
    reading = _one_clock(draft)
    minute = minute_of_day(reading, draft.part_name)
    day = _named_day(draft, minute, now, zone)
    if day is None:
        return _next_time(draft, reading, minute, now, zone)
    if reading.meridiem == "midnight" or (draft.part_name == "night" and reading.hour == 12):
        if isinstance(draft.day, RelativeDay) and draft.day.word == "tonight":
            return _at_wall(datetime.combine(day + timedelta(days=1), time()), now, zone)
        raise ambiguous(
            "Midnight may be where that day begins or where it ends.", f"Say {day} at 00:00, or at 23:59."
        )
    if draft.part_name == "night" and minute < 12 * 60:
        proposal = f"Say {day} at {reading.shown}."
        raise ambiguous(f"{reading.shown} that night may be of either day.", proposal)
    return _at_wall(datetime.combine(day, time_of(minute)), now, zone)


def at_moment(moment: datetime, now: datetime, zone: tzinfo) -> Once:
    """The moment, with the zone's offset. Raises `Refusal` where it has passed."""
    local = moment.astimezone(zone)
    if moment <= now:
        raise past(f"{local:%Y-%m-%d %H:%M} has passed.", "Name a time in the future.")
    offset = local.utcoffset()
    assert offset is not None, "the zone knows its offset"
    return Once(local.replace(tzinfo=UTC if not offset else timezone(offset), fold=0))


def moment_in(moment: datetime, zone: tzinfo) -> datetime:
    """The moment; one without an offset is read in the zone."""
    return moment_of(moment, zone) if moment.tzinfo is None else moment


def no_time(draft: TimingDraft) -> Refusal:
    """The refusal of a day without a time."""
    if draft.part is not None:
        name = draft.part.name
        hour = {"morning": "9", "afternoon": "15:00", "evening": "20:00", "night": "22:00"}[name]
        return incomplete(
            f"{name.capitalize()} is not an exact time.", f"Say at what time, such as 'at {hour}'."
        )
    return incomplete(
        "The sentence does not say at what time it is due.", "Add a time, such as 'at 9' or 'at 14:30'."
    )


def day_of(day: Bound, today: date, *, still_today: bool) -> date:
    """The day, relative to today. `still_today`: its time is yet to come today.

    Raises `Refusal`.
    """
    match day:
        case OnDate():
            return _dated(day, today)
        case RelativeDay():
            return today + timedelta(days=day.days)
        case ComingWeekday():
            return _coming(day, today)
        case Weekdays():
            (weekday,) = day.weekdays
            return _weekday(weekday, today, still_today)


def time_of(minute: int) -> time:
    """The time of day, so many minutes after midnight."""
    return time(*divmod(minute, 60))


def _at_wall(wall: datetime, now: datetime, zone: tzinfo) -> Once:
    return at_moment(moment_of(wall, zone), now, zone)


def _require_only(draft: TimingDraft, names: set[str]) -> None:
    """Raises `Refusal` where anything else was named."""
    if draft.named - names:
        raise given_twice("when")


def _one_clock(draft: TimingDraft) -> Reading:
    """The only time of day that was named. Raises `Refusal`."""
    if not draft.clocks:
        raise no_time(draft)
    if len(draft.clocks) > 1:
        raise ambiguous(
            "Several times of one day are several runs.", "Say 'every day at 9 and 17', or name one time."
        )
    return draft.clocks[0]


def _ahead(draft: TimingDraft, ahead: Length, now: datetime, zone: tzinfo) -> Once:
    """`in 2 hours`, `in 3 days at 9`."""
    if ahead.number <= 0:
        raise impossible("That is now, not later.", "Say in how many minutes, such as 'in 30 minutes'.")
    shown = wall_of(now, zone).replace(microsecond=0)
    if ahead.unit in {"month", "year"}:
        wall = _months_ahead(shown, ahead)
    elif not draft.clocks:
        _require_only(draft, {"ahead", "zone"})
        seconds = ahead.seconds
        if seconds.denominator != 1 or seconds > LONGEST_AHEAD * 86_400:
            raise impossible("That is not a length of time that can be waited.", "Say 'in 30 minutes'.")
        return at_moment(now.replace(microsecond=0) + timedelta(seconds=int(seconds)), now, zone)
    elif ahead.is_small or ahead.number.denominator != 1 or ahead.number > LONGEST_AHEAD:
        raise given_twice("when")
    else:
        wall = shown + timedelta(seconds=int(ahead.seconds))
    if draft.clocks:
        _require_only(draft, {"ahead", "zone", "clocks", "part"})
        wall = datetime.combine(wall.date(), time_of(minute_of_day(_one_clock(draft), draft.part_name)))
    return _at_wall(wall, now, zone)


def _months_ahead(shown: datetime, ahead: Length) -> datetime:
    if ahead.number.denominator != 1 or ahead.number > 1200:
        raise unknown("Months and years are counted whole.", "Name the date, such as 2026-12-24 at 9:00.")
    months = shown.month - 1 + int(ahead.number) * (12 if ahead.unit == "year" else 1)
    year, month = shown.year + months // 12, months % 12 + 1
    if shown.day > monthrange(year, month)[1]:
        raise impossible(f"{MONTHS[month - 1]} has no day {shown.day}.", "Name the date, such as 2026-12-24.")
    return shown.replace(year=year, month=month)


def _named_day(draft: TimingDraft, minute: int, now: datetime, zone: tzinfo) -> date | None:
    if draft.day is not None and draft.weekdays is not None:
        raise contradictory("The sentence names several days.", "Name one of them.")
    day = draft.day or draft.weekdays
    shown = wall_of(now, zone)
    still_today = minute > shown.hour * 60 + shown.minute
    return day_of(day, shown.date(), still_today=still_today) if day else None


def _next_time(draft: TimingDraft, reading: Reading, minute: int, now: datetime, zone: tzinfo) -> Once:
    """Today or tomorrow, whichever comes first."""
    wall = datetime.combine(wall_of(now, zone).date(), time_of(minute))
    if moment_of(wall, zone) > now:
        return _at_wall(wall, now, zone)
    if reading.form != "exact" and draft.part is None and reading.hour <= 12:
        raise ambiguous(
            f"{reading.shown} has passed today; the evening or tomorrow may be meant.",
            f"Say 'tomorrow at {reading.shown}', or write the time with am or pm.",
        )
    return _at_wall(wall + timedelta(days=1), now, zone)


def _dated(on: OnDate, today: date) -> date:
    day = _next_such(on, today) if on.year is None else date(on.year, on.month, on.day)
    if on.weekday is not None and day.weekday() != on.weekday:
        raise contradictory(
            f"{day} is a {WEEKDAYS[day.weekday()]}.", f"Leave out {WEEKDAYS[on.weekday]}, or the date."
        )
    return day


def _next_such(on: OnDate, today: date) -> date:
    """The next day of that date. Raises `Refusal` where it has just passed this year."""
    days = [
        date(year, on.month, on.day)
        for year in range(today.year - 1, min(today.year + 9, date.max.year))
        if on.day <= monthrange(year, on.month)[1]
    ]
    coming = next((day for day in days if day >= today), None)
    if coming is None or any(timedelta() < today - day <= RECENT for day in days):
        proposal = f"Add the year, such as {today.year + 1}."
        raise past(f"{MONTHS[on.month - 1]} {on.day} has passed.", proposal)
    return coming


def _coming(coming: ComingWeekday, today: date) -> date:
    name = WEEKDAYS[coming.weekday]
    this_week = today + timedelta(days=coming.weekday - today.weekday())
    nearest = today + timedelta(days=(coming.weekday - today.weekday() - 1) % 7 + 1)
    week = timedelta(days=7)
    if coming.which == "this":
        if this_week < today:
            raise past(f"This week's {name} has passed.", f"Say {nearest} at 9:00.")
        return this_week
    if coming.which == "next week":
        return this_week + week
    if coming.which != "coming" and nearest != this_week + week:
        raise ambiguous(f"Next {name} may be {nearest} or {nearest + week}.", "Name the date.")
    return nearest


def _weekday(weekday: int, today: date, still_today: bool) -> date:
    days = (weekday - today.weekday()) % 7
    if days == 0 and still_today:
        raise ambiguous(
            f"Today is {WEEKDAYS[weekday]}: it may be meant, or that in a week.",
            f"Say 'today', or {today + timedelta(days=7)}.",
        )
    return today + timedelta(days=days or 7)
