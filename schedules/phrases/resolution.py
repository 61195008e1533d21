"""Resolves a draft to a timing in a zone, and joins two halves that are one calendar."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from schedules.phrases.draft import OnDate, TimingDraft
from schedules.phrases.once import resolve_once
from schedules.phrases.outcome import Refusal, ambiguous, exclusive, incomplete, past
from schedules.phrases.recurrence import resolve_recurrence
from schedules.phrases.scan import Cluster
from schedules.phrases.tokens import Sentence
from schedules.phrases.zones import refuse_other_season
from schedules.timing import At, Calendar, Timing, Weekly
from schedules.timing.wall import wall_of

JOINTS = frozenset([",", "and", ";", "&"])


class ResolvedTiming(NamedTuple):
    """A timing, the name of the zone that it is read in, and the draft that it comes from."""

    timing: Timing
    zone: str
    draft: TimingDraft


def resolve(draft: TimingDraft, now: datetime, default: str) -> ResolvedTiming:
    """What the draft comes to at `now`; `default` is the zone where it names none. Raises `Refusal`."""
    if draft.past:
        raise past(f"{draft.past!r} is past.", "Name a time in the future.")
    if draft.vague is not None:
        raise incomplete(f"{draft.vague.words!r} is not exact enough.", f"Say {draft.vague.proposal}.")
    name = draft.zone.name if draft.zone else default
    zone = ZoneInfo(name)
    _refuse_other_day(draft, now, zone, ZoneInfo(default))
    timing: Timing
    if _is_once(draft):
        if draft.named & {"starting", "until", "exception"}:
            raise incomplete(
                "The sentence says from or until when, but not how often.",
                "Say 'every day at 9 starting tomorrow'.",
            )
        timing = resolve_once(draft, now, zone)
    else:
        timing = resolve_recurrence(draft, now, zone)
    if draft.zone is not None:
        refuse_other_season(draft.zone, timing, now)
    return ResolvedTiming(timing, name, draft)


def _is_once(draft: TimingDraft) -> bool:
    if draft.named & {"moment", "ahead"}:
        return True
    repeats = draft.repeats
    yearly = any(each is not None and each.unit == "year" for each in (draft.step, draft.runs))
    yearly_date = isinstance(draft.day, OnDate) and yearly
    if draft.day is not None and not draft.is_yearly and repeats and not yearly_date:
        raise exclusive("One day", "a repetition")
    return not repeats


def _refuse_other_day(draft: TimingDraft, now: datetime, zone: ZoneInfo, default: ZoneInfo) -> None:
    """Raises `Refusal` for today and tomorrow where it is another day in the named zone."""
    relative = draft.day is not None and not isinstance(draft.day, OnDate)
    weekday = draft.weekdays is not None and not draft.repeats
    there, here = wall_of(now, zone).date(), wall_of(now, default).date()
    if (relative or weekday) and there != here:
        raise ambiguous(f"In {zone.key} it is {there} at the moment, here it is not.", "Name the date.")


def join(sentence: Sentence, cluster: Cluster, now: datetime, zone: str) -> ResolvedTiming | None:
    """The one calendar of `every morning at 9 and every evening at 6`; None where there is not one."""
    found = [_halves(sentence, cluster, at, now, zone) for at in range(1, len(cluster.items))]
    joined = [each for each in found if each is not None]
    return joined[0] if len({each.timing for each in joined}) == 1 else None


def _halves(sentence: Sentence, cluster: Cluster, at: int, now: datetime, zone: str) -> ResolvedTiming | None:
    """The calendar of the items before that one and of the others."""
    first, second = Cluster(cluster.items[:at]), Cluster(cluster.items[at:])
    if not any(sentence.text(between) in JOINTS for between in range(first.end, second.start)):
        return None
    try:
        one, other = resolve(first.merged, now, zone), resolve(second.merged, now, zone)
    except Refusal:
        return None
    if one.zone != other.zone:
        return None
    timing = _one_calendar(one.timing, other.timing)
    return ResolvedTiming(timing, one.zone, one.draft) if timing else None


def _one_calendar(one: Timing, other: Timing) -> Calendar | None:
    """One calendar for two that differ only in their times, or only in their weekdays."""
    if not isinstance(one, Calendar) or not isinstance(other, Calendar) or one.days.every != 1:
        return None
    match one.times, other.times:
        case At(), At() if replace(one, times=other.times) == other:
            return replace(one, times=At(tuple(sorted({*one.times.minutes, *other.times.minutes}))))
    match one.days, other.days:
        case Weekly(), Weekly() if replace(one, days=other.days) == other:
            return replace(one, days=Weekly(tuple(sorted({*one.days.weekdays, *other.days.weekdays}))))
    return None
