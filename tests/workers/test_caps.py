"""No kind of step takes all threads of a process, and what had to wait is sent again."""

from __future__ import annotations

from hermes_jobs.kernel.turns.steps import Step, StepKind
from workers.tasks import ConcurrencyLimits


def step(number: int, kind: StepKind = "turn.call_model") -> Step:
    return Step(id=f"t{number}-1", stream="session-s", kind=kind)


def test_model_calls_leave_threads_for_the_rest() -> None:
    caps = ConcurrencyLimits(concurrency=4)
    assert [caps.enter(step(at)) for at in range(4)] == [True, True, True, False]
    assert caps.enter(step(9, "turn.record_usage"))
    assert caps.enter(step(9, "turn.run_tool"))


def test_a_deferred_step_comes_back_when_one_of_its_kind_has_ended() -> None:
    caps = ConcurrencyLimits(concurrency=1)
    assert caps.enter(step(1))
    assert not caps.enter(step(2))
    assert caps.leave(step(1)) == step(2)
    assert caps.enter(step(2))
    assert caps.leave(step(2)) is None


def test_a_tool_that_ends_brings_back_no_model_call() -> None:
    caps = ConcurrencyLimits(concurrency=1)
    assert caps.enter(step(1))
    assert caps.enter(step(1, "turn.run_tool"))
    assert not caps.enter(step(2))
    assert caps.leave(step(1, "turn.run_tool")) is None


def test_a_step_that_was_held_up_waits_for_another_of_its_kind_to_end() -> None:
    caps = ConcurrencyLimits(concurrency=4)
    assert caps.enter(step(1))
    assert caps.enter(step(2))
    assert caps.leave(step(2), held_up=True) is None
    assert caps.leave(step(1)) == step(2)
