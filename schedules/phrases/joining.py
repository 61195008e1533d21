"""Two timings joined by `and` that are one: `every morning at 9 and every evening at 6`."""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from schedules.phrases.clusters import Cluster
from schedules.phrases.deciding import Decided, decide
from schedules.phrases.draft import Draft, drafted
from schedules.phrases.outcome import Refusal
from schedules.phrases.tokens import Sentence
from schedules.timing import At, Calendar, Weekly

JOINTS = frozenset([",", "and", ";", "&"])


def joined(sentence: Sentence, cluster: Cluster, now: datetime, zone: str) -> tuple[Draft, Decided] | None:
    """The one calendar that both halves of the cluster come to; null where there is not one."""
    found = [
        one
        for at in range(1, len(cluster.items))
        if (one := _halves(sentence, cluster, at, now, zone)) is not None
    ]
    return found[0] if len({decided.timing for _, decided in found}) == 1 else None


def _halves(
    sentence: Sentence, cluster: Cluster, at: int, now: datetime, zone: str
) -> tuple[Draft, Decided] | None:
    first, second = Cluster(cluster.items[:at]), Cluster(cluster.items[at:])
    if not any(sentence.text(between) in JOINTS for between in range(first.end, second.start)):
        return None
    try:
        draft = drafted(first.pieces)
        one, other = decide(draft, now, zone), decide(drafted(second.pieces), now, zone)
    except Refusal:
        return None
    if (
        one.zone != other.zone
        or not isinstance(one.timing, Calendar)
        or not isinstance(other.timing, Calendar)
    ):
        return None
    both = _both(one.timing, other.timing)
    return None if both is None else (draft, Decided(both, one.zone))


def _both(one: Calendar, other: Calendar) -> Calendar | None:
    """One calendar for two that differ only in their times, or only in their weekdays."""
    if one.days.every != 1:
        return None
    if replace(one, times=other.times) == other and isinstance(one.times, At) and isinstance(other.times, At):
        return replace(one, times=At(tuple(sorted({*one.times.minutes, *other.times.minutes}))))
    if (
        replace(one, days=other.days) == other
        and isinstance(one.days, Weekly)
        and isinstance(other.days, Weekly)
    ):
        return replace(one, days=Weekly(tuple(sorted({*one.days.weekdays, *other.days.weekdays}))))
    return None
