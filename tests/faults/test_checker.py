"""The checker finds what it is there to find: each violation in a log that is otherwise in order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tests.faults.checker import Given, Line, violations
from tests.faults.child_checker import children_violations

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
CALL = {"turn": "t1", "call": "t1-1-0"}
BEGUN = ("ChildrenStarted", {**CALL, "children": [{"session": "s2", "turn": "t2", "goal": "x"}]})
APART = ("ChildrenStarted", {**BEGUN[1], "waits": False})
FIRST = {"turn": "t2", "text": "x", "source": "parent:s1", "opening": {"delegation": {"call": "t1-1-0"}}}
TOLD = ("ChildEnded", {**CALL, "child": "s2", "status": "completed"})
BECAME = ("TurnSubmitted", {"turn": "t2e", "text": "x", "source": "child:s2"})
OWN = (("TurnSubmitted", FIRST), ("ModelCallStarted", {"turn": "t2", "step": "t2-1"}))
CHILD_COMPLETED = ("TurnCompleted", {"turn": "t2"})
CANCELLED = ("TurnCancelled", {"turn": "t1"})
TAKEN = ("ChildSlotTaken", {"child": "s2"})


def log(*facts: Fact) -> list[Line]:
    """One stream with these facts."""
    return [
        {"position": at, "stream": "session-s1", "version": at, "type": kind, "data": data}
        for at, (kind, data) in enumerate(facts, 1)
    ]


def tree(parent: Iterable[Fact], child: Iterable[Fact]) -> list[Line]:
    """The streams of a parent, of its child `s2`, and of the places; each fact stands at its own moment but
    what is of one append: the beginning of the child, and its end."""
    both = [("session-s1", each) for each in parent] + [("session-s2", each) for each in child]
    order = ("TurnSubmitted", "ChildrenStarted", "TurnCancelled", "ModelCallStarted")
    both.sort(key=lambda each: order.index(each[1][0]) if each[1][0] in order else len(order))
    return [
        {
            "position": at,
            "stream": stream,
            "version": 1,
            "type": kind,
            "data": data,
            "recorded_at": "begun" if kind in {"TurnSubmitted", "ChildrenStarted"} else "ended",
        }
        for at, (stream, (kind, data)) in enumerate(both, 1)
    ]


@pytest.mark.parametrize(
    ("parent", "child", "found"),
    [
        ([BEGUN, TOLD], [*OWN, CHILD_COMPLETED], ""),
        ([APART, TOLD, BECAME], [*OWN, CHILD_COMPLETED], ""),
        ([BEGUN, BEGUN, TOLD], [*OWN, CHILD_COMPLETED], "child s2 was begun 2 times"),
        ([TOLD], [], "was told the end of s2, which it did not begin"),
        ([BEGUN, TOLD], [CHILD_COMPLETED], "child s2 has 0 first texts"),
        (
            [BEGUN, TOLD],
            [("TurnSubmitted", {**FIRST, "opening": {"delegation": {"call": "t9-1-0"}}}), CHILD_COMPLETED],
            "says that another call began it",
        ),
        ([BEGUN], [*OWN, CHILD_COMPLETED], "was told 0 ends"),
        ([BEGUN, TOLD, TOLD], [*OWN, CHILD_COMPLETED], "was told 2 ends"),
        ([BEGUN, TOLD], OWN, "has no end of its own"),
        ([BEGUN, TOLD], [*OWN, ("TurnFailed", {"turn": "t2"})], "is told as completed and ended with TurnF"),
        ([APART, TOLD], [*OWN, CHILD_COMPLETED], "the end of s2 became 0 texts"),
        ([APART, TOLD, BECAME, BECAME], [*OWN, CHILD_COMPLETED], "the end of s2 became 2 texts"),
        ([BEGUN, TOLD, BECAME], [*OWN, CHILD_COMPLETED], "the end of s2 became 1 texts"),
        ([BEGUN, FINISHED, TOLD], [*OWN, CHILD_COMPLETED], "call t1-1-0 ended before its child s2"),
        ([BEGUN, CANCELLED, TOLD], [*OWN, CHILD_COMPLETED], "ModelCallStarted after the cancel of turn t1"),
        ([BEGUN, TAKEN, TOLD], [*OWN, CHILD_COMPLETED], "child s2 holds 1 places at the end"),
    ],
)
def test_a_violation_of_delegation_is_found(
    parent: Iterable[Fact], child: Iterable[Fact], found: str
) -> None:
    told = list(children_violations(tree(parent, child)))
    assert found in "\n".join(told)
    assert bool(told) == bool(found)


def test_facts_of_one_append_that_are_split_over_two_are_found() -> None:
    lines = tree([BEGUN, TOLD], [*OWN, CHILD_COMPLETED])
    late = [{**line, "recorded_at": f"{line['recorded_at']} {line['stream']}"} for line in lines]
    assert "\n".join(children_violations(late)).count("are two appends") == 2


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


def test_an_unbooked_response_is_found_unless_it_was_estimated() -> None:
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


def test_a_killed_replay_call_is_booked_as_its_reservation() -> None:
    planned = ("ReplayPlanned", {"replay": "r1", "turns": [{"turn": "t0"}, {"turn": "t1"}]})
    started = ("HelperCallStarted", {"step": "r1-v2t2s1c1", "lost": {"output_tokens": 8192}})
    given = [Given(1001, "hello")]
    found = violations(log(SUBMITTED, STARTED, COMPLETED, planned, started), given)
    assert not [each for each in found if "not booked" in each]
    first = ("HelperCallStarted", {"step": "r1-v2t2s1c1", "lost": None})
    found = violations(log(SUBMITTED, STARTED, COMPLETED, planned, first), given)
    assert [each for each in found if "not booked" in each]
