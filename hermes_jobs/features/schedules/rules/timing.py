"""Due times of a plan's timing, as whole seconds since the epoch, UTC."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from itertools import islice
from math import ceil
from zoneinfo import ZoneInfo

import msgspec

from hermes_jobs.errors import Corrupt, Rejected
from hermes_jobs.features.schedules.events import Plan
from schedules.timing import Timing, Unreadable, next_due, read


class TimingInZone(msgspec.Struct, frozen=True):
    """A timing in its time zone."""

    timing: Timing
    zone: ZoneInfo

    def after(self, moment: float, *, since: float) -> float | None:
        """The first due time after `moment`; None if there is none.

        Intervals without their own start count from `since`: a due time, or the moment at which the schedule
        began.
        """
        due = next_due(self.timing, _datetime(moment), self.zone, since=_datetime(since))
        return None if due is None else float(ceil(due.timestamp()))

    def upcoming(self, first: float | None, count: int) -> tuple[float, ...]:
        """`first`, if there is one, and the due times after it: `count` in all."""
        return tuple(islice(self.following(first), count))

    def following(self, due: float | None) -> Iterator[float]:
        """A due time and all later ones."""
        while due is not None:
            yield due
            due = self.after(due, since=due)

    def shown(self, moment: float) -> str:
        """A moment in the zone, as text for users."""
        return f"{datetime.fromtimestamp(moment, self.zone):%a %Y-%m-%d %H:%M:%S %Z}"


def rule_of(plan: Plan) -> TimingInZone:
    """The plan's timing. Raises `Corrupt` where this build cannot read it."""
    return _rule(plan.timing, plan.timezone)


@lru_cache(maxsize=512)
def _rule(timing: str, timezone: str) -> TimingInZone:
    try:
        return TimingInZone(read(timing), zone_of(timezone))
    except (Unreadable, Rejected) as error:
        raise Corrupt(f"A schedule's timing {timing!r} in {timezone!r} cannot be read: {error}") from error


def delay_of(schedule: str, plan: Plan, due: float) -> float:
    """The whole seconds after `due` at which its run starts, at most the plan's jitter.

    They follow from the schedule's id and the due time, and the run starts before the next due time. Raises
    `Corrupt` where this build cannot read the timing.
    """
    if plan.jitter <= 0:
        return 0.0
    following = rule_of(plan).after(due, since=due)
    longest = plan.jitter if following is None else min(plan.jitter, following - due - 1)
    digest = sha256(f"{schedule}@{due:.0f}".encode()).digest()
    return float(int.from_bytes(digest[:8]) % (int(longest) + 1))


def zone_of(name: str) -> ZoneInfo:
    """The time zone of that name. Raises `Rejected`, kind `usage`, for an unknown one."""
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError) as error:
        raise Rejected(
            f"There is no time zone {name!r}.",
            kind="usage",
            hint="Name one as Europe/Berlin, America/New_York or UTC.",
        ) from error


def _datetime(moment: float) -> datetime:
    return datetime.fromtimestamp(moment, UTC)
