"""At which times of its days a calendar is due: named times, or steps through a window."""

from __future__ import annotations

from itertools import pairwise

from schedules.phrases.clocks import Reading, minute_of_day
from schedules.phrases.draft import Draft
from schedules.phrases.outcome import Refusal
from schedules.phrases.pieces import PastHour, Step, Window
from schedules.phrases.single import incomplete
from schedules.phrases.times import by_24_hours
from schedules.timing import At, Daily, Days, Every, MonthDays, Times
from schedules.timing.values import DAY


def times_of(draft: Draft, days: Days) -> Times:
    """The times of each of the days. Raises `Refusal`."""
    if draft.small_step is not None:
        return _stepped(draft, draft.small_step, days)
    if draft.window is not None or draft.past_hour is not None:
        raise Refusal(
            "incomplete", "The sentence does not say how often.", "Say 'every hour between 9 and 17'."
        )
    if draft.clocks is None:
        raise incomplete(draft)
    _refuse_night(draft, days)
    return At(tuple(sorted({minute_of_day(each, draft.part_name) for each in draft.clocks.readings})))


def _stepped(draft: Draft, step: Step, days: Days) -> Times:
    minutes = step.seconds / 60
    if draft.clocks is not None:
        raise Refusal(
            "contradictory", "A time of day and an interval exclude each other.", "Leave one of both out."
        )
    if minutes.denominator != 1 or minutes > DAY:
        raise Refusal(
            "impossible", "Times of the wall clock are whole minutes.", "Say 'every 30 minutes on weekdays'."
        )
    if draft.part is not None and draft.window is None:
        raise Refusal("incomplete", f"{draft.part.name!r} is no exact window.", "Say 'between 9 and 12'.")
    if draft.past_hour is not None:
        return _past_hour(draft.past_hour, int(minutes), draft.window)
    if draft.window is not None:
        return _within(draft, draft.window, int(minutes), days)
    if DAY % minutes:
        raise Refusal(
            "ambiguous",
            f"{minutes} minutes do not part a day evenly.",
            "Name a window, such as 'between 9 and 17'.",
        )
    return Every(int(minutes), 0, DAY - int(minutes))


def _within(draft: Draft, window: Window, minutes: int, days: Days) -> Every:
    clear = by_24_hours(window.first) or (window.last.form == "exact" and window.last.hour > 12)

    def minute(reading: Reading) -> int:
        return reading.minutes if clear and draft.part is None else minute_of_day(reading, draft.part_name)

    first, last = minute(window.first), minute(window.last)
    if last < first and days != Daily():
        raise Refusal(
            "ambiguous",
            "A window across midnight belongs to two days.",
            "Say so for every day, or end it at 23:59.",
        )
    if minutes > (last - first) % DAY:
        raise Refusal(
            "contradictory", "The window is shorter than the interval.", "Name a longer window, or a time."
        )
    return Every(minutes, first, last)


def _past_hour(past: PastHour, step: int, window: Window | None) -> Times:
    first, last = (window.first.minutes, window.last.minutes) if window else (0, DAY - 1)
    unclear = window is not None and "bare" in (window.first.form, window.last.form) and last <= 12 * 60
    if step != 60 or last < first or unclear:
        raise Refusal(
            "ambiguous",
            "It is not clear which hours are meant.",
            "Say 'every hour at :15', or 'between 9:00 and 17:00'.",
        )
    minutes = [at for at in range(first, last + 1) if at % 60 in past.minutes]
    if len(minutes) < 2:
        raise Refusal("contradictory", "The window is shorter than an hour.", "Name a longer one, or a time.")
    gaps = {later - earlier for earlier, later in pairwise(minutes)}
    if len(gaps) == 1:
        return Every(gaps.pop(), minutes[0], minutes[-1])
    return At(tuple(minutes))


def _refuse_night(draft: Draft, days: Days) -> None:
    """Refuse midnight of a weekday: it is where the day begins to some, and where it ends to others."""
    readings = draft.clocks.readings if draft.clocks else ()
    midnight = any(each.meridiem == "midnight" for each in readings)
    small_hours = draft.part_name == "night" and any(
        minute_of_day(each, "night") < DAY // 2 for each in readings
    )
    if isinstance(days, Daily) or (isinstance(days, MonthDays) and not small_hours):
        return
    if midnight or small_hours:
        raise Refusal(
            "ambiguous",
            "That night may be where the day begins or where it ends.",
            "Say 'at 00:00' for where it begins, or 'at 23:59'.",
        )
