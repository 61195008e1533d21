"""On which days a calendar is due: every so many days, weekdays, days of a month, days of a year."""

from __future__ import annotations

from calendar import monthrange
from typing import NamedTuple

from schedules.phrases.draft import Length, MonthRule, OnDate, TimingDraft, Weekdays
from schedules.phrases.outcome import (
    ambiguous,
    contradictory,
    exclusive,
    impossible,
    incomplete,
    said_twice,
    unknown,
)
from schedules.phrases.vocabulary import Unit
from schedules.timing import Daily, Days, MonthDays, MonthWeekdays, Weekly
from schedules.timing.names import MONTHS

EVERY_WEEKDAY = frozenset(range(7))
LEAP_YEAR, COMMON_YEAR = 2000, 2001


class NamedDays(NamedTuple):
    """Days, and the months that they are restricted to (none: all)."""

    days: Days
    months: tuple[int, ...] = ()


class _Pace(NamedTuple):
    """Every so many of a unit of a day or more; `unit` is None where nothing was said of it."""

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
        raise said_twice("how often")
    weeks = pace.number if pace.unit == "week" else 1
    return _without_exception(draft, weekdays, every=max(weekdays.every, weeks))


def _without_exception(draft: TimingDraft, weekdays: Weekdays, *, every: int) -> Days:
    """The weekdays without those that are excepted."""
    kept = weekdays.weekdays - draft.exception
    if not kept or not draft.exception <= weekdays.weekdays:
        raise contradictory("The exception does not fit the days.", "Name the days that are meant.")
    if kept == EVERY_WEEKDAY and every == 1:
        return Daily()
    return Weekly(tuple(sorted(kept)), every)


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
        raise said_twice("how often")
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
