"""The checker finds what it is there to find: each violation in a log that is otherwise in order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tests.faults.checker import Given, Line, violations

NO_USAGE = {"input_tokens": 0, "output_tokens": 0}
USED = {"input_tokens": 10, "output_tokens": 1001}
STARTED = ("ModelCallStarted", {"turn": "t1", "step": "t1-1"})
REPLIED = (
    "ModelReplied",
    {
        "turn": "t1",
        "step": "t1-1",
        "plan": [{"call": "t1-1-0", "effect": "write"}],
        "usage": USED,
        "estimated": NO_USAGE,
    },
)
RAN = ("ToolStarted", {"turn": "t1", "step": "t1-1-0", "call": "t1-1-0", "effect": "write"})
FINISHED = ("ToolFinished", {"turn": "t1", "call": "t1-1-0"})
AGAIN = ("ModelCallStarted", {"turn": "t1", "step": "t1-2"})
ANSWERED = ("ModelReplied", {**REPLIED[1], "step": "t1-2", "plan": [], "usage": NO_USAGE})
SUBMITTED = ("TurnSubmitted", {"turn": "t1", "text": "hello"})
COMPLETED = ("TurnCompleted", {"turn": "t1"})
RESUMED = ("TurnResumed", {"turn": "t1"})
TURN = (SUBMITTED, STARTED, REPLIED, RAN, FINISHED, AGAIN, ANSWERED, COMPLETED)
ABANDONED = ("StepAbandoned", {"turn": "t1", "step": "t1-1", "attempt": 1, "estimated": USED})
FIRED = ("ScheduleFired", {"schedule": "c1", "due": 60.0, "turn": "t1"})
RUN_ENDED = ("ScheduleRunEnded", {"schedule": "c1", "turn": "t1"})
REQUESTED = ("DeliveryRequested", {"delivery": "d1", "target": "file:/tmp/x", "turn": "t1"})
PLACED = ("DeliveryFailed", {"delivery": "d1", "retry_at": 60.0})
COMPRESS = ("CompressionRequested", {"turn": None, "reason": "manual"})
Fact = tuple[str, dict[str, Any]]


def log(*facts: Fact) -> list[Line]:
    """One stream with these facts."""
    return [
        {"position": at, "stream": "session-s1", "version": at, "type": kind, "data": data}
        for at, (kind, data) in enumerate(facts, 1)
    ]


def without(*left_out: Fact) -> Iterable[Fact]:
    return (fact for fact in TURN if fact not in left_out)


def test_a_log_in_order_has_no_violation() -> None:
    assert violations(log(*TURN), [Given(1001, "hello")]) == []
    assert violations(log(FIRED, *TURN, RUN_ENDED)) == []
    assert violations(log(*TURN, RESUMED, COMPLETED)) == []
    assert violations(log(SUBMITTED, STARTED, ABANDONED, COMPLETED), [Given(1001, "hello")]) == []


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        (without(COMPLETED), "turn t1 ended 0 times"),
        ([*TURN, COMPLETED], "turn t1 ended 2 times"),
        ([*TURN, SUBMITTED], "turn t1 was submitted 2 times"),
        (without(SUBMITTED), "turn t1 ended and was never submitted"),
        (without(FINISHED), "call t1-1-0 had no result when ModelCallStarted was appended"),
        (without(FINISHED, AGAIN, ANSWERED, COMPLETED), "call t1-1-0 of turn t1 never got a result"),
        ([*without(COMPLETED), FINISHED, COMPLETED], "call t1-1-0 got a result that nobody waited for"),
        ([SUBMITTED, STARTED, REPLIED, RAN, RAN, FINISHED, COMPLETED], "was started 2 times"),
        ([*TURN, ANSWERED], "comes after the end of turn t1"),
        ([*without(COMPLETED), ANSWERED, COMPLETED], "step t1-2 was replied to 2 times"),
        ([FIRED, *TURN], "turn t1: 1 times ScheduleFired, 0 times ScheduleRunEnded"),
        ([FIRED, *TURN, RUN_ENDED, FIRED], "schedule c1 fired 2 times for 60.0"),
        ([*TURN, REQUESTED, PLACED], "delivery d1: 1 times DeliveryRequested, 0 times DeliverySent"),
        ([*TURN, COMPRESS], "the compression asked for at position 9 never ended"),
    ],
)
def test_a_violation_is_found(facts: Iterable[Fact], found: str) -> None:
    assert found in "\n".join(violations(log(*facts)))


def test_a_response_that_nobody_booked_is_found_unless_it_was_estimated() -> None:
    lost = log(SUBMITTED, STARTED, COMPLETED)
    assert "1 responses of 'hello' are not booked" in violations(lost, [Given(1001, "hello")])[0]
    assert (
        "was booked 2 times"
        in violations(
            log(SUBMITTED, REPLIED, RAN, FINISHED, REPLIED, FINISHED, COMPLETED), [Given(1001, "x")]
        )[-1]
    )


def test_a_response_that_a_replay_asked_for_is_booked_by_the_end_of_its_call() -> None:
    ended = ("ReplayCallEnded", {"step": "r1", "usage": USED})
    found = violations(log(SUBMITTED, STARTED, COMPLETED, ended), [Given(1001, "hello")])
    assert not [each for each in found if "not booked" in each]


def test_a_gap_in_a_chain_is_found() -> None:
    lines = log(*TURN)
    assert "version 3 stands where 2 belongs" in violations([lines[0], *lines[2:]])[0]
    assert "position 1 stands behind position 2" in violations([lines[1], lines[0]])[1]
