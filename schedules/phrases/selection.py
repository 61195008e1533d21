"""Chooses the intended timings of a sentence with several, and resolves them in a zone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from schedules.phrases.draft import OnDate, RelativeDay, TimingDraft, merged
from schedules.phrases.guards import check_mentions
from schedules.phrases.once import no_time, resolve_once
from schedules.phrases.outcome import (
    Refusal,
    ambiguous,
    contradictory,
    exclusive,
    incomplete,
    not_understood,
    past,
)
from schedules.phrases.recurrence import resolve_recurrence
from schedules.phrases.scan import Cluster, PhraseScan
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
    yearly = any(length is not None and length.unit == "year" for length in (draft.step, draft.runs))
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
    halves = [_halves(sentence, cluster, at, now, zone) for at in range(1, len(cluster.items))]
    joined = [reading for reading in halves if reading is not None]
    return joined[0] if len({reading.timing for reading in joined}) == 1 else None


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


ADDITIONS = frozenset(["starting", "until", "exception", "zone", "months"])
"""Parts that belong to any timing of the sentence."""


class SelectedTiming(NamedTuple):
    """The clusters of the timing, and its resolved value."""

    used: tuple[Cluster, ...]
    resolved: ResolvedTiming


def select(sentence: Sentence, phrases: PhraseScan, now: datetime, zone: str) -> SelectedTiming:
    """The clusters of the intended timing. Raises `Refusal` if that is not clear."""
    timings = list(phrases.timings)
    if not timings:
        raise no_time(phrases.days[0].merged)
    if len(timings) > 1:
        timings = _without_described(sentence, timings)
    if len(timings) == 1:
        _refuse_described(sentence, timings[0])
        timings += _day_beside(timings[0], phrases.days)
    elif len(timings) > 2 or phrases.days or not _complement(sentence, *timings):
        raise _several(sentence, timings)
    timings.sort(key=lambda cluster: cluster.start)
    return SelectedTiming(tuple(timings), _resolved(sentence, timings, phrases.mentions, now, zone))


def _resolved(
    sentence: Sentence, timings: list[Cluster], mentions: Sequence[Cluster], now: datetime, zone: str
) -> ResolvedTiming:
    """What the clusters come to together. Raises `Refusal`."""
    try:
        draft = merged(draft for cluster in timings for draft in cluster.drafts)
    except Refusal:
        joined = join(sentence, timings[0], now, zone) if len(timings) == 1 else None
        if joined is None:
            raise
        return joined
    for cluster in timings:
        check_mentions(sentence, cluster, mentions, draft)
        _refuse_parted(sentence, cluster)
    try:
        return resolve(draft, now, zone)
    except Refusal as refusal:
        end = timings[-1].end
        if refusal.refused.kind == "incomplete" and sentence.match("at | @ | from | around", end):
            raise not_understood(sentence.shown(timings[-1].start, end + 3)) from refusal
        raise


def _refuse_parted(sentence: Sentence, cluster: Cluster) -> None:
    """Raises `Refusal` for `every day at 9 and at 17 on Fridays`: the Fridays may belong to one time only."""
    for number, item in enumerate(cluster.items):
        before, after = Cluster(cluster.items[: number or 1]), Cluster(cluster.items[number:])
        named_again = any(sentence.match("<at>", at) for at in range(item.start + 1, item.end))
        weekdays = any(other.draft.weekdays for other in after.items[1:])
        if number and named_again and "step" in before.names and weekdays:
            raise ambiguous(
                f"{sentence.shown(item.start, cluster.end)!r} leaves open to which time the days belong.",
                "Say 'every Friday at 9 and 17', or ask for one timing at a time.",
            )


def _without_described(sentence: Sentence, timings: list[Cluster]) -> list[Cluster]:
    """The timings without those that say when a meeting is, where one other names day and time."""
    described = [timing for timing in timings if sentence.match("<event>", timing.start - 1)]
    others = [timing for timing in timings if timing not in described]
    if len(others) != 1 or others[0].is_time_alone:
        return timings
    draft = others[0].merged
    return others if draft.names_day and draft.names_time else timings


def _day_beside(timing: Cluster, days: tuple[Cluster, ...]) -> list[Cluster]:
    """The day that a lone time of day belongs to. Raises `Refusal` where a day contradicts the timing."""
    if timing.is_time_alone and len(days) == 1:
        return [days[0]]
    for day in days:
        relative = [draft.day.word for draft in day.drafts if isinstance(draft.day, RelativeDay)]
        all_relative = len(relative) == len(day.drafts) and day.names == {"day"}
        today = all_relative and set(relative) == {"today"}
        if not today and not (all_relative and timing.merged.repeats and day.start > timing.end):
            raise contradictory(
                "The sentence names several days.",
                "Ask for one timing at a time, such as 'every day at 9'.",
            )
    return []


def _complement(sentence: Sentence, one: Cluster, other: Cluster) -> bool:
    """Whether both are parts of one timing. Raises `Refusal` where the time is rather that of a meeting."""
    for first, second in ((one, other), (other, one)):
        draft, more = first.merged, second.merged
        if second.names <= ADDITIONS:
            return True
        often = first.names == {"step"} and not draft.names_time
        if often and more.step is None and more.names_day and more.names_time:
            return True
        if draft.names_day and not draft.names_time and second.is_time_alone:
            if sentence.match("<event>", second.start - 1):
                raise _described(sentence, second)
            return True
        if _restricts_step(draft, more):
            return True
    return False


def _restricts_step(draft: TimingDraft, more: TimingDraft) -> bool:
    """Whether `every 30 minutes` is restricted to days, or to a window, that are named elsewhere."""
    if draft.small_step is None or draft.named & {"window", "weekdays"} or more.step is not None:
        return False
    if more.weekdays is not None and not more.names_time:
        return more.weekdays.repeats is True
    return more.window is not None


def _refuse_described(sentence: Sentence, timing: Cluster) -> None:
    """Raises `Refusal` for `Remind me of the meeting tomorrow at 3`, which may be when the meeting is."""
    words = {sentence.text(at) for at in range(timing.start)}
    reminds = words & {"remind", "notify", "tell", "alert", "ping"} and words & {"of", "about"}
    frequent = sentence.match("every | each | daily | weekly | monthly", timing.start)
    if reminds and not frequent and sentence.match("<event>", timing.start - 1):
        raise _described(sentence, timing)


def _described(sentence: Sentence, timing: Cluster) -> Refusal:
    event, shown = sentence.raw(timing.start - 1), sentence.shown(timing.start, timing.end)
    return ambiguous(
        f"{shown!r} may be when the {event} is, or when to act.",
        f"Put the timing first: '{shown} remind me of the {event}'.",
    )


def _several(sentence: Sentence, timings: list[Cluster]) -> Refusal:
    shown = " and ".join(repr(sentence.shown(timing.start, timing.end)) for timing in timings)
    return contradictory(
        f"The sentence says several times when: {shown}.", "Ask for one timing; put other times in quotes."
    )
