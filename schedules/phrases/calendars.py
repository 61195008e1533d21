"""A calendar's days (weekdays, days of a month, every so many) and the times at which they are due."""

from __future__ import annotations

from calendar import monthrange
from itertools import pairwise
from typing import NamedTuple

from schedules.phrases.clock_times import Reading, minute_of_day
from schedules.phrases.draft import Length, MonthRule, OnDate, PastHour, TimeWindow, TimingDraft, Weekdays
from schedules.phrases.once import no_time
from schedules.phrases.outcome import (
    Refusal,
    ambiguous,
    contradictory,
    exclusive,
    given_twice,
    impossible,
    incomplete,
    unknown,
)
from schedules.phrases.vocabulary import DayPart, Unit
from schedules.timing import At, Daily, Days, Every, MonthDays, MonthWeekdays, Times, Weekly
from schedules.timing.names import MONTHS
from schedules.timing.values import DAY

EVERY_WEEKDAY = frozenset(range(7))
LEAP_YEAR, COMMON_YEAR = 2000, 2001


class NamedDays(NamedTuple):
    """Days, and the months that they are restricted to (none: all)."""

    days: Days
    months: tuple[int, ...] = ()


class _Pace(NamedTuple):
    """Every so many of a unit of a day or more; `unit` is None if it was not named."""

    unit: Unit | None
    number: int


def resolve_days(draft: TimingDraft) -> NamedDays:
    """The days that the draft names. Raises `Refusal`."""
    pace = _pace(draft.day_step)
    if isinstance(draft.day, OnDate):
        return _yearly(draft, draft.day, pace)
    if draft.month_rule is not None:
        return _monthly(draft, draft.month_rule, pace)
    if pace.unit == "month" or (pace.unit == "year" and not (draft.months and draft.weekdays)):
        raise incomplete(
            f"The sentence does not say on which day of the {pace.unit}.",
            "Say 'on the 1st of every month at 9', or 'every year on December 24 at 9'.",
        )
    if draft.weekdays is None:
        return NamedDays(_without_weekdays(draft, pace), draft.months)
    return NamedDays(_weekly(draft, draft.weekdays, pace), draft.months)


def _pace(step: Length | None) -> _Pace:
    if step is None:
        return _Pace(None, 1)
    if step.number.denominator != 1 or not 1 <= step.number <= 366:
        raise impossible("Days, weeks and months are counted whole, from 1 on.", "Say 'every 2 days at 9'.")
    return _Pace(step.unit, int(step.number))


def _without_weekdays(draft: TimingDraft, pace: _Pace) -> Days:
    """Every day, or every so many, where no weekday is named."""
    if pace.unit == "week":
        raise incomplete("The sentence does not say on which weekday.", "Say 'every Monday at 9'.")
    if pace.unit != "day" and not draft.part_repeats and draft.small_step is None:
        raise incomplete("The sentence does not say on which days.", "Say 'every day at 9'.")
    if not draft.exception:
        return Daily(pace.number)
    if pace.number > 1:
        raise unknown("Every so many days with an exception is not understood.", "Leave one of both out.")
    return _without_exception(draft, Weekdays(EVERY_WEEKDAY, repeats=True), every=1)


def _weekly(draft: TimingDraft, weekdays: Weekdays, pace: _Pace) -> Days:
    if pace.unit == "day" and (pace.number > 1 or weekdays.repeats is not True):
        raise exclusive("Every day", "those weekdays")
    if weekdays.repeats is None and pace.unit != "week":
        raise ambiguous(
            "It is not clear whether every one of those days is meant.",
            "Say 'every Monday and Wednesday', or 'Mondays and Wednesdays'.",
        )
    if weekdays.repeats is False and pace.unit is None:
        raise ambiguous("It is not clear whether that is once or every week.", "Say 'every Monday'.")
    if weekdays.every > 1 and pace.unit == "week" and pace.number > 1:
        raise given_twice("how often")
    weeks = pace.number if pace.unit == "week" else 1
    return _without_exception(draft, weekdays, every=max(weekdays.every, weeks))


def _without_exception(draft: TimingDraft, weekdays: Weekdays, *, every: int) -> Days:
    """The weekdays without those that are excepted."""
    remaining = weekdays.weekdays - draft.exception
    if not remaining or not draft.exception <= weekdays.weekdays:
        raise contradictory("The exception does not fit the days.", "Name the days that are meant.")
    if remaining == EVERY_WEEKDAY and every == 1:
        return Daily()
    return Weekly(tuple(sorted(remaining)), every)


def _monthly(draft: TimingDraft, rule: MonthRule, pace: _Pace) -> NamedDays:
    if draft.weekdays is not None or draft.exception:
        raise exclusive("A day of the month", "a weekday")
    every = rule.every if rule.every is not None else pace.number if pace.unit == "month" else None
    months = tuple(sorted({*rule.months, *draft.months}))
    if (
        pace.unit in {"day", "week"}
        or (pace.unit == "year" and (pace.number > 1 or not months))
        or (pace.unit == "month" and pace.number != every)
        or (months and (every or 1) > 1)
    ):
        raise given_twice("how often")
    if every is None and pace.unit != "year":
        raise ambiguous(
            "It is not clear whether that is once or every month.",
            "Say 'on the 5th of every month at 9', or name the date with its month.",
        )
    if rule.months and not (rule.yearly or pace.unit == "year"):
        raise ambiguous("It is not clear whether that is once or every year.", "Add 'every year'.")
    if rule.weekdays:
        return NamedDays(MonthWeekdays(rule.numbers, rule.weekdays, every or 1), months)
    _refuse_missing_days(max(rule.numbers), months)
    return NamedDays(MonthDays(rule.numbers, every or 1), months)


