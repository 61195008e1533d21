"""Conditions of single texts, folded from a stream
`condition-KEY`, one for each command and folder."""

from __future__ import annotations

from hashlib import sha256
from typing import assert_never

import msgspec
from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.features.conditions.events import (
    CONDITION,
    PREFIX,
    Checked,
    Condition,
    ConditionAsked,
    ConditionEnded,
    ConditionEvent,
    Ruling,
)
from hermes_jobs.kernel.streams.decision import DecisionResult, StateLoader, StreamEvents
from hermes_jobs.kernel.turns import session as sessions
from hermes_jobs.kernel.turns.commands import SubmitTurn
from hermes_jobs.kernel.turns.decide import decide
from hermes_jobs.kernel.turns.steps import Step


class ConditionState(msgspec.Struct, frozen=True, kw_only=True):
    """The fold of one stream. `open` are the turns that wait for the command, `ended` how the last one did,
    `seen` what the last accepted one saw."""

    stream: str
    version: int = 0
    open: tuple[ConditionAsked, ...] = ()
    ended: ConditionEnded | None = None
    seen: str = ""


def stream_of(condition: Condition) -> str:
    """The stream of all texts with that command in that folder."""
    caller = "\0".join((condition.folder, condition.command))
    return f"{PREFIX}{sha256(caller.encode()).hexdigest()[:16]}"


def next_steps(state: ConditionState) -> tuple[Step, ...]:
    """The check of the oldest open text."""
    return tuple(
        Step(id=f"{asked.turn.turn}-if", stream=state.stream, kind="condition.check")
        for asked in state.open[:1]
    )


def evolve(state: ConditionState, event: ConditionEvent) -> ConditionState:
    """The state after one more event."""
    state = replace(state, version=state.version + 1)
    match event:
        case ConditionAsked():
            return replace(state, open=(*state.open, event))
        case ConditionEnded():
            still_open = tuple(asked for asked in state.open if asked.turn.turn != event.turn)
            return replace(state, open=still_open, ended=event, seen=event.seen or state.seen)
        case _:
            assert_never(event)


def rest(state: ConditionState, by: str) -> tuple[ConditionEnded, ...]:
    """The end of all open texts: they are not submitted."""
    return tuple(
        ConditionEnded(turn=asked.turn.turn, ruling="failed", message=f"withdrawn by {by}")
        for asked in state.open
    )


class Conclude(msgspec.Struct, frozen=True, kw_only=True):
    """The decision after the check of `turn` in that stream: the turn, or why there is none."""

    stream: str
    turn: str
    checked: Checked

    def __call__(self, load: StateLoader) -> DecisionResult:
        """The events; none where the text was withdrawn meanwhile."""
        state: ConditionState = load(self.stream)
        asked = next((asked for asked in state.open if asked.turn.turn == self.turn), None)
        if asked is None:
            return DecisionResult()
        if self.checked.ruling != "run":
            return DecisionResult.of(self.stream, self._ended(self.checked.ruling, self.checked.message))
        text = self.checked.with_output(asked.turn.text, asked.condition.command)
        origin = CONDITION if text != asked.turn.text else asked.turn.outside
        command = SubmitTurn(replace(asked.turn, text=text, outside=origin))
        stream = sessions.stream_of(asked.turn.session)
        try:
            submitted = StreamEvents(stream, decide(command, load(stream)))
        except Rejected as refused:
            return DecisionResult.of(self.stream, self._ended("failed", refused.message))
        ended = StreamEvents(self.stream, (self._ended("run", "", self.checked.seen),))
        return DecisionResult(writes=(submitted, ended))

    def _ended(self, ruling: Ruling, message: str, seen: str = "") -> ConditionEnded:
        return ConditionEnded(turn=self.turn, ruling=ruling, message=message, seen=seen)
