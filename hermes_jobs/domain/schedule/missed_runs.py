"""The due times that have come since a schedule was last looked at."""

from __future__ import annotations

from itertools import islice, takewhile

import msgspec

from hermes_jobs.domain.schedule.timing import TimingInZone

MOST_COUNTED = 1_000
"""Missed due times beyond this are not counted one by one."""
CATCH_UP = 100
"""The newest due times that may each get a run."""
KNOWN = CATCH_UP + 1
"""The newest ones that are known singly, with the last of those that are not made up for."""

_FIRST_LOOK = 3_600.0  # seconds before now in which the newest are looked for; each further look doubles it


class Backlog(msgspec.Struct, frozen=True):
    """Due times up to now: how many, counted no further than is of interest, and the newest, oldest first."""

    count: int
    newest: tuple[float, ...]


def backlog(rule: TimingInZone, first: float, now: float) -> Backlog:
    """The due times from `first`, which is one, up to `now`, which is not before it."""
    most = MOST_COUNTED + CATCH_UP
    dues = tuple(islice(takewhile(lambda due: due <= now, rule.following(first)), most))
    return Backlog(len(dues), dues[-KNOWN:] if len(dues) < most else _newest(rule, first, now))


def _newest(rule: TimingInZone, first: float, now: float) -> tuple[float, ...]:
    """The newest due times, found from behind."""
    seconds = _FIRST_LOOK
    while True:
        start = max(first, now - seconds)
        begun = first if start == first else rule.after(start, since=first)
        found = tuple(takewhile(lambda due: due <= now, rule.following(begun)))
        if len(found) >= KNOWN or start == first:
            return found[-KNOWN:]
        seconds *= 2
