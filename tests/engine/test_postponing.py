"""How long a turn waits for what it cannot begin without: growing pauses, and an end."""

from __future__ import annotations

from itertools import pairwise

import pytest

from hermes_jobs.kernel.engine.handlers.prefetch import LONGEST_PAUSE, Prefetch
from hermes_jobs.kernel.engine.handlers.request_builder import TurnLimits
from hermes_jobs.kernel.engine.in_flight import CancelToken
from hermes_jobs.kernel.engine.ports import NotYet
from hermes_jobs.kernel.events import SessionStarted
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.session import Session
from tests.domain.world import World
from tests.engine.simulation import CountedIds
from tests.manual_clock import ManualClock


class Absent:
    """A prompt that lacks a server."""

    def start(self, session: Session) -> SessionStarted:
        raise NotYet("A server is away.", kind="mcp", hint="Start it.", what="the server")


def pauses(longest: float) -> tuple[list[float], c.FailTurn]:
    """The pauses between the tries of a turn, in seconds, and how it fails at last."""
    world, clock = World(), ManualClock()
    limits = TurnLimits(max_iterations=1, max_tokens=None, approval_seconds=1.0, wait_for_required=longest)
    handler = Prefetch(Absent(), limits, clock=clock, ids=CountedIds())
    world.submit()
    waited: list[float] = []
    while True:
        (step,) = world.due
        outcome = handler.run(world.session, step, CancelToken())
        if isinstance(outcome, c.FailTurn):
            return waited, outcome
        assert isinstance(outcome, c.PostponeTurn)
        waited.append(outcome.retry_at - clock.now())
        world.do(outcome)
        clock.moment = outcome.retry_at


def test_the_pauses_grow_up_to_ten_minutes() -> None:
    waited, _ = pauses(86_400.0)
    assert waited[0] == pytest.approx(2.0, rel=0.1)
    assert all(later <= 2.2 * earlier for earlier, later in pairwise(waited))
    assert max(waited) <= LONGEST_PAUSE * 1.1
    assert len([each for each in waited if each >= LONGEST_PAUSE]) > 100


def test_it_fails_where_it_has_waited_for_as_long_as_it_may() -> None:
    waited, failed = pauses(60.0)
    assert sum(waited) == pytest.approx(60.0)
    assert (failed.kind, failed.hint) == ("mcp", "Start it.")
    assert failed.message == "A server is away. The turn waited for 1 min."


def test_without_patience_it_fails_at_once() -> None:
    waited, failed = pauses(0.0)
    assert (waited, failed.message) == ([], "A server is away.")