def _yearly(draft: TimingDraft, on: OnDate, pace: _Pace) -> NamedDays:
    yearly = on.yearly or pace.unit == "year"
    if not yearly or on.year is not None or pace.number != 1 or pace.unit not in {None, "year"}:
        raise exclusive("A date", "a repetition")
    if on.weekday is not None or draft.named & {"weekdays", "months", "month_rule", "exception"}:
        raise exclusive("A date", "a weekday or month")
    _refuse_missing_days(on.day, (on.month,))
    return NamedDays(MonthDays((on.day,)), (on.month,))


def _refuse_missing_days(day: int, months: tuple[int, ...]) -> None:
    """Raises `Refusal` for a day that some of the months do not have: they might be skipped or not."""
    for month in months or range(1, 13):
        name = MONTHS[month - 1]
        if months and day > monthrange(LEAP_YEAR, month)[1]:
            raise impossible(f"{name} has no day {day}.", "Say 'the last day of the month'.")
        if day > monthrange(COMMON_YEAR, month)[1]:
            named, number = (name, month) if months else ("month", "*")
            raise ambiguous(
                f"{name} does not always have a day {day}.",
                f"Say 'on the last day of every {named} at 9', "
                f"or '0 9 {day} {number} *' for those that have it.",
            )


def resolve_times(draft: TimingDraft, days: Days) -> Times:
    """The times of each of the days. Raises `Refusal`."""
    if draft.small_step is not None:
        return _stepped(draft, draft.small_step, days)
    if draft.window is not None or draft.past_hour is not None:
        proposal = "Say 'every hour between 9 and 17'."
        raise incomplete("The sentence does not say how often.", proposal)
    if not draft.clocks:
        raise no_time(draft)
    _refuse_night(draft, days)
    return At(tuple(sorted({minute_of_day(clock, draft.part_name) for clock in draft.clocks})))


def no_window(part: DayPart) -> Refusal:
    """The refusal of `every 10 minutes in the morning`."""
    return incomplete(f"{part!r} is not an exact window.", "Say 'between 9 and 12'.")


def _stepped(draft: TimingDraft, step: Length, days: Days) -> Times:
    minutes = step.seconds / 60
    if draft.clocks:
        raise exclusive("A time of day", "an interval")
    if minutes.denominator != 1 or minutes > DAY:
        proposal = "Say 'every 30 minutes on weekdays'."
        raise impossible("Times of the wall clock are whole minutes.", proposal)
    if draft.part is not None and draft.window is None:
        raise no_window(draft.part.name)
    if draft.past_hour is not None:
        return _past_hour(draft.past_hour, int(minutes), draft.window)
    if draft.window is not None:
        return _within(draft, draft.window, int(minutes), days)
    if DAY % minutes:
        proposal = "Name a window, such as 'between 9 and 17'."
        raise ambiguous(f"A day is not a whole number of {minutes} minutes.", proposal)
    return Every(int(minutes), 0, DAY - int(minutes))


def _within(draft: TimingDraft, window: TimeWindow, minutes: int, days: Days) -> Every:
    by_24_hours = window.first.by_24_hours or (window.last.form == "exact" and window.last.hour > 12)

    def minute(reading: Reading) -> int:
        clear = by_24_hours and draft.part is None
        return reading.minutes if clear else minute_of_day(reading, draft.part_name)

    first, last = minute(window.first), minute(window.last)
    if last < first and days != Daily():
        proposal = "Say so for every day, or end it at 23:59."
        raise ambiguous("A window across midnight belongs to two days.", proposal)
    if minutes > (last - first) % DAY:
        proposal = "Name a longer window, or a time."
        raise contradictory("The window is shorter than the interval.", proposal)
    return Every(minutes, first, last)


def _past_hour(past_hour: PastHour, step: int, window: TimeWindow | None) -> Times:
    first, last = (window.first.minutes, window.last.minutes) if window else (0, DAY - 1)
    unclear = window is not None and "bare" in {window.first.form, window.last.form} and last <= 12 * 60
    if step != 60 or last < first or unclear:
        raise ambiguous(
            "It is not clear which hours are meant.",
            "Say 'every hour at :15', or 'between 9:00 and 17:00'.",
        )
    minutes = [at for at in range(first, last + 1) if at % 60 in past_hour.minutes]
    if len(minutes) < 2:
        raise contradictory("The window is shorter than an hour.", "Name a longer one, or a time.")
    gaps = {later - earlier for earlier, later in pairwise(minutes)}
    return Every(gaps.pop(), minutes[0], minutes[-1]) if len(gaps) == 1 else At(tuple(minutes))


def _refuse_night(draft: TimingDraft, days: Days) -> None:
    """Raises `Refusal` for midnight of a weekday, where the day begins to some and ends to others."""
    midnight = any(clock.meridiem == "midnight" for clock in draft.clocks)
    small_hours = draft.part_name == "night" and any(
        minute_of_day(clock, "night") < DAY // 2 for clock in draft.clocks
    )
    clear = isinstance(days, Daily) or (isinstance(days, MonthDays) and not small_hours)
    if (midnight or small_hours) and not clear:
        raise ambiguous(
            "That night may be where the day begins or where it ends.",
            "Say 'at 00:00' for where it begins, or 'at 23:59'.",
        )
