"""Which kind of timing the pieces of a sentence come to, and in which zone."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

from schedules.phrases.draft import Draft
from schedules.phrases.outcome import Refusal
from schedules.phrases.recurring import recurring
from schedules.phrases.single import once
from schedules.phrases.zones import refuse_other_season
from schedules.timing import Timing
from schedules.timing.wall import wall_of


class Decided(NamedTuple):
    """A timing, and the name of the zone that it is read in."""

    timing: Timing
    zone: str


def decide(draft: Draft, now: datetime, default: str) -> Decided:
    """What the draft comes to, seen from `now`; `default` is the zone where it has none. Raises `Refusal`."""
    if draft.past is not None:
        raise Refusal("past", f"{draft.past.words!r} is past.", "Name a time in the future.")
    if draft.vague is not None:
        raise Refusal(
            "incomplete", f"{draft.vague.words!r} is not exact enough.", f"Say {draft.vague.proposal}."
        )
    name = draft.zone.name if draft.zone else default
    zone = ZoneInfo(name)
    _refuse_other_day(draft, now, zone, ZoneInfo(default))
    if _is_once(draft):
        _refuse_bounds(draft)
        timing: Timing = once(draft, now, zone)
    else:
        timing = recurring(draft, now, zone)
    if draft.zone is not None:
        refuse_other_season(draft.zone, timing, now)
    return Decided(timing, name)


def _is_once(draft: Draft) -> bool:
    if draft.moment is not None or draft.ahead is not None:
        return True
    repeats = draft.repeats
    if draft.weekdays is not None and draft.weekdays.repeats is False and not draft.weekdays.every > 1:
        repeats = any(
            (draft.step, draft.month_rule, draft.months, draft.times, draft.past_hour, draft.window)
        )
        repeats = repeats or (draft.part is not None and draft.part.repeats)
    day = (draft.relative, draft.coming, draft.date if draft.date and not draft.date.yearly else None)
    yearly = (draft.step and draft.step.unit == "year") or (draft.times and draft.times.unit == "year")
    if any(day) and repeats and not (draft.date and yearly):
        raise Refusal(
            "contradictory", "One day and a repetition exclude each other.", "Leave one of both out."
        )
    return not repeats


def _refuse_bounds(draft: Draft) -> None:
    if draft.starting is not None or draft.until is not None or draft.exception is not None:
        raise Refusal(
            "incomplete",
            "The sentence says from or until when, but not how often.",
            "Say 'every day at 9 starting tomorrow'.",
        )


def _refuse_other_day(draft: Draft, now: datetime, zone: ZoneInfo, default: ZoneInfo) -> None:
    """Today and tomorrow mean nothing certain where the zones have different dates."""
    told_from_today = (
        draft.relative,
        draft.coming,
        draft.weekdays if draft.weekdays and not draft.repeats else None,
    )
    if any(told_from_today) and wall_of(now, zone).date() != wall_of(now, default).date():
        raise Refusal(
            "ambiguous",
            f"In {zone.key} it is {wall_of(now, zone).date()} at the moment, here it is not.",
            "Name the date.",
        )
