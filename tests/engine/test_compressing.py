"""What `compression.compress` writes down of a compression that won nothing."""

from __future__ import annotations

from typing import cast

import pytest
from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.features.compression.steps.compress import Compress
from hermes_jobs.features.compression.steps.compression_policy import CompressionPolicy
from hermes_jobs.interfaces.cli.turns.progress import ProgressLines
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.handlers.auxiliary_models import Helper
from hermes_jobs.kernel.engine.handlers.failed_calls import Retries
from hermes_jobs.kernel.engine.ports import CompressedHistory, ContextEngine, History
from hermes_jobs.kernel.events.recorded import EventMeta, RecordedEvent
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.compression import MAX_INEFFECTIVE
from hermes_jobs.kernel.turns.evolve import fold
from hermes_jobs.kernel.turns.messages import UserMessage
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.steps import next_steps
from hermes_jobs.llm.retry import delay
from tests.engine.simulation import (
    CountedIds,
    Gates,
    NoPrices,
    ShiftedClock,
    SimulatedModel,
    SimulatedToolbox,
)
from tests.tools.support import Switch

STARTED = e.SessionStarted(session="s1", kind="conversation", source="cli", model="m", system_prompt="")


class Leaving:
    """Context engines that leave so many of twenty messages, each of a token."""

    def __init__(self, left: int) -> None:
        self._left = left

    def of(self, _session: Session) -> ContextEngine:
        return cast(ContextEngine, self)

    def estimate(self, messages: tuple[object, ...]) -> int:
        return len(messages)

    def compress(self, history: History, _ask: object) -> CompressedHistory:
        kept = history.messages[: self._left]
        return CompressedHistory(messages=kept, summary="", removed=len(history.messages) - len(kept))


class NoPrompt:
    """Cannot be built again: the session keeps its own."""

    def start(self, session: Session) -> e.SessionStarted:
        raise Rejected("no", kind="no_prompt")


def compressed(session: Session, left: int) -> e.ContextCompressed:
    contexts = Leaving(left)
    performer = Compress(
        contexts=contexts,
        helpers=lambda session: (
            Helper(
                model=SimulatedModel(Gates(), []),
                name="m",
                window_of=lambda: 1_000,
                pricing=NoPrices(),
            ),
        ),
        retries=Retries(delay, ShiftedClock(lambda: 1.0), CountedIds()),
        prompt=NoPrompt(),
        sizing=CompressionPolicy(contexts, SimulatedToolbox(Gates()), lambda session, model: 1_000),
        ids=CountedIds(),
    )
    [step] = next_steps(session)
    outcome = performer.run(session, step, Switch())
    assert isinstance(outcome, c.FinishCompression)
    assert isinstance(outcome.outcome, e.ContextCompressed)
    return outcome.outcome


@pytest.fixture
def session() -> Session:
    asked = e.CompressionRequested(turn=None, reason="manual")
    flushed = e.ContextFlushed(turn=None, step="s1-flush-1")
    messages = tuple(UserMessage(str(number)) for number in range(20))
    return replace(fold(Session(stream="session-s1"), [STARTED, asked, flushed]), messages=messages)


def test_it_counts_those_in_a_row_that_won_nothing(session: Session) -> None:
    assert compressed(session, 19).in_vain == 1
    assert compressed(replace(session, ineffective_compressions=1), 19).in_vain == MAX_INEFFECTIVE
    assert compressed(replace(session, ineffective_compressions=1), 5).in_vain == 0


def test_a_notice_says_when_a_compression_is_the_last(session: Session) -> None:
    told: list[str] = []
    progress = ProgressLines(told.append, lambda: 0.0)
    for number, futile in enumerate((0, 1)):
        fact = compressed(replace(session, ineffective_compressions=futile), 19)
        progress.handle(
            RecordedEvent(
                position=number,
                stream="session-s1",
                version=number,
                event=fact,
                type="ContextCompressed",
                meta=EventMeta(worker="w"),
                recorded_at="2026-11-22T09:00:00.000000Z",
                schema=1,
                hash="",
            )
        )
        assert ("won next to nothing" in told[-1]) == (number == 1)
