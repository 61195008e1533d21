"""On which days a calendar is due: every so many days, weekdays, days of a month, days of a year."""

from __future__ import annotations

from calendar import monthrange
from typing import NamedTuple

from schedules.phrases.draft import Draft
from schedules.phrases.durations import Unit
from schedules.phrases.outcome import Refusal
from schedules.phrases.pieces import MonthRule, OnDate, Step, Weekdays
from schedules.timing import Daily, Days, MonthDays, MonthWeekdays, Weekly
from schedules.timing.names import MONTHS

EVERY_WEEKDAY = frozenset(range(7))
LEAP_YEAR, COMMON_YEAR = 2000, 2001

TOO_MUCH = "Leave one of both out."


class NamedDays(NamedTuple):
    """A rule, and the months that it is kept to (none: all)."""

    days: Days
    months: tuple[int, ...] = ()


class _Pace(NamedTuple):
    """Every so many of a unit of a day or more; without a unit nothing was said of it."""

    unit: Unit | None
    number: int


def days_of(draft: Draft) -> NamedDays:
    """The days that the draft names. Raises `Refusal`."""
    pace = _pace(draft.day_step)
    months = draft.months.months if draft.months else ()
    if draft.date is not None:
        return _yearly(draft, draft.date, pace)
    if draft.month_rule is not None:
        return _monthly(draft, draft.month_rule, pace)
    if pace.unit == "month" or (pace.unit == "year" and not (months and draft.weekdays)):
        raise Refusal(
            "incomplete",
            f"The sentence does not say on which day of the {pace.unit}.",
            "Say 'on the 1st of every month at 9', or 'every year on December 24 at 9'.",
        )
    if draft.weekdays is None:
        return NamedDays(_without_weekdays(draft, pace), months)
    return NamedDays(_weekly(draft, draft.weekdays, pace), months)


def _pace(step: Step | None) -> _Pace:
    if step is None:
        return _Pace(None, 1)
    if step.number.denominator != 1 or not 1 <= step.number <= 366:
        raise Refusal(
            "impossible", "Days, weeks and months are counted whole, from 1 on.", "Say 'every 2 days at 9'."
        )
    return _Pace(step.unit, int(step.number))


def _without_weekdays(draft: Draft, pace: _Pace) -> Days:
    """Every day, or every so many, where no weekday is named."""
    if pace.unit == "week":
        raise Refusal("incomplete", "The sentence does not say on which weekday.", "Say 'every Monday at 9'.")
    repeated_part = draft.part is not None and draft.part.repeats
    if pace.unit != "day" and not repeated_part and draft.small_step is None:
        raise Refusal("incomplete", "The sentence does not say on which days.", "Say 'every day at 9'.")
    if draft.exception is None:
        return Daily(pace.number)
    if pace.number > 1:
        raise Refusal("unknown", "Every so many days with an exception is not understood.", TOO_MUCH)
    return _named(draft, Weekdays(EVERY_WEEKDAY, repeats=True), every=1)


def _weekly(draft: Draft, weekdays: Weekdays, pace: _Pace) -> Days:
    if pace.unit == "day" and (pace.number > 1 or weekdays.repeats is not True):
        raise Refusal("contradictory", "Every day and those weekdays exclude each other.", TOO_MUCH)
    if weekdays.repeats is None and pace.unit != "week":
        raise Refusal(
            "ambiguous",
            "It is not clear whether every one of those days is meant.",
            "Say 'every Monday and Wednesday', or 'Mondays and Wednesdays'.",
        )
    if weekdays.repeats is False and pace.unit is None:
        raise Refusal(
            "ambiguous", "It is not clear whether that is once or every week.", "Say 'every Monday'."
        )
    if weekdays.every > 1 and pace.unit == "week" and pace.number > 1:
        raise Refusal("contradictory", "The sentence says twice how often.", TOO_MUCH)
    return _named(draft, weekdays, every=max(weekdays.every, pace.number if pace.unit == "week" else 1))


def _named(draft: Draft, weekdays: Weekdays, *, every: int) -> Days:
    """The weekdays without those that are excepted."""
    excepted = draft.exception.weekdays if draft.exception else frozenset[int]()
    kept = weekdays.weekdays - excepted
    if not kept or not excepted <= weekdays.weekdays:
        raise Refusal(
            "contradictory", "The exception does not fit the days.", "Name the days that are meant."
        )
    if kept == EVERY_WEEKDAY and every == 1:
        return Daily()
    return Weekly(tuple(sorted(kept)), every)


def _monthly(draft: Draft, rule: MonthRule, pace: _Pace) -> NamedDays:
    if draft.weekdays is not None or draft.exception is not None:
        raise Refusal("contradictory", "A day of the month and a weekday exclude each other.", TOO_MUCH)
    every = rule.every if rule.every is not None else pace.number if pace.unit == "month" else None
    months = tuple(sorted({*rule.months, *(draft.months.months if draft.months else ())}))
    if (
        pace.unit in {"day", "week"}
        or (pace.unit == "year" and (pace.number > 1 or not months))
        or (pace.unit == "month" and pace.number != every)
        or (months and (every or 1) > 1)
    ):
        raise Refusal("contradictory", "The sentence says twice how often.", TOO_MUCH)
    if every is None and pace.unit != "year":
        raise Refusal(
            "ambiguous",
            "It is not clear whether that is once or every month.",
            "Say 'on the 5th of every month at 9', or name the date with its month.",
        )
    if rule.months and not (rule.yearly or pace.unit == "year"):
        raise Refusal("ambiguous", "It is not clear whether that is once or every year.", "Add 'every year'.")
    if rule.weekdays:
        return NamedDays(MonthWeekdays(rule.numbers, rule.weekdays, every or 1), months)
    _refuse_missing_days(max(rule.numbers), months)
    return NamedDays(MonthDays(rule.numbers, every or 1), months)


def _yearly(draft: Draft, on: OnDate, pace: _Pace) -> NamedDays:
    yearly = on.yearly or pace.unit == "year"
    if not yearly or on.year is not None or pace.number != 1 or pace.unit not in {None, "year"}:
        raise Refusal("contradictory", "A date is one day, which does not come again and again.", TOO_MUCH)
    if draft.weekdays or on.weekday is not None or draft.months or draft.month_rule or draft.exception:
        raise Refusal("contradictory", "A date and a weekday or month exclude each other.", TOO_MUCH)
    _refuse_missing_days(on.day, (on.month,))
    return NamedDays(MonthDays((on.day,)), (on.month,))


def _refuse_missing_days(day: int, months: tuple[int, ...]) -> None:
    """Refuse a day that some of the months do not have: whether to skip those is not ours to guess."""
    for month in months or range(1, 13):
        if months and day > monthrange(LEAP_YEAR, month)[1]:
            raise Refusal(
                "impossible", f"{MONTHS[month - 1]} has no day {day}.", "Say 'the last day of the month'."
            )
        if day > monthrange(COMMON_YEAR, month)[1]:
            named, number = (MONTHS[month - 1], month) if months else ("month", "*")
            raise Refusal(
                "ambiguous",
                f"{MONTHS[month - 1]} does not always have a day {day}.",
                f"Say 'on the last day of every {named} at 9', "
                f"or '0 9 {day} {number} *' for those that have it.",
            )
