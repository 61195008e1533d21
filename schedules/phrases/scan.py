"""Finds the timing in a sentence: clusters of timing, and times that belong to the task."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from schedules.phrases import dates, day_times, month_days, repetition, weekdays, zones
from schedules.phrases.draft import TimingDraft, merged
from schedules.phrases.rules import read_first
from schedules.phrases.tokens import Sentence
from schedules.phrases.vocabulary import WORDS

RULES = (
    *repetition.RULES,
    *weekdays.EXCEPTIONS,
    *dates.DATE_RULES,
    *month_days.RULES,
    *weekdays.RULES,
    *dates.RELATIVE_RULES,
    *dates.RULES,
    *day_times.RULES,
    *dates.MONTH_RULES,
    *zones.RULES,
)
"""The whole grammar: the first rule that reads something at a place wins."""

FILLERS = "sharp | exactly | precisely | on the dot | promptly | only"


class ClusterItem(NamedTuple):
    """What a rule read from token `start` to before `end`."""

    draft: TimingDraft
    start: int
    end: int
    firm: bool


class Cluster(NamedTuple):
    """A run of items with only connecting words between them."""

    items: tuple[ClusterItem, ...]

    @property
    def start(self) -> int:
        """The first token."""
        return self.items[0].start

    @property
    def end(self) -> int:
        """The place after the last token."""
        return self.items[-1].end

    @property
    def drafts(self) -> tuple[TimingDraft, ...]:
        """What the items say, in their order."""
        return tuple(item.draft for item in self.items)

    @property
    def merged(self) -> TimingDraft:
        """What the items say together. Raises `Refusal` where they differ."""
        return merged(self.drafts)

    @property
    def names(self) -> frozenset[str]:
        """The parts of a timing that any item names."""
        return frozenset().union(*(draft.named for draft in self.drafts))

    @property
    def is_timing(self) -> bool:
        """Whether it can hardly be anything but a timing: something firm, or a day with a time."""
        return any(item.firm for item in self.items) or (self.has_day and "clocks" in self.names)

    @property
    def has_day(self) -> bool:
        """Whether it names a day."""
        return bool(self.names & {"day", "weekdays"})

    @property
    def is_time_alone(self) -> bool:
        """Whether it only names a time of day."""
        alone = self.names <= {"clocks", "zone", "part"}
        return "clocks" in self.names and alone and not any(draft.part_repeats for draft in self.drafts)

    def holds(self, at: int) -> bool:
        """Whether the token is a part of it."""
        return self.start <= at < self.end


class PhraseScan(NamedTuple):
    """The clusters of a sentence: timings, bare days, and mentions that belong to the task."""

    timings: tuple[Cluster, ...]
    days: tuple[Cluster, ...]
    mentions: tuple[Cluster, ...]

    @property
    def used(self) -> tuple[Cluster, ...]:
        """Timings and days, in the order of the sentence."""
        return tuple(sorted((*self.timings, *self.days), key=lambda cluster: cluster.start))


def scan(sentence: Sentence) -> PhraseScan:
    """What the sentence says about when. Raises `Refusal` where a part of it is impossible or ambiguous."""
    governed: list[Cluster] = []
    clusters: list[Cluster] = []
    for item, is_governed in _items(sentence):
        if is_governed:
            governed.append(Cluster((item,)))
        elif clusters and _connected(sentence, clusters[-1].end, item.start):
            clusters[-1] = Cluster((*clusters[-1].items, item))
        else:
            clusters.append(Cluster((item,)))
    others = [cluster for cluster in clusters if not cluster.is_timing]
    return PhraseScan(
        tuple(cluster for cluster in clusters if cluster.is_timing),
        tuple(cluster for cluster in others if cluster.has_day),
        tuple(governed + [cluster for cluster in others if not cluster.has_day]),
    )


def _items(sentence: Sentence) -> Iterator[tuple[ClusterItem, bool]]:
    at, last_end, leads = 0, -1, True
    while at < len(sentence):
        led = last_end >= 0 and _connected(sentence, last_end, at)
        reading = read_first(RULES, sentence, at, led=led, leads=leads)
        if reading is None:
            leads = bool(sentence.match("`[:.!?]`" if not leads else "`[:.!?]` | <polite>", at))
            at += 1
            continue
        end = sentence.skip(reading.end, FILLERS)
        governed = not reading.firm and _is_governed(sentence, at)
        leads = leads and not governed
        start = at - 1 if sentence.text(at - 1) in {"only", "just"} and last_end != at else at
        yield ClusterItem(reading.draft, start, end, reading.firm), governed
        last_end = -1 if governed else end
        at = end


def _connected(sentence: Sentence, end: int, start: int) -> bool:
    return all(sentence.match("<connector>", at) for at in range(end, start))


def _is_governed(sentence: Sentence, at: int) -> bool:
    before = sentence.text(at - 1)
    if before == "for" and sentence.match("<reminder>", at - 2):
        return False
    return before in WORDS["governor"] or (sentence.text(at) == "today" and before in WORDS["happened"])
