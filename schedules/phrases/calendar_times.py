"""At which times of its days a calendar is due: named times, or steps through a window."""

from __future__ import annotations

from itertools import pairwise

from schedules.phrases.clock_times import Reading, minute_of_day
from schedules.phrases.draft import Length, PastHour, TimeWindow, TimingDraft
from schedules.phrases.once import no_time
from schedules.phrases.outcome import Refusal, ambiguous, contradictory, exclusive, impossible, incomplete
from schedules.phrases.vocabulary import DayPart
from schedules.timing import At, Daily, Days, Every, MonthDays, Times
from schedules.timing.values import DAY


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
    return At(tuple(sorted({minute_of_day(each, draft.part_name) for each in draft.clocks})))


def no_window(part: DayPart) -> Refusal:
    """The refusal of `every 10 minutes in the morning`."""
    return incomplete(f"{part!r} is no exact window.", "Say 'between 9 and 12'.")


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
        raise ambiguous(f"A day is no whole number of {minutes} minutes.", proposal)
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
    midnight = any(each.meridiem == "midnight" for each in draft.clocks)
    small_hours = draft.part_name == "night" and any(
        minute_of_day(each, "night") < DAY // 2 for each in draft.clocks
    )
    clear = isinstance(days, Daily) or (isinstance(days, MonthDays) and not small_hours)
    if (midnight or small_hours) and not clear:
        raise ambiguous(
            "That night may be where the day begins or where it ends.",
            "Say 'at 00:00' for where it begins, or 'at 23:59'.",
        )
