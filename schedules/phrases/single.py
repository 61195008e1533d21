"""What is due once: the moment that a date, a weekday, a clock time or a length of time comes to."""

from __future__ import annotations

from calendar import monthrange
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo

from msgspec.structs import replace

from schedules.phrases.clocks import Reading, minute_of_day, told
from schedules.phrases.draft import Draft
from schedules.phrases.durations import SECONDS
from schedules.phrases.outcome import Refusal
from schedules.phrases.pieces import Ahead, ComingWeekday, OnDate, RelativeDay, Weekdays
from schedules.timing import Once
from schedules.timing.names import MONTHS, WEEKDAYS
from schedules.timing.wall import moment_of, wall_of

RECENT = timedelta(days=60)
"""A date without a year that passed so lately may well be meant as past."""

ASK_FOR_TIME = "at what time it is due"


def once(draft: Draft, now: datetime, zone: tzinfo) -> Once:
    """The one moment of the draft. Raises `Refusal`."""
    if draft.moment is not None:
        _alone(draft, "moment")
        at = draft.moment.at
        return at_moment(moment_of(at, zone) if at.tzinfo is None else at, now, zone)
    if draft.ahead is not None:
        return _ahead(draft, draft.ahead, now, zone)
    reading = one_clock(draft)
    day = _named_day(draft, reading, now, zone)
    if day is None:
        return _next_time(draft, reading, now, zone)
    if _is_midnight(draft, reading):
        if draft.relative is not None and draft.relative.word == "tonight":
            return at_wall(datetime.combine(day + timedelta(days=1), time()), now, zone)
        raise Refusal(
            "ambiguous",
            "Midnight may be where that day begins or where it ends.",
            f"Say {day} at 00:00, or at 23:59.",
        )
    minute = minute_of_day(reading, draft.part.name if draft.part else None)
    if draft.part is not None and draft.part.name == "night" and minute < 12 * 60:
        raise Refusal(
            "ambiguous", f"{told(reading)} that night may be of either day.", f"Say {day} at {told(reading)}."
        )
    return at_wall(datetime.combine(day, _time(minute)), now, zone)


def at_wall(wall: datetime, now: datetime, zone: tzinfo) -> Once:
    """The moment at which the wall clock shows that. Raises `Refusal` where it has passed."""
    return at_moment(moment_of(wall, zone), now, zone)


def at_moment(moment: datetime, now: datetime, zone: tzinfo) -> Once:
    """The moment, with the zone's offset. Raises `Refusal` where it has passed."""
    local = moment.astimezone(zone)
    if moment <= now:
        raise Refusal("past", f"{local:%Y-%m-%d %H:%M} has passed.", "Name a time in the future.")
    offset = local.utcoffset()
    assert offset is not None, "the zone knows its offset"
    return Once(local.replace(tzinfo=UTC if not offset else timezone(offset), fold=0))


def one_clock(draft: Draft) -> Reading:
    """The only time of day that was told. Raises `Refusal`."""
    if draft.clocks is None:
        raise incomplete(draft)
    if len(draft.clocks.readings) > 1:
        raise Refusal(
            "ambiguous",
            "Several times of one day are several runs.",
            "Say 'every day at 9 and 17', or name one time.",
        )
    return draft.clocks.readings[0]


def incomplete(draft: Draft) -> Refusal:
    """The refusal of a day without a time."""
    if draft.part is not None:
        name = draft.part.name
        hour = {"morning": "9", "afternoon": "15:00", "evening": "20:00", "night": "22:00"}[name]
        return Refusal(
            "incomplete", f"{name.capitalize()} is no exact time.", f"Say at what time, such as 'at {hour}'."
        )
    return Refusal(
        "incomplete",
        f"The sentence does not say {ASK_FOR_TIME}.",
        "Add a time, such as 'at 9' or 'at 14:30'.",
    )


def day_of(
    piece: OnDate | RelativeDay | ComingWeekday | Weekdays,
    today: date,
    reading_minutes: int | None,
    now_minutes: int,
) -> date:
    """The day that is meant, seen from today.

    The minutes since midnight, of the time that was told and of now, say whether today still counts.
    Raises `Refusal`.
    """
    match piece:
        case OnDate():
            return _dated(piece, today)
        case RelativeDay():
            return today + timedelta(days=piece.days)
        case ComingWeekday():
            return _coming(piece, today)
        case Weekdays():
            (weekday,) = piece.weekdays
            return _weekday(weekday, today, reading_minutes is None or reading_minutes > now_minutes)


def _alone(draft: Draft, place: str) -> None:
    """Raises `Refusal` where anything but a zone stands beside what says it all."""
    others = [
        name for name in Draft.__struct_fields__ if name not in {place, "zone"} and getattr(draft, name)
    ]
    if others:
        raise Refusal(
            "contradictory", "The sentence says twice when, and not the same.", "Leave one of both out."
        )


