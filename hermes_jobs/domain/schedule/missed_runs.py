"""Missed runs: the due times since a schedule was last checked."""

from __future__ import annotations

from itertools import islice, takewhile

import msgspec

from hermes_jobs.domain.schedule.timing import TimingInZone

MOST_COUNTED = 1_000
"""Missed due times are counted up to this number."""
CATCH_UP = 100
"""The newest due times of which each may get a run."""
KNOWN = CATCH_UP + 1
"""The number of newest due times that are listed: those above, and the newest one without a run."""

_FIRST_LOOK = 3_600.0  # seconds before now that are searched first; each further search doubles it


class Backlog(msgspec.Struct, frozen=True):
    """Due times up to now: their number, up to `MOST_COUNTED`, and the newest ones, oldest first."""

    count: int
    newest: tuple[float, ...]


def backlog(rule: TimingInZone, first: float, now: float) -> Backlog:
    """The due times from `first` (a due time) up to `now` (not before it)."""
    most = MOST_COUNTED + CATCH_UP
    dues = tuple(islice(takewhile(lambda due: due <= now, rule.following(first)), most))
    return Backlog(len(dues), dues[-KNOWN:] if len(dues) < most else _newest(rule, first, now))


def _newest(rule: TimingInZone, first: float, now: float) -> tuple[float, ...]:
    """The newest due times, searched backwards from now."""
    seconds = _FIRST_LOOK
    while True:
        start = max(first, now - seconds)
        begun = first if start == first else rule.after(start, since=first)
        found = tuple(takewhile(lambda due: due <= now, rule.following(begun)))
        if len(found) >= KNOWN or start == first:
            return found[-KNOWN:]
        seconds *= 2
