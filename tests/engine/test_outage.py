"""A log that is away at one append of a living worker: nothing stays claimed, lost or booked twice."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from hermes_jobs.domain import events as e
from hermes_jobs.domain.session import commands as c
from hermes_jobs.domain.session.session import stream_of
from hermes_jobs.domain.session.steps import Step
from hermes_jobs.engine.engine import Engine
from hermes_jobs.engine.ports import Cancel, ModelRequest
from hermes_jobs.errors import LogUnavailable
from hermes_jobs.eventlog.log import Append, EventLog, RecordedEvent
from tests.engine.simulation import (
    CountedIds,
    Gates,
    ShiftedClock,
    SimulatedToolbox,
    Wakes,
    simulated_engine,
)

STREAM = stream_of("s")
MAX_APPENDS = 40


class Outage:
    """A log that fails at one append: `recorded` says whether it had recorded it."""

    def __init__(self, log: EventLog, at: int, *, recorded: bool) -> None:
        self._log = log
        self._left = at
        self._recorded = recorded

    @property
    def is_over(self) -> bool:
        """Whether the append has failed."""
        return self._left <= 0

    def append(self, change: Append) -> tuple[RecordedEvent, ...]:
        self._left -= 1
        if self._left:
            return self._log.append(change)
        if self._recorded:
            self._log.append(change)
        raise LogUnavailable("The log is away.")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)


def engine_on(log: Any, requests: list[ModelRequest], **more: Any) -> Engine:
    gates, clock = Gates(), ShiftedClock(lambda: 1_000_000.0)
    return simulated_engine(
        log, "w", clock, CountedIds(), Wakes(), gates, SimulatedToolbox(gates), requests, **more
    )


def submit(log: EventLog) -> None:
    engine_on(log, []).submit(
        c.SubmitTurn(turn="t", session="s", text="do it", source="cli", if_busy="queue")
    )


def work(engine: Engine, log: EventLog) -> None:
    """Run what is due, as a relay does, until nothing is."""
    for _ in range(MAX_APPENDS):
        engine.retry_unsaved()
        for row in log.due(1_000_000.0, stream=STREAM):
            with suppress(LogUnavailable):
                engine.run(STREAM, row.step.id)


@pytest.mark.parametrize("recorded", [False, True], ids=["lost", "recorded"])
def test_a_turn_completes_although_any_one_append_of_its_worker_failed(log: EventLog, recorded: bool) -> None:
    for at in range(1, MAX_APPENDS):
        stream_log = Outage(log, at, recorded=recorded)
        session = f"s{at}"
        requests: list[ModelRequest] = []
        engine_on(log, []).submit(
            c.SubmitTurn(turn=f"t{at}", session=session, text="do it", source="cli", if_busy="queue")
        )
        engine = engine_on(stream_log, requests)
        for _ in range(MAX_APPENDS):
            engine.retry_unsaved()
            for row in log.due(1_000_000.0, stream=stream_of(session)):
                with suppress(LogUnavailable):
                    engine.run(stream_of(session), row.step.id)
        facts = [record.event for record in log.read(stream_of(session))]
        assert log.steps(stream_of(session)) == [], f"the append {at} failed"
        assert [type(fact) for fact in facts if isinstance(fact, e.TurnCompleted | e.TurnFailed)] == [
            e.TurnCompleted
        ]
        paid = [
            fact.usage.output_tokens
            for fact in facts
            if isinstance(fact, e.ModelReplied | e.OutcomeDiscarded)
        ]
        assert len(set(paid)) == len(paid)
        if not stream_log.is_over:
            return
    pytest.fail("a turn takes fewer appends")


class Cut:
    """A handler that cannot read the log, once."""

    def __init__(self, handler: Any) -> None:
        self._handler = handler
        self._is_cut = True

    def run(self, state: Any, step: Step, cancel: Cancel) -> Any:
        if self._is_cut:
            self._is_cut = False
            raise LogUnavailable("The log is away.")
        return self._handler.run(state, step, cancel)