def _ahead(draft: Draft, ahead: Ahead, now: datetime, zone: tzinfo) -> Once:
    if ahead.number <= 0:
        raise Refusal(
            "impossible", "That is now, not later.", "Say in how many minutes, such as 'in 30 minutes'."
        )
    shown = wall_of(now, zone).replace(microsecond=0)
    days = {"day": 1, "week": 7}.get(ahead.unit)
    if ahead.unit in {"month", "year"}:
        wall = _months_ahead(shown, ahead)
    elif draft.clocks is None:
        _alone(draft, "ahead")
        seconds = ahead.number * SECONDS[ahead.unit]
        if seconds.denominator != 1 or seconds > 36_525 * 86_400:
            raise Refusal(
                "impossible", "That is no length of time that can be waited.", "Say 'in 30 minutes'."
            )
        return at_moment(now.replace(microsecond=0) + timedelta(seconds=int(seconds)), now, zone)
    elif days is None or ahead.number.denominator != 1 or ahead.number > 36_525:
        raise Refusal(
            "contradictory", "The sentence says twice when, and not the same.", "Leave one of both out."
        )
    else:
        wall = shown + timedelta(days=days * int(ahead.number))
    if draft.clocks is not None:
        _alone(replace(draft, clocks=None, part=None), "ahead")
        minute = minute_of_day(one_clock(draft), draft.part.name if draft.part else None)
        wall = datetime.combine(wall.date(), _time(minute))
    return at_wall(wall, now, zone)


def _months_ahead(shown: datetime, ahead: Ahead) -> datetime:
    if ahead.number.denominator != 1 or ahead.number > 1200:
        raise Refusal(
            "unknown", "Months and years are counted whole.", "Name the date, such as 2026-12-24 at 9:00."
        )
    months = shown.month - 1 + int(ahead.number) * (12 if ahead.unit == "year" else 1)
    year, month = shown.year + months // 12, months % 12 + 1
    if shown.day > monthrange(year, month)[1]:
        raise Refusal(
            "impossible", f"{MONTHS[month - 1]} has no day {shown.day}.", "Name the date, such as 2026-12-24."
        )
    return shown.replace(year=year, month=month)


def _named_day(draft: Draft, reading: Reading, now: datetime, zone: tzinfo) -> date | None:
    pieces = [each for each in (draft.date, draft.relative, draft.coming, draft.weekdays) if each is not None]
    if not pieces:
        return None
    if len(pieces) > 1:
        raise Refusal("contradictory", "The sentence names several days.", "Name one of them.")
    (piece,) = pieces
    shown = wall_of(now, zone)
    minutes = minute_of_day(reading, draft.part.name if draft.part else None)
    return day_of(piece, shown.date(), minutes, shown.hour * 60 + shown.minute)


def _is_midnight(draft: Draft, reading: Reading) -> bool:
    if reading.meridiem == "midnight":
        return True
    return draft.part is not None and draft.part.name == "night" and reading.hour == 12


def _next_time(draft: Draft, reading: Reading, now: datetime, zone: tzinfo) -> Once:
    """Today or tomorrow, whichever comes first."""
    minute = minute_of_day(reading, draft.part.name if draft.part else None)
    shown = wall_of(now, zone)
    wall = datetime.combine(shown.date(), _time(minute))
    if moment_of(wall, zone) > now:
        return at_wall(wall, now, zone)
    if reading.form != "exact" and draft.part is None and reading.hour <= 12:
        raise Refusal(
            "ambiguous",
            f"{told(reading)} has passed today; the evening or tomorrow may be meant.",
            f"Say 'tomorrow at {told(reading)}', or write the time with am or pm.",
        )
    return at_wall(wall + timedelta(days=1), now, zone)


def _dated(piece: OnDate, today: date) -> date:
    day = _next_such(piece, today) if piece.year is None else date(piece.year, piece.month, piece.day)
    if piece.weekday is not None and day.weekday() != piece.weekday:
        raise Refusal(
            "contradictory",
            f"{day} is a {WEEKDAYS[day.weekday()]}.",
            f"Leave out {WEEKDAYS[piece.weekday]}, or the date.",
        )
    return day


def _next_such(piece: OnDate, today: date) -> date:
    """The date's next time; refused where the one of this year has just passed."""
    days = [
        date(year, piece.month, piece.day)
        for year in range(today.year - 1, min(today.year + 9, date.max.year))
        if piece.day <= monthrange(year, piece.month)[1]
    ]
    coming = next((day for day in days if day >= today), None)
    if coming is None or any(timedelta() < today - day <= RECENT for day in days):
        raise Refusal(
            "past",
            f"{MONTHS[piece.month - 1]} {piece.day} has passed.",
            f"Add the year, such as {today.year + 1}.",
        )
    return coming


def _coming(piece: ComingWeekday, today: date) -> date:
    monday = today - timedelta(days=today.weekday())
    this_week = monday + timedelta(days=piece.weekday)
    nearest = today + timedelta(days=(piece.weekday - today.weekday() - 1) % 7 + 1)
    match piece.which:
        case "this":
            if this_week < today:
                raise Refusal(
                    "past", f"This week's {WEEKDAYS[piece.weekday]} has passed.", f"Say {nearest} at 9:00."
                )
            return this_week
        case "coming":
            return nearest
        case "next week":
            return this_week + timedelta(days=7)
        case _:
            if nearest != this_week + timedelta(days=7):
                raise Refusal(
                    "ambiguous",
                    f"Next {WEEKDAYS[piece.weekday]} may be {nearest} or {nearest + timedelta(days=7)}.",
                    "Name the date.",
                )
            return nearest


def _weekday(weekday: int, today: date, ahead: bool) -> date:
    days = (weekday - today.weekday()) % 7
    if days == 0 and ahead:
        raise Refusal(
            "ambiguous",
            f"Today is {WEEKDAYS[weekday]}: it may be meant, or that in a week.",
            f"Say 'today', or {today + timedelta(days=7)}.",
        )
    return today + timedelta(days=days or 7)


def _time(minute: int) -> time:
    return time(*divmod(minute, 60))
