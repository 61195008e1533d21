"""Events of a stream `schedule-ID`: a prompt that is sent at due times, and the outcome of each run.

`due` and `next_due` are seconds since the epoch, UTC. Each event that moves a schedule stores the next due
time, so that later versions and zone tables do not change a decided time.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from hermes_jobs.features.conditions.events import Condition
from hermes_jobs.kernel.events.event import Event
from hermes_jobs.kernel.streams.field_kinds import NAME, TEXT
from hermes_jobs.kernel.streams.usage import NO_USAGE, Usage

MissedPolicy = Literal["run_once", "skip", "all"]
OverlapPolicy = Literal["skip", "queue", "parallel"]
TimingKind = Literal["cron", "interval", "once", "calendar"]
MissedReason = Literal["down", "overlap", "edited", "session_ended"]
RunStatus = Literal["completed", "failed", "cancelled"]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The prompt and the timing of a schedule. `timing` is canonical text, read in `timezone` (an IANA name).

    `session`: the lineage that every run continues; None for a new session per run. `deliver`: the targets of
    the answer. `jitter`: the most seconds by which a run starts after its due time. `condition`: decides
    about each run of the clock.
    """

    name: Annotated[str, TEXT]
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
    jitter: float = 0.0
    condition: Condition | None = None


class ScheduleWorded(Event, frozen=True, kw_only=True):
    """A model was asked to interpret a sentence that the rules did not understand.

    The rules parsed its proposal again; other events tell whether it was used.
    """

    schedule: str
    said: str
    proposed: str
    model: str
    usage: Usage = NO_USAGE
    cost_usd: float | None = None


class ScheduleAdded(Event, frozen=True, kw_only=True):
    """A schedule was added. `by`: `user`, or the turn of the agent that added it. `said`: the original
    wording.
    """

    schedule: str
    plan: Plan
    by: str
    next_due: float | None
    said: str = ""


class ScheduleEdited(Event, frozen=True, kw_only=True):
    """The plan was changed; the event holds the whole new plan."""

    schedule: str
    plan: Plan
    by: str
    next_due: float | None
    said: str = ""


class SchedulePaused(Event, frozen=True, kw_only=True):
    """The schedule was paused. `reason`: why it paused itself; empty where a user or an agent paused it."""

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
    """The run for `due` was submitted as `turn`. `by`: `clock`, or the author of a request for a run at once.

    A requested run is due at the time of the request, and does not move the clock's due time. `delay`: the
    seconds after `due` at which it was to start, by the plan's jitter. `seen`: the digest of what its
    condition has seen of files.
    """

    schedule: str
    due: float
    turn: str
    session: str
    next_due: float | None
    by: str = "clock"
    delay: float = 0.0
    seen: Annotated[str, NAME] = ""


class ScheduleChecking(Event, frozen=True, kw_only=True):
    """The condition of the run for `due` is to be checked; the run will be `turn`. `next_due`, `delay`: see
    `ScheduleFired`."""

    schedule: str
    due: float
    turn: str
    session: str
    next_due: float | None
    delay: float = 0.0


class ScheduleSkipped(Event, frozen=True, kw_only=True):
    """No run for `due`: its condition said no. `message`: what it printed, or who withdrew the check."""

    schedule: str
    due: float
    message: str


class ScheduleCheckFailed(Event, frozen=True, kw_only=True):
    """No run for `due`: its condition could not be checked."""

    schedule: str
    due: float
    message: str


class ScheduleQueued(Event, frozen=True, kw_only=True):
    """The run for `due` is queued until the previous one has ended."""

    schedule: str
    due: float
    next_due: float | None


class ScheduleMissed(Event, frozen=True, kw_only=True):
    """No run for `due`, nor for the `count - 1` due times after it up to `until`.

    `MOST_COUNTED` of `rules.runs` as `count` means: so many or more.
    """

    schedule: str
    due: float
    reason: MissedReason
    next_due: float | None
    until: float | None = None
    count: int = 1


class ScheduleRunEnded(Event, frozen=True, kw_only=True):
    """The run `turn` ended; `message` gives the reason of a failure."""

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
    | ScheduleChecking
    | ScheduleSkipped
    | ScheduleCheckFailed
    | ScheduleQueued
    | ScheduleMissed
    | ScheduleRunEnded
)
