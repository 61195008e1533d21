"""A log that is away at one append of a living worker: nothing stays claimed, is lost or is booked twice."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from typing import Any

import pytest
from msgspec.structs import replace

from hermes_jobs.errors import LogUnavailable
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.engine import Engine
from hermes_jobs.kernel.engine.ports import Cancel
from hermes_jobs.kernel.engine.step_parts import StepParts
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.kernel.turns.session import stream_of
from hermes_jobs.kernel.turns.steps import Step
from tests.engine.simulation import (
    CountedIds,
    Gates,
    Outage,
    ShiftedClock,
    SimulatedToolbox,
    Wakes,
    simulated_engine,
)

NOW = 1_000_000.0
ROUNDS = 12


class Script(Gates):
    """Gates at which nobody stops; the model calls two tools, and answers."""

    def __init__(self) -> None:
        super().__init__()
        self._words = iter([("read", "write")])

    def stop_at(self, name: str) -> Any:
        return next(self._words, None) if name == "model" else None


class Desk:
    """One worker and a session of its own on the log."""

    def __init__(self, log: EventLog, session: str, ids: CountedIds, outage: Any, **more: Any) -> None:
        self.log = log
        self.stream = stream_of(session)
        script = Script()
        self.tools = SimulatedToolbox(script)
        clock = ShiftedClock(lambda: NOW)
        self.engine: Engine = simulated_engine(
            outage, "w", clock, ids, Wakes(), script, self.tools, [], **more
        )
        turn = e.TurnSubmitted(turn=f"t-{session}", session=session, text="do it", source="cli")
        Engine(log=log, worker="cli", clock=clock, ids=ids, dispatcher=Wakes()).submit(turn)

    def work(self) -> Sequence[e.Event]:
        """Run what is due, as the relay and the maintenance thread do; the session's events."""
        for _ in range(ROUNDS):
            self.engine.retry_unsaved()
            for row in self.log.due(NOW, stream=self.stream):
                with suppress(LogUnavailable):
                    self.engine.run(self.stream, row.step.id)
        assert self.log.steps(self.stream) == []
        return [record.event for record in self.log.read(self.stream)]


@pytest.mark.parametrize("recorded", [False, True], ids=["lost", "recorded"])
def test_a_turn_completes_whichever_append_of_its_worker_fails(log: EventLog, recorded: bool) -> None:
    ids = CountedIds()
    for at in count(1):
        outage = Outage(log, at, recorded=recorded)
        desk = Desk(log, f"s{at}", ids, outage)
        events = desk.work()
        ends = [type(each) for each in events if isinstance(each, e.TurnCompleted | e.TurnFailed)]
        assert ends == [e.TurnCompleted], f"append {at} failed"
        replies = [each for each in events if isinstance(each, e.ModelReplied | e.OutcomeDiscarded)]
        assert len({each.usage.output_tokens for each in replies}) == len(replies), f"append {at} failed"
        results = [each.call for each in events if isinstance(each, e.ToolFinished | e.ToolInterrupted)]
        assert sorted(results) == sorted(set(results))
        assert max(desk.tools.effects.values()) == 1, f"append {at} failed"
        if not outage.is_over:
            assert at > 5
            return


class Cut:
    """A handler that cannot read the log at its first run."""

    def __init__(self, handler: Any) -> None:
        self._handler = handler
        self._is_cut = True

    def run(self, state: Any, step: Step, cancel: Cancel) -> Any:
        if self._is_cut:
            self._is_cut = False
            raise LogUnavailable("The log is away.")
        return self._handler.run(state, step, cancel)


def test_a_step_whose_handler_cannot_read_the_log_is_due_again(log: EventLog) -> None:
    desk = Desk(log, "s", CountedIds(), log)
    parts = desk.engine._parts
    assert isinstance(parts, StepParts)
    desk.engine._parts = replace(parts, handlers={kind: Cut(parts.handlers[kind]) for kind in parts.handlers})
    events = desk.work()
    assert isinstance(events[-1], e.TurnCompleted)
    assert set(desk.tools.effects.values()) == {1}
