"""Events of a stream `schedule-ID`: a prompt that is sent by the clock, and what came of each run.

`due` and `next_due` are seconds since the epoch, UTC. Each event that moves a schedule says when it is due
next: what was decided holds, whatever later versions or zone tables make of the timing.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from hermes_jobs.domain.events.event import Event
from hermes_jobs.domain.usage import NO_USAGE, Usage

MissedPolicy = Literal["run_once", "skip", "all"]
OverlapPolicy = Literal["skip", "queue", "parallel"]
TimingKind = Literal["cron", "interval", "once", "calendar"]
MissedReason = Literal["down", "overlap", "edited", "session_ended"]
RunStatus = Literal["completed", "failed", "cancelled"]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a schedule does and when. `timing` is its canonical text, read in `timezone` (an IANA name).

    `session`: the lineage that every run continues; None for a fresh session each. `deliver`: targets of the
    answer.
    """

    name: str
    text: str
    kind: TimingKind
    timing: str
    timezone: str
    session: str | None = None
    deliver: tuple[str, ...] = ("cli",)
    missed: MissedPolicy = "run_once"
    overlap: OverlapPolicy = "skip"
    model: str | None = None
    toolsets: tuple[str, ...] | None = None
    budget_usd: float | None = None
    workdir: str | None = None


class ScheduleWorded(Event, frozen=True, kw_only=True):
    """A model was asked for the timing of a sentence that the rules did not understand.

    What it proposed was read by the rules all the same; whether anything came of it, other events say.
    """

    schedule: str
    said: str
    proposed: str
    model: str
    usage: Usage = NO_USAGE
    cost_usd: float | None = None


class ScheduleAdded(Event, frozen=True, kw_only=True):
    """`by`: `user`, or the turn whose agent added it. `said`: the words that were understood so."""

    schedule: str
    plan: Plan
    by: str
    next_due: float | None
    said: str = ""


class ScheduleEdited(Event, frozen=True, kw_only=True):
    """The whole plan, as it is from now on."""

    schedule: str
    plan: Plan
    by: str
    next_due: float | None
    said: str = ""


class SchedulePaused(Event, frozen=True, kw_only=True):
    """`reason`: why it paused itself; empty where somebody paused it."""

    schedule: str
    by: str
    reason: str = ""


class ScheduleResumed(Event, frozen=True, kw_only=True):
    """A paused schedule is due again at `next_due` (seconds since the epoch); None: never again."""

    schedule: str
    by: str
    next_due: float | None


class ScheduleRemoved(Event, frozen=True, kw_only=True):
    """The schedule was removed by `by`; it never fires again."""

    schedule: str
    by: str


class ScheduleFired(Event, frozen=True, kw_only=True):
    """The run for `due` was submitted as `turn`. `by`: `clock`, or who asked for a run at once.

    A run that somebody asked for is due when it was asked for, and moves nothing that the clock is due for.
    """

    schedule: str
    due: float
    turn: str
    session: str
    next_due: float | None
    by: str = "clock"


class ScheduleQueued(Event, frozen=True, kw_only=True):
    """The run for `due` waits until the one before it has ended."""

    schedule: str
    due: float
    next_due: float | None


class ScheduleMissed(Event, frozen=True, kw_only=True):
    """No run for `due`, nor for the `count - 1` due times after it up to `until`.

    `count` is what was counted: `MOST_COUNTED` of `domain.schedule.missed_runs` stands for as many or more.
    """

    schedule: str
    due: float
    reason: MissedReason
    next_due: float | None
    until: float | None = None
    count: int = 1


class ScheduleRunEnded(Event, frozen=True, kw_only=True):
    """How the run `turn` ended; `message` says why where it failed."""

    schedule: str
    turn: str
    status: RunStatus
    message: str = ""


ScheduleEvent = (
    ScheduleWorded
    | ScheduleAdded
    | ScheduleEdited
    | SchedulePaused
    | ScheduleResumed
    | ScheduleRemoved
    | ScheduleFired
    | ScheduleQueued
    | ScheduleMissed
    | ScheduleRunEnded
)
