"""Finds what a sentence says about when: runs of pieces, and mentions of times that belong to the task."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from schedules.phrases.adverbs import read_adverb, read_times_per
from schedules.phrases.bounds import read_ahead, read_months, read_starting, read_until
from schedules.phrases.dates import read_date, read_relative
from schedules.phrases.months import read_month_rule
from schedules.phrases.pieces import (
    Clocks,
    ComingWeekday,
    Found,
    OnDate,
    Part,
    Piece,
    RelativeDay,
    Weekdays,
    Zone,
)
from schedules.phrases.repeating import read_every, read_except, read_weekdays
from schedules.phrases.times import read_clocks, read_part, read_past_hour, read_window
from schedules.phrases.tokens import Sentence, word_set
from schedules.phrases.words import REMINDERS
from schedules.phrases.zones import read_zone

CONNECTORS = word_set(", and ; ( ) - : once only just")
FILLERS = ("sharp", "exactly", "precisely", "on the dot", "promptly", "only")
GOVERNORS = word_set(
    "the a an my our your his her their its of for about since than before after by until till due from "
    "with last past previous around approximately roughly within over per as re regarding 's this"
)
"""Words that make the time behind them part of what is to be done: `the 9am standup`, `news of today`."""

HAPPENED = word_set("happened did done changed arrived learned new due")
"""Words behind which `today` says of what, not when: `what happened today`."""

POLITE = word_set("please hi hey hello ok okay hermes can could would will you and then , : ; . ! - so")
BEGINNINGS = frozenset([":", ".", "!", "?"])
"""Marks behind which something begins anew."""

DAY_PIECES = (OnDate, RelativeDay, ComingWeekday, Weekdays)


class Item(NamedTuple):
    """Words that are pieces, from token `start` to before `end`."""

    pieces: tuple[Piece, ...]
    start: int
    end: int
    firm: bool


class Cluster(NamedTuple):
    """A run of items with nothing but connecting words between them."""

    items: tuple[Item, ...]

    @property
    def start(self) -> int:
        """The first token."""
        return self.items[0].start

    @property
    def end(self) -> int:
        """The place behind the last token."""
        return self.items[-1].end

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """All pieces, in their order."""
        return tuple(piece for item in self.items for piece in item.pieces)

    @property
    def is_timing(self) -> bool:
        """Whether it can hardly be anything but a timing: something firm, or a day with a time."""
        return any(item.firm for item in self.items) or (self.has_day and self._has(Clocks))

    @property
    def has_day(self) -> bool:
        """Whether it names a day."""
        return self._has(*DAY_PIECES)

    @property
    def is_time_alone(self) -> bool:
        """Whether it says nothing but at what time of day."""
        return self._has(Clocks) and all(
            isinstance(piece, Clocks | Zone) or (isinstance(piece, Part) and not piece.repeats)
            for piece in self.pieces
        )

    def _has(self, *kinds: type) -> bool:
        return any(isinstance(piece, kinds) for piece in self.pieces)


class Scan(NamedTuple):
    """What in a sentence speaks of time: timings, bare days, and mentions that belong to the task."""

    timings: tuple[Cluster, ...]
    days: tuple[Cluster, ...]
    mentions: tuple[Cluster, ...]


def scan(sentence: Sentence) -> Scan:
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
    timings = tuple(cluster for cluster in clusters if cluster.is_timing)
    others = [cluster for cluster in clusters if not cluster.is_timing]
    return Scan(
        timings,
        tuple(cluster for cluster in others if cluster.has_day),
        tuple(governed + [cluster for cluster in others if not cluster.has_day]),
    )


def read_piece(sentence: Sentence, at: int, *, led: bool, leads: bool) -> Found | None:
    """The pieces that begin there. `led`: other timing stands right before; `leads`: nothing else does."""
    return (
        read_every(sentence, at)
        or read_adverb(sentence, at)
        or read_times_per(sentence, at)
        or (read_except(sentence, at) if led else None)
        or read_date(sentence, at)
        or read_month_rule(sentence, at)
        or read_weekdays(sentence, at)
        or read_relative(sentence, at)
        or read_starting(sentence, at)
        or read_until(sentence, at)
        or read_ahead(sentence, at)
        or read_window(sentence, at, led=led)
        or read_past_hour(sentence, at)
        or read_clocks(sentence, at, leads=leads)
        or read_part(sentence, at)
        or read_months(sentence, at, led=led, leads=leads)
        or (read_zone(sentence, at) if led else None)
    )


def _items(sentence: Sentence) -> Iterator[tuple[Item, bool]]:
    at, last_end, leads = 0, -1, True
    while at < len(sentence):
        led = last_end >= 0 and _connected(sentence, last_end, at)
        found = read_piece(sentence, at, led=led, leads=leads)
        if found is None:
            leads = sentence.text(at) in BEGINNINGS or (leads and sentence.text(at) in POLITE)
            at += 1
            continue
        end = sentence.skip(found.end, *FILLERS)
        governed = not found.firm and _is_governed(sentence, at)
        leads = leads and not governed
        start = at - 1 if sentence.text(at - 1) in {"only", "just"} and last_end != at else at
        yield Item(found.pieces, start, end, found.firm), governed
        last_end = -1 if governed else end
        at = end


def _connected(sentence: Sentence, end: int, start: int) -> bool:
    return all(sentence.text(at) in CONNECTORS for at in range(end, start))


def _is_governed(sentence: Sentence, at: int) -> bool:
    before = sentence.text(at - 1)
    if before == "for" and sentence.text(at - 2) in REMINDERS:
        return False
    return before in GOVERNORS or (sentence.text(at) == "today" and before in HAPPENED)
