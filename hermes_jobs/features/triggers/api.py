"""What can be done with triggers. Every function raises `LogUnavailable`, and `Rejected` where it says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hermes_jobs.errors import KeyTaken
from hermes_jobs.features.triggers.events import TriggerFired, TriggerPlan, stream_of
from hermes_jobs.features.triggers.rules.commands import (
    SCOPE,
    USER,
    AddTrigger,
    EditTrigger,
    FireTrigger,
    PauseTrigger,
    RemoveTrigger,
    ResumeTrigger,
    key_of,
)
from hermes_jobs.features.triggers.tables import (
    FiringView,
    TriggerView,
    select_firings,
    select_trigger,
    select_triggers,
)
from hermes_jobs.kernel.turns.session import stream_of as session_stream_of

__all__ = [
    "Fired",
    "FiringView",
    "TriggerPlan",
    "TriggerView",
    "add",
    "edit",
    "find_trigger",
    "fire",
    "firings",
    "pause",
    "remove",
    "resume",
    "trigger",
    "triggers",
    "waits_until",
]

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.kernel.engine.engine import Engine
    from hermes_jobs.kernel.log.log import KeyRow


class Fired(msgspec.Struct, frozen=True, kw_only=True):
    """An accepted firing: the turn that it starts, at `due` (seconds since the epoch) unless another firing
    comes until then. `session`: the stream of the turn's session. `is_new`: false for a repeated key."""

    turn: str
    session: str
    due: float
    is_new: bool


def fire(
    application: Application,
    name: str,
    payload: str = "",
    *,
    key: str = "",
    at_once: bool = False,
    engine: Engine | None = None,
) -> Fired:
    """Fire a trigger: its task starts as a turn, with the payload as untrusted text.

    A `key` starts it once, from any number of processes. `at_once`: without its debounce. `engine`: of who
    fires often, as it remembers the trigger; None: a new one. Raises `Rejected`: `unknown_trigger`, `paused`,
    `session_ended`.
    """
    ids, engine = application.ids.name, engine or application.engine()
    act = FireTrigger(
        name=name,
        now=application.clock.now(),
        turn=ids("t"),
        session=ids("s"),
        payload=payload,
        key=key,
        at_once=at_once,
    )
    try:
        written = engine.change(act, "trigger")
    except KeyTaken:
        first = application.log.key(SCOPE, key_of(name, key))
        assert first is not None, "it was taken"
        return _fired_before(application, first)
    fired = next(event for write in written.writes for event in write.events if _is_firing(event))
    return _result(fired, is_new=True)


def _is_firing(event: object) -> bool:
    return isinstance(event, TriggerFired)


def _fired_before(application: Application, first: KeyRow) -> Fired:
    event = application.log.tail(first.position - 1, 1)[0].event
    return _result(event, is_new=False)


def _result(event: object, *, is_new: bool) -> Fired:
    assert isinstance(event, TriggerFired), f"{event} is no firing"
    return Fired(turn=event.turn, session=session_stream_of(event.session), due=event.due, is_new=is_new)


def add(application: Application, name: str, plan: TriggerPlan, *, replaces: bool = False) -> None:
    """Add a trigger, or replace its plan. Raises `Rejected`: `usage`, `exists`, `session_ended`."""
    application.engine().change(AddTrigger(name=name, plan=plan, replaces=replaces), "trigger add")


def edit(application: Application, name: str, plan: TriggerPlan) -> None:
    """Replace the plan of a trigger. Raises `Rejected`: `unknown_trigger`, `usage`, `session_ended`."""
    application.engine().change(EditTrigger(name=name, plan=plan), "trigger edit")


def find_trigger(application: Application, name: str) -> str:
    """That name, if there is or was such a trigger. Raises `Rejected`, `unknown_trigger`."""
    return trigger(application, name).name


def pause(application: Application, name: str, *, by: str = USER) -> None:
    """Refuse firings. Raises `Rejected`, `unknown_trigger`."""
    application.engine().change(PauseTrigger(name=name, by=by), "trigger pause")


def resume(application: Application, name: str, *, by: str = USER) -> None:
    """Accept firings again. Raises `Rejected`, `unknown_trigger`."""
    application.engine().change(ResumeTrigger(name=name, by=by), "trigger resume")


def remove(application: Application, name: str) -> None:
    """Remove a trigger; firings that wait are dropped. Raises `Rejected`, `unknown_trigger`."""
    application.engine().change(RemoveTrigger(name=name), "trigger remove")


def triggers(application: Application) -> tuple[TriggerView, ...]:
    """All triggers, by name."""
    return application.views.read(select_triggers)


def trigger(application: Application, name: str) -> TriggerView:
    """One trigger, also a removed one. Raises `Rejected`, `unknown_trigger`."""
    return application.views.read(select_trigger, name)


def firings(application: Application, name: str, limit: int = 20) -> tuple[FiringView, ...]:
    """The turns that the trigger has started or will start, newest first."""
    return application.views.read(select_firings, name, limit=limit)


def waits_until(application: Application, name: str) -> float | None:
    """When the firings that wait start their turn (seconds since the epoch); None without any."""
    from hermes_jobs.features.triggers.rules.trigger import Trigger

    trigger = application.engine().state(stream_of(name))
    assert isinstance(trigger, Trigger)
    return trigger.due
