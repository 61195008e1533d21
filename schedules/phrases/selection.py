"""Chooses the intended timings of a sentence with several."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from schedules.phrases.draft import RelativeDay, TimingDraft, merged
from schedules.phrases.guards import check_mentions
from schedules.phrases.once import no_time
from schedules.phrases.outcome import Refusal, ambiguous, contradictory, not_understood
from schedules.phrases.resolution import ResolvedTiming, join, resolve
from schedules.phrases.scan import Cluster, PhraseScan
from schedules.phrases.tokens import Sentence

ADDITIONS = frozenset(["starting", "until", "exception", "zone", "months"])
"""Parts that belong to any timing of the sentence."""


class SelectedTiming(NamedTuple):
    """The clusters of the timing, and its resolved value."""

    used: tuple[Cluster, ...]
    resolved: ResolvedTiming


def select(sentence: Sentence, found: PhraseScan, now: datetime, zone: str) -> SelectedTiming:
    """The clusters of the intended timing. Raises `Refusal` if that is not clear."""
    timings = list(found.timings)
    if not timings:
        raise no_time(found.days[0].merged)
    if len(timings) > 1:
        timings = _without_described(sentence, timings)
    if len(timings) == 1:
        _refuse_described(sentence, timings[0])
        timings += _day_beside(timings[0], found.days)
    elif len(timings) > 2 or found.days or not _complement(sentence, *timings):
        raise _several(sentence, timings)
    timings.sort(key=lambda cluster: cluster.start)
    return SelectedTiming(tuple(timings), _resolved(sentence, timings, found.mentions, now, zone))


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
        weekdays = any(each.draft.weekdays for each in after.items[1:])
        if number and named_again and "step" in before.names and weekdays:
            raise ambiguous(
                f"{sentence.shown(item.start, cluster.end)!r} leaves open to which time the days belong.",
                "Say 'every Friday at 9 and 17', or ask for one timing at a time.",
            )


def _without_described(sentence: Sentence, timings: list[Cluster]) -> list[Cluster]:
    """The timings without those that say when a meeting is, where one other names day and time."""
    described = [each for each in timings if sentence.match("<event>", each.start - 1)]
    others = [each for each in timings if each not in described]
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
    shown = " and ".join(repr(sentence.shown(each.start, each.end)) for each in timings)
    return contradictory(
        f"The sentence says several times when: {shown}.", "Ask for one timing; put other times in quotes."
    )
