"""Events of a stream `trigger-NAME`: a named task, and each time that a program fired it.

Times are seconds since the epoch, UTC.
"""

from __future__ import annotations

import msgspec

from hermes_jobs.kernel.events.event import Event

PREFIX = "trigger-"
SOURCE = "trigger:"
"""Prefix of the `source` of the turns that triggers start."""


class Hook(msgspec.Struct, frozen=True, kw_only=True):
    """How requests over HTTP fire the trigger. `salt`: what its secret is derived from, beside the home's
    key. `events`: those that do; empty: all. `fields`: `PATH=VALUE`, what the payload has to hold."""

    salt: str
    events: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()


class TriggerPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The task of a trigger. `session`: the lineage that every turn continues; None for a new session each
    time. `deliver`: the targets of the answer. `debounce`: the seconds without a firing after which one turn
    starts for all of them; 0: each firing starts its own at once. `hook`: None: no request fires it."""

    text: str
    session: str | None = None
    deliver: tuple[str, ...] = ("cli",)
    model: str | None = None
    toolsets: tuple[str, ...] | None = None
    budget_usd: float | None = None
    workdir: str | None = None
    debounce: float = 0.0
    hook: Hook | None = None


class TriggerAdded(Event, frozen=True, kw_only=True):
    """A trigger was added, or its plan replaced."""

    trigger: str
    plan: TriggerPlan
    by: str


class TriggerPaused(Event, frozen=True, kw_only=True):
    """Firings are refused, and those that wait do not start a turn."""

    trigger: str
    by: str


class TriggerResumed(Event, frozen=True, kw_only=True):
    """The trigger can be fired again; firings that waited start their turn."""

    trigger: str
    by: str


class TriggerRemoved(Event, frozen=True, kw_only=True):
    """The trigger was removed; firings that waited are dropped."""

    trigger: str
    by: str


class TriggerFired(Event, frozen=True, kw_only=True):
    """A program fired the trigger. All firings that wait for the same `turn` have its id, and its session's.

    `payload`: the input, untrusted. `due`: when the turn starts unless it is fired again until then.
    """

    trigger: str
    turn: str
    session: str
    payload: str
    at: float
    due: float
    key: str = ""


class TriggerStarted(Event, frozen=True, kw_only=True):
    """The turn was submitted, with the payloads of so many `firings`."""

    trigger: str
    turn: str
    session: str
    firings: int


class TriggerFailed(Event, frozen=True, kw_only=True):
    """The turn could not be submitted, and the payloads are dropped; `message` says why."""

    trigger: str
    turn: str
    message: str


TriggerEvent = (
    TriggerAdded
    | TriggerPaused
    | TriggerResumed
    | TriggerRemoved
    | TriggerFired
    | TriggerStarted
    | TriggerFailed
)


def stream_of(trigger: str) -> str:
    """The stream of the trigger with that name."""
    return f"{PREFIX}{trigger}"
