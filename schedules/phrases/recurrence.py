"""Repeated due times: resolves a draft to an interval or a calendar."""

from __future__ import annotations

from datetime import date, datetime, tzinfo
from fractions import Fraction

from msgspec.structs import replace

from schedules.phrases.calendars import no_window, resolve_days, resolve_times
from schedules.phrases.clock_times import minute_of_day
from schedules.phrases.draft import Bound, Length, Starting, TimingDraft, Weekdays
from schedules.phrases.once import at_moment, day_of, moment_in, time_of
from schedules.phrases.outcome import (
    Refusal,
    ambiguous,
    contradictory,
    exclusive,
    given_twice,
    impossible,
    incomplete,
    past,
    unknown,
)
from schedules.timing import Calendar, Interval, Timing, next_due
from schedules.timing.calendar import days_from
from schedules.timing.values import LONGEST
from schedules.timing.wall import moment_of, wall_of


def resolve_recurrence(draft: TimingDraft, now: datetime, zone: tzinfo) -> Timing:
    """The interval or calendar of the draft. Raises `Refusal`."""
    draft = _with_runs_as_step(_with_past_hour_as_step(draft))
    step = draft.step
    if step is not None and step.is_small:
        if step.seconds <= 0:
            raise impossible("That is not an interval.", "Say 'every 30 minutes'.")
        if step.seconds < 60:
            proposal = "Say 'every minute' or less often."
            raise Refusal("too_frequent", "A schedule runs at most once a minute.", proposal)
    if step is not None and not draft.names_wall and (step.is_small or _is_elapsed(draft, step)):
        return _interval(draft, step, now, zone)
    return _calendar(_with_start_as_time(draft), now, zone)


def _with_past_hour_as_step(draft: TimingDraft) -> TimingDraft:
    """Minutes past `every hour` are a step of an hour."""
    past_hour = draft.past_hour
    if past_hour is None or draft.step is not None:
        return draft
    if not past_hour.every_hour and draft.window is None:
        raise incomplete("Those minutes are of which hour?", "Say 'every hour at :15', or 'at 9:15'.")
    return replace(draft, step=Length(Fraction(1), "hour"))


def _with_runs_as_step(draft: TimingDraft) -> TimingDraft:
    """`once a day` is every day; more often needs as many times of day. Raises `Refusal`."""
    runs = draft.runs
    if runs is None:
        return draft
    step = Length(Fraction(1), runs.unit)
    if draft.step not in {None, step}:
        raise given_twice("how often")
    named = _named_runs(draft, runs)
    if named == 0 and runs.number > 1:
        raise incomplete(
            f"{runs.number} times a {runs.unit} does not say when.",
            "Name the times: 'every day at 9 and 18', 'every Monday and Thursday at 9'.",
        )
    if named not in {runs.number, 0}:
        raise contradictory(f"{runs.number} a {runs.unit} are not {named}.", "Name as many times as runs.")
    return replace(draft, step=step, runs=None)


def _named_runs(draft: TimingDraft, runs: Length) -> int:
    """How many runs in that unit are named."""
    days = {
        "day": 1,
        "week": len(draft.weekdays.weekdays) if draft.weekdays else 0,
        "month": len(draft.month_rule.numbers) if draft.month_rule else 0,
    }
    return days.get(runs.unit, 0) * (len(draft.clocks) if runs.unit == "day" else min(len(draft.clocks), 1))


def _is_elapsed(draft: TimingDraft, step: Length) -> bool:
    """Whether `every 2 days` is elapsed time: no time of day is named."""
    timed = bool(draft.clocks) or (draft.starting is not None and draft.starting.clock is not None)
    return step.unit in {"day", "week"} and step.number > 1 and not timed and draft.part is None


def _interval(draft: TimingDraft, step: Length, now: datetime, zone: tzinfo) -> Interval:
    if draft.clocks:
        proposal = "Say 'every day at 9', or 'every 2 hours', or 'every 2 hours between 9 and 17'."
        raise exclusive("A time of day", "an interval", proposal)
    if draft.part is not None:
        raise no_window(draft.part.name)
    if draft.until is not None:
        raise unknown("An interval that ends is not understood.", "Name a window: 'between 9 and 17'.")
    if step.seconds.denominator != 1 or step.seconds > LONGEST:
        raise impossible("That is not a possible interval.", "Intervals are whole seconds, up to 10 years.")
    return Interval(int(step.seconds), _interval_start(draft.starting, now, zone))


def _interval_start(start: Starting | None, now: datetime, zone: tzinfo) -> datetime | None:
    """The first due time, where one is named."""
    if start is None or start == Starting():
        return None
    if start.moment is not None:
        return at_moment(moment_in(start.moment, zone), now, zone).at
    if start.clock is None:
        raise incomplete("The first run has no time.", "Say 'starting tomorrow at 9:00'.")
    shown = wall_of(now, zone)
    minute = minute_of_day(start.clock, None)
    still_today = minute > shown.hour * 60 + shown.minute
    if start.day is None and not still_today:
        proposal = "Say 'starting tomorrow at …', or 'every day between … and …'."
        raise ambiguous("That time has passed today.", proposal)
    day = shown.date() if start.day is None else day_of(start.day, shown.date(), still_today=still_today)
    return at_moment(moment_of(datetime.combine(day, time_of(minute)), zone), now, zone).at


def _calendar(draft: TimingDraft, now: datetime, zone: tzinfo) -> Calendar:
    today = wall_of(now, zone).date()
    days, months = resolve_days(draft)
    times = resolve_times(draft, days)
    start = draft.starting
    if start is not None and start.moment is not None:
        raise unknown("The first day is named without a time here.", "Say 'starting 2026-12-24'.")
    starting = _bound(start.day if start else None, today)
    if days.every > 1:
        daily = Calendar(days=replace(days, every=1), times=times, months=months, starting=starting)
        starting = _first_day(daily, now, zone)
    until = _bound(draft.until, today)
    calendar = Calendar(days=days, times=times, months=months, starting=starting, until=until)
    if next_due(calendar, now, zone) is None:
        raise past("It would never be due again.", "Leave out the last day, or name a later one.")
    return calendar


def _with_start_as_time(draft: TimingDraft) -> TimingDraft:
    """`every 2 days starting tomorrow at 9`: the first time of day is that of every run. Raises `Refusal`."""
    start = draft.starting
    if start is None or start.clock is None:
        return draft
    if draft.named & {"clocks", "window", "past_hour"}:
        raise given_twice("at what time")
    weekdays, starting = draft.weekdays, Starting(start.day)
    weekly = draft.step is not None and draft.step.unit == "week"
    if weekdays is None and weekly and isinstance(start.day, Weekdays):
        weekdays = Weekdays(start.day.weekdays, repeats=True)
    return replace(draft, clocks=(start.clock,), starting=starting, weekdays=weekdays)


def _bound(day: Bound | None, today: date) -> date | None:
    """The first or the last day, where one is named. Raises `Refusal`."""
    return day_of(day, today, still_today=True) if day else None


def _first_day(calendar: Calendar, now: datetime, zone: tzinfo) -> date | None:
    """The day from which days are counted: the first requested one, or the next due one."""
    if calendar.starting is not None:
        return next(iter(days_from(calendar, calendar.starting)), None)
    due = next_due(calendar, now, zone)
    return wall_of(due, zone).date() if due else None
