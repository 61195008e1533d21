"""Which of the timings in a sentence are meant, where several stand in it, and what they come to."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from schedules.phrases.clusters import Cluster, Scan
from schedules.phrases.deciding import Decided, decide
from schedules.phrases.draft import Draft, drafted
from schedules.phrases.guards import check_mentions, not_known
from schedules.phrases.joining import joined
from schedules.phrases.outcome import Refusal
from schedules.phrases.pieces import Except, Months, RelativeDay, Starting, Step, Until, Weekdays, Zone
from schedules.phrases.single import incomplete
from schedules.phrases.tokens import Sentence, word_set

EVENTS = word_set(
    "meeting call appointment standup stand-up event flight train bus lunch dinner breakfast deadline "
    "class lesson interview session concert game match show party exam lecture webinar demo review retro "
    "sync reservation booking visit conference workshop dentist doctor ceremony wedding"
)
"""Things that have a time of their own."""


class Chosen(NamedTuple):
    """The clusters that are the timing, and what they come to."""

    used: tuple[Cluster, ...]
    draft: Draft
    decided: Decided


def choose(sentence: Sentence, found: Scan, now: datetime, zone: str) -> Chosen:
    """The clusters that are meant as the timing. Raises `Refusal` where that is not clear."""
    timings = list(found.timings)
    if not timings:
        raise incomplete(drafted(found.days[0].pieces))
    if len(timings) > 1:
        timings = _without_described(sentence, timings)
    if len(timings) == 1:
        _refuse_described(sentence, timings[0])
        timings += _days_beside(timings[0], found.days)
    elif len(timings) > 2 or found.days or not _complement(sentence, *timings):
        raise _several(sentence, timings)
    timings.sort(key=lambda cluster: cluster.start)
    return _put_together(sentence, timings, found.mentions, now, zone)


def _put_together(
    sentence: Sentence, timings: list[Cluster], mentions: Sequence[Cluster], now: datetime, zone: str
) -> Chosen:
    try:
        draft = drafted(piece for cluster in timings for piece in cluster.pieces)
    except Refusal:
        both = joined(sentence, timings[0], now, zone) if len(timings) == 1 else None
        if both is None:
            raise
        return Chosen(tuple(timings), *both)
    for cluster in timings:
        check_mentions(sentence, cluster, mentions, draft)
        _refuse_parted(sentence, cluster)
    return Chosen(tuple(timings), draft, _decided(sentence, timings, draft, now, zone))


def _refuse_parted(sentence: Sentence, cluster: Cluster) -> None:
    """`Every day at 9 and at 17 on Fridays`: on Fridays alone, or at 17 on Fridays alone?"""
    for number, item in enumerate(cluster.items):
        before, behind = Cluster(cluster.items[:number]), Cluster(cluster.items[number + 1 :])
        told_again = any(sentence.text(at) in {"at", "@"} for at in range(item.start + 1, item.end))
        daily = any(isinstance(piece, Step) for piece in before.pieces)
        if told_again and daily and any(isinstance(piece, Weekdays) for piece in behind.pieces):
            raise Refusal(
                "ambiguous",
                f"{sentence.shown(item.start, behind.end)!r} leaves open to which time the days belong.",
                "Say 'every Friday at 9 and 17', or ask for one timing at a time.",
            )


def _decided(
    sentence: Sentence, timings: Sequence[Cluster], draft: Draft, now: datetime, zone: str
) -> Decided:
    try:
        return decide(draft, now, zone)
    except Refusal as refusal:
        at = timings[-1].end
        if refusal.refused.kind == "incomplete" and sentence.text(at) in {"at", "@", "from", "around"}:
            raise not_known(sentence.shown(timings[-1].start, min(at + 3, len(sentence)))) from refusal
        raise


def _without_described(sentence: Sentence, timings: list[Cluster]) -> list[Cluster]:
    """The timings without those that say when a meeting is, where another one says all."""
    described = [each for each in timings if sentence.text(each.start - 1) in EVENTS]
    others = [each for each in timings if each not in described]
    if len(others) != 1 or others[0].is_time_alone:
        return timings
    draft = drafted(others[0].pieces)
    return others if draft.names_day and draft.names_time else timings


def _days_beside(timing: Cluster, days: tuple[Cluster, ...]) -> list[Cluster]:
    """The day that a lone time of day belongs to. Raises `Refusal` where a day contradicts the timing."""
    if timing.is_time_alone and len(days) == 1:
        return [days[0]]
    repeats = bool(days) and drafted(timing.pieces).repeats
    for day in days:
        today = all(isinstance(piece, RelativeDay) and piece.word == "today" for piece in day.pieces)
        tomorrow = (
            all(isinstance(piece, RelativeDay) for piece in day.pieces) and repeats and day.start > timing.end
        )
        if not today and not tomorrow:
            raise Refusal(
                "contradictory",
                "The sentence names several days.",
                "Ask for one timing at a time, such as 'every day at 9'.",
            )
    return []


def _complement(sentence: Sentence, one: Cluster, other: Cluster) -> bool:
    """Whether both are parts of one timing. Raises `Refusal` where the time is rather that of a meeting."""
    for first, second in ((one, other), (other, one)):
        told, more = drafted(first.pieces), drafted(second.pieces)
        if all(isinstance(piece, Starting | Until | Except | Zone | Months) for piece in second.pieces):
            return True
        often = all(isinstance(piece, Step) for piece in first.pieces) and not told.names_time
        if often and more.step is None and more.names_day and more.names_time:
            return True
        if told.names_day and not told.names_time and second.is_time_alone:
            if sentence.text(second.start - 1) in EVENTS:
                raise _described(sentence, second)
            return True
        if _step_complements(told, more):
            return True
    return False


def _step_complements(told: Draft, more: Draft) -> bool:
    """Whether `every 30 minutes` is kept to days, or to a window, that are named elsewhere."""
    if (
        told.small_step is None
        or told.window is not None
        or told.weekdays is not None
        or more.step is not None
    ):
        return False
    if more.weekdays is not None and not more.names_time:
        return more.weekdays.repeats is True
    return more.window is not None


def _refuse_described(sentence: Sentence, timing: Cluster) -> None:
    """`Remind me of the meeting tomorrow at 3`: when to remind, or when the meeting is?"""
    if sentence.text(timing.start) in {"every", "each", "daily", "weekly", "monthly"}:
        return
    reminded = any(
        sentence.text(at) in {"remind", "notify", "tell", "alert", "ping"} for at in range(timing.start)
    )
    about = any(sentence.text(at) in {"of", "about"} for at in range(timing.start))
    if reminded and about and sentence.text(timing.start - 1) in EVENTS:
        raise _described(sentence, timing)


def _described(sentence: Sentence, timing: Cluster) -> Refusal:
    event = sentence.raw(timing.start - 1)
    return Refusal(
        "ambiguous",
        f"{sentence.shown(timing.start, timing.end)!r} may be when the {event} is, or when to act.",
        f"Put the timing first: '{sentence.shown(timing.start, timing.end)} remind me of the {event}'.",
    )


def _several(sentence: Sentence, timings: list[Cluster]) -> Refusal:
    shown = " and ".join(repr(sentence.shown(each.start, each.end)) for each in timings)
    return Refusal(
        "contradictory",
        f"The sentence says several times when: {shown}.",
        "Ask for one timing; put other times in quotes.",
    )
