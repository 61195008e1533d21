"""What is due again and again: the interval or the calendar that the pieces come to."""

from __future__ import annotations

from datetime import date, datetime, time, tzinfo
from fractions import Fraction

from msgspec.structs import replace

from schedules.phrases.clocks import minute_of_day
from schedules.phrases.days import days_of
from schedules.phrases.daytimes import times_of
from schedules.phrases.draft import Draft
from schedules.phrases.outcome import Refusal
from schedules.phrases.pieces import Clocks, DayPiece, Starting, Step, Times, Weekdays
from schedules.phrases.single import at_moment, day_of
from schedules.timing import Calendar, Interval, Timing, next_due
from schedules.timing.calendar import days_from
from schedules.timing.values import LONGEST
from schedules.timing.wall import moment_of, wall_of


def recurring(draft: Draft, now: datetime, zone: tzinfo) -> Timing:
    """The interval or calendar of the draft. Raises `Refusal`."""
    draft = _counted(_hourly(draft))
    step = draft.step
    if step is not None and step.is_small:
        _refuse_too_frequent(step)
    if step is not None and not draft.names_wall and (step.is_small or _is_elapsed(draft, step)):
        return _interval(draft, step, now, zone)
    return _calendar(_with_start_as_time(draft), now, zone)


def _hourly(draft: Draft) -> Draft:
    """Minutes past each hour say how often by themselves, where they say `hour`."""
    past = draft.past_hour
    if past is None or draft.step is not None:
        return draft
    if not past.every_hour and draft.window is None:
        raise Refusal(
            "incomplete", "Those minutes are of which hour?", "Say 'every hour at :15', or 'at 9:15'."
        )
    return replace(draft, step=Step(Fraction(1), "hour"))


def _counted(draft: Draft) -> Draft:
    """`once a day` is every day; more often asks for as many times. Raises `Refusal`."""
    times = draft.times
    if times is None:
        return draft
    if draft.step is not None and draft.step != Step(Fraction(1), times.unit):
        raise Refusal("contradictory", "The sentence says twice how often.", "Leave one of both out.")
    named = _named_runs(draft, times)
    if named == 0 and times.number > 1:
        raise Refusal(
            "incomplete",
            f"{times.number} times a {times.unit} does not say when.",
            "Name the times: 'every day at 9 and 18', 'every Monday and Thursday at 9'.",
        )
    if named not in (times.number, 0):
        raise Refusal(
            "contradictory", f"{times.number} a {times.unit} are not {named}.", "Name as many times as runs."
        )
    return replace(draft, step=Step(Fraction(1), times.unit), times=None)


def _named_runs(draft: Draft, times: Times) -> int:
    """How many runs in that unit are named."""
    clocks = len(draft.clocks.readings) if draft.clocks else 0
    match times.unit:
        case "day":
            return clocks
        case "week":
            return len(draft.weekdays.weekdays) * min(clocks, 1) if draft.weekdays else 0
        case "month":
            return len(draft.month_rule.numbers) * min(clocks, 1) if draft.month_rule else 0
        case _:
            return 0


def _refuse_too_frequent(step: Step) -> None:
    if step.seconds <= 0:
        raise Refusal("impossible", "That is no interval.", "Say 'every 30 minutes'.")
    if step.seconds < 60:
        raise Refusal(
            "too_frequent", "A schedule runs at most once a minute.", "Say 'every minute' or less often."
        )


def _is_elapsed(draft: Draft, step: Step) -> bool:
    """`every 2 days`, `every 3 weeks` without a time of day: elapsed time."""
    timed = draft.clocks is not None or (draft.starting is not None and draft.starting.clock is not None)
    return step.unit in {"day", "week"} and step.number > 1 and not timed and draft.part is None


