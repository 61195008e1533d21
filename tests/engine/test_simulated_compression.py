"""The same workers, sessions and mishaps, where histories are compressed before calls and by hand."""

from __future__ import annotations

from contextlib import suppress
from itertools import count

from hypothesis import HealthCheck, settings
from hypothesis.stateful import rule, run_state_machine_as_test

from hermes_jobs.errors import Rejected
from hermes_jobs.features.compression.compressor import Compressor
from hermes_jobs.features.compression.setup import CompressorOptions
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.engine import Engine
from hermes_jobs.kernel.engine.ports import CANCELLED, Cancel, History, ModelRequest, StepInterrupted
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.compression import Compression
from hermes_jobs.kernel.turns.evolve import fold
from hermes_jobs.kernel.turns.session import Session, compression_of
from hermes_jobs.kernel.turns.steps import Step
from tests.engine.simulation import (
    CountedIds,
    Gates,
    ShiftedClock,
    SimulatedToolbox,
    Wakes,
    simulated_engine,
)
from tests.engine.test_simulation import examples_on, state_machine

WINDOW = 40  # tokens: a few of these short messages
LONGEST = 6  # messages
ENGINE = Compressor(CompressorOptions(protect_last=0), redact=lambda text: text)


def is_long(session: Session) -> bool:
    return (
        len(session.messages) > LONGEST
        and not session.compression_paused
        and session.ineffective_compressions < 2
    )


def preflight(session: Session) -> c.RequestCompression | None:
    if session.compression is not None or not is_long(session):
        return None
    number = session.compressions_requested + 1
    return c.RequestCompression(reason="threshold", tokens=100, window=WINDOW, number=number)


class SimulatedFlush:
    """Saves nothing."""

    def __init__(self, gates: Gates) -> None:
        self._gates = gates

    def run(self, session: Session, step: Step, cancel: Cancel) -> c.StepOutcome:
        self._gates.stop_at("flush")
        if cancel.reason not in {None, CANCELLED}:
            raise StepInterrupted
        return c.FinishFlush(step=step.id)


class SimulatedCompress:
    """Sets the middle aside; fails when the gate's word says `fail` or `garbage`."""

    def __init__(self, gates: Gates, ids: CountedIds) -> None:
        self._gates = gates
        self._ids = ids

    def run(self, session: Session, step: Step, cancel: Cancel) -> c.StepOutcome:
        word, job = self._gates.stop_at("compress"), compression_of(session)
        if cancel.reason is not None:
            if cancel.reason != CANCELLED:
                raise StepInterrupted
            return _failed(job, step, CANCELLED)
        history = History(messages=session.messages, todos=(), focus="", window=WINDOW, summary_window=WINDOW)
        shortened = ENGINE.set_aside(history)
        if word in {"fail", "garbage"} or shortened.removed == 0:
            return _failed(job, step, "server")
        outcome = e.ContextCompressed(
            turn=job.turn,
            step=step.id,
            into=self._ids.name("s"),
            removed=shortened.removed,
            summary="",
            messages=shortened.messages,
            number=session.num_compressed + 1,
            tokens_before=ENGINE.estimate(session.messages),
            tokens_after=ENGINE.estimate(shortened.messages),
        )
        usage = Usage(input_tokens=9, output_tokens=self._ids.fence())  # so that all can be told apart
        booked = e.ResponseBooked(turn=job.turn, step=step.id, purpose="compression", model="m", usage=usage)
        return c.FinishCompression(step=step.id, outcome=outcome, responses=(booked,))


def _failed(job: Compression, step: Step, kind: str) -> c.FinishCompression:
    failed = e.CompressionFailed(
        turn=job.turn, step=step.id, attempt=job.attempt, kind=kind, message="It broke."
    )
    return c.FinishCompression(step=step.id, outcome=failed)


def compressing_engine(  # noqa: PLR0917 - as `simulated_engine`
    log: EventLog,
    worker: str,
    clock: ShiftedClock,
    ids: CountedIds,
    wakes: Wakes,
    gates: Gates,
    tools: SimulatedToolbox,
    requests: list[ModelRequest],
) -> Engine:
    return simulated_engine(
        log,
        worker,
        clock,
        ids,
        wakes,
        gates,
        tools,
        requests,
        preflight=preflight,
        more={
            "compression.flush": SimulatedFlush(gates),
            "compression.compress": SimulatedCompress(gates, ids),
        },
    )


def test_whatever_befalls_the_workers_a_history_is_compressed_once_for_each_reason(
    log: EventLog, log_url: str
) -> None:
    machine = state_machine(log, count(1), CountedIds(), compressing_engine)

    class WithCompressions(machine):  # type: ignore[valid-type, misc]  # made by a function
        @rule()
        def compress_by_hand(self) -> None:
            with suppress(Rejected):
                self.client.execute(self.stream, c.RequestCompression(reason="manual", window=WINDOW))

        def teardown(self) -> None:
            super().teardown()
            session = Session(stream=self.stream)
            for recorded in log.read(self.stream):
                asked = recorded.event
                if isinstance(asked, e.CompressionRequested) and asked.reason == "threshold":
                    assert is_long(session), "nothing is compressed for what was seen before a compression"
                session = fold(session, [asked])  # type: ignore[list-item]  # nothing else is in that stream

    run_state_machine_as_test(
        WithCompressions,
        settings=settings(
            max_examples=examples_on(log_url, 60),
            stateful_step_count=60,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
