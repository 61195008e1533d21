"""State of a trigger, folded from a stream `trigger-NAME`, and its due step."""

from __future__ import annotations

from typing import Literal, assert_never

import msgspec
from msgspec.structs import replace

from hermes_jobs.features.triggers import events as e
from hermes_jobs.kernel.turns.steps import Step

TriggerStatus = Literal["active", "paused", "removed"]


class Trigger(msgspec.Struct, frozen=True, kw_only=True):
    """The fold of one trigger's stream at `version`; without a plan it was never added. `pending` are the
    firings that wait for their turn, oldest first."""

    stream: str
    version: int = 0
    plan: e.TriggerPlan | None = None
    paused: bool = False
    removed: bool = False
    pending: tuple[e.TriggerFired, ...] = ()

    @property
    def name(self) -> str:
        """The trigger's name."""
        return self.stream.removeprefix(e.PREFIX)

    @property
    def status(self) -> TriggerStatus:
        """Its status."""
        return "removed" if self.removed else "paused" if self.paused else "active"

    @property
    def due(self) -> float | None:
        """When the firings that wait start their turn; None without any."""
        return self.pending[-1].due if self.pending else None


def next_steps(trigger: Trigger) -> tuple[Step, ...]:
    """The start of the turn for the firings that wait: each further firing moves it."""
    if trigger.due is None or trigger.paused or trigger.removed:
        return ()
    turn = trigger.pending[0].turn
    step = Step(id=f"{turn}-start", stream=trigger.stream, kind="trigger.start", not_before=trigger.due)
    return (step,)


def rest(trigger: Trigger, by: str) -> tuple[e.TriggerPaused, ...]:
    """A pause, where firings wait."""
    return (e.TriggerPaused(trigger=trigger.name, by=by),) if next_steps(trigger) else ()


def evolve(trigger: Trigger, event: e.TriggerEvent) -> Trigger:
    """The trigger after one more event."""
    return replace(_apply(trigger, event), version=trigger.version + 1)


def _apply(trigger: Trigger, event: e.TriggerEvent) -> Trigger:
    match event:
        case e.TriggerAdded():
            return replace(trigger, plan=event.plan, removed=False)
        case e.TriggerPaused():
            return replace(trigger, paused=True)
        case e.TriggerResumed():
            *before, newest = trigger.pending or (None,)
            waiting = () if newest is None else (*before, replace(newest, due=0.0))
            return replace(trigger, paused=False, pending=waiting)
        case e.TriggerRemoved():
            return replace(trigger, removed=True, paused=False, pending=())
        case e.TriggerFired():
            return replace(trigger, pending=(*trigger.pending, event))
        case e.TriggerStarted() | e.TriggerFailed():
            return replace(
                trigger, pending=tuple(each for each in trigger.pending if each.turn != event.turn)
            )
        case _:
            assert_never(event)
