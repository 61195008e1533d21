"""What is booked of an outcome that came too late: what was reported replaces what was estimated."""

from __future__ import annotations

import pytest

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.abnormal_outcomes import discarded_events
from hermes_jobs.kernel.log.log import StepRow
from hermes_jobs.kernel.streams.usage import NO_USAGE, Reservation, Usage
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.steps import Step

STEP = Step(id="t1-flush-1", stream="session-s1", kind="compression.flush", turn="t1")
RESERVED = Reservation(model="m", input_tokens=100, output_tokens=20, day="2026-11-22")


@pytest.mark.parametrize(
    ("usages", "booked"),
    [
        ([], [(NO_USAGE, None)]),
        ([NO_USAGE], [(NO_USAGE, None)]),
        ([Usage(90, 7)], [(Usage(90, 7), RESERVED)]),
        ([NO_USAGE, Usage(90, 7), Usage(5)], [(Usage(90, 7), RESERVED), (Usage(5), None)]),
    ],
)
def test_only_reported_usage_replaces_an_estimate(
    usages: list[Usage], booked: list[tuple[Usage, Reservation | None]]
) -> None:
    responses = tuple(
        e.ResponseBooked(turn="t1", step=STEP.id, purpose="flush", model="m", usage=each) for each in usages
    )
    command = c.FinishFlush(step=STEP.id, responses=responses)
    facts = discarded_events(StepRow(step=STEP, owner="w", fence=1), command, RESERVED)
    assert [(fact.usage, fact.reserved) for fact in facts] == booked