def _interval(draft: Draft, step: Step, now: datetime, zone: tzinfo) -> Interval:
    if draft.clocks is not None:
        raise Refusal(
            "contradictory",
            "A time of day and an interval exclude each other.",
            "Say 'every day at 9', or 'every 2 hours', or 'every 2 hours between 9 and 17'.",
        )
    if draft.part is not None:
        raise Refusal("incomplete", f"{draft.part.name!r} is no exact window.", "Say 'between 9 and 12'.")
    if draft.until is not None:
        raise Refusal(
            "unknown", "An interval that ends is not understood.", "Name a window: 'between 9 and 17'."
        )
    if step.seconds.denominator != 1 or step.seconds > LONGEST:
        raise Refusal(
            "impossible",
            "That is no interval that can be kept.",
            "Intervals are whole seconds, up to 10 years.",
        )
    return Interval(int(step.seconds), _interval_start(draft.starting, now, zone))


def _interval_start(start: Starting | None, now: datetime, zone: tzinfo) -> datetime | None:
    """The first due time, where one is told."""
    if start is None or start == Starting():
        return None
    if start.moment is not None:
        told = start.moment
        return at_moment(moment_of(told, zone) if told.tzinfo is None else told, now, zone).at
    if start.clock is None:
        raise Refusal("incomplete", "The first run has no time.", "Say 'starting tomorrow at 9:00'.")
    shown = wall_of(now, zone)
    at, passed = minute_of_day(start.clock, None), shown.hour * 60 + shown.minute
    if start.day is None and at <= passed:
        raise Refusal(
            "ambiguous",
            "That time has passed today.",
            "Say 'starting tomorrow at …', or 'every day between … and …'.",
        )
    day = shown.date() if start.day is None else day_of(start.day, shown.date(), at, passed)
    return at_moment(moment_of(datetime.combine(day, time(*divmod(at, 60))), zone), now, zone).at


def _calendar(draft: Draft, now: datetime, zone: tzinfo) -> Calendar:
    today = wall_of(now, zone).date()
    days, months = days_of(draft)
    times = times_of(draft, days)
    start = draft.starting
    if start is not None and start.moment is not None:
        raise Refusal("unknown", "The first day is named without a time here.", "Say 'starting 2026-12-24'.")
    starting = _bound(start.day if start else None, today)
    if days.every > 1:
        one = replace(days, every=1)
        starting = _first_day(Calendar(days=one, times=times, months=months, starting=starting), now, zone)
    until = _bound(draft.until.day if draft.until else None, today)
    calendar = Calendar(days=days, times=times, months=months, starting=starting, until=until)
    if next_due(calendar, now, zone) is None:
        raise Refusal("past", "It would never be due again.", "Leave out the last day, or name a later one.")
    return calendar


def _with_start_as_time(draft: Draft) -> Draft:
    """`every 2 days starting tomorrow at 9`: the first time of day is that of every one. Raises `Refusal`."""
    start = draft.starting
    if start is None or start.clock is None:
        return draft
    if draft.clocks is not None or draft.window is not None or draft.past_hour is not None:
        raise Refusal("contradictory", "The sentence says twice at what time.", "Leave one of both out.")
    weekdays = draft.weekdays
    if weekdays is None and draft.step is not None and draft.step.unit == "week":
        weekdays = Weekdays(start.day.weekdays, repeats=True) if isinstance(start.day, Weekdays) else None
    clocks = Clocks((start.clock,))
    return replace(draft, clocks=clocks, starting=Starting(start.day), weekdays=weekdays)


def _bound(piece: DayPiece | None, today: date) -> date | None:
    """The first or the last day, where one is told. Raises `Refusal`."""
    if piece is None:
        return None
    return day_of(piece, today, None, 0)


def _first_day(calendar: Calendar, now: datetime, zone: tzinfo) -> date | None:
    """The day that counted days are counted from: the first that was asked for, or the next that is due."""
    if calendar.starting is not None:
        return next(iter(days_from(calendar, calendar.starting)), None)
    due = next_due(calendar, now, zone)
    return wall_of(due, zone).date() if due else None
