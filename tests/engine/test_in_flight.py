"""The running steps of a process, and how they are cancelled."""

from __future__ import annotations

from hermes_jobs.kernel.engine.in_flight import LOST, InFlightSteps


def test_steps_that_are_stopped_again_and_again_count_once() -> None:
    running = InFlightSteps()
    with running.track("t1-1", "t1"), running.track("t2-1", "t2"):
        assert [running.stop(LOST) for _ in range(3)] == [2, 0, 0]
