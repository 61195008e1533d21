"""Consolidations: what may be asked for when, what an answer comes to, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes_jobs.errors import Rejected, StepLost
from hermes_jobs.features.consolidation import events as consolidation_events
from hermes_jobs.features.consolidation.rules import (
    DAILY,
    Consolidation,
    again,
    cancel,
    charges,
    ended,
    evolve,
    next_steps,
    request,
    stream_of,
)
from hermes_jobs.features.memory import events as memory_events
from hermes_jobs.features.memory.rules.memory import Memory
from hermes_jobs.features.memory.rules.observations import Observation
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.helper_calls import fail, failure, record_start, required
from hermes_jobs.kernel.streams.accounts import Amount
from hermes_jobs.kernel.streams.budgets import charged
from hermes_jobs.kernel.streams.decision import Decision
from hermes_jobs.kernel.streams.forgetting import ENDED_BECAUSE
from hermes_jobs.kernel.streams.usage import Reservation, Usage
from hermes_jobs.kernel.turns.session import Session

STREAM = stream_of("s1")
STEP = "o1-1"
ASKED = consolidation_events.ConsolidationRequested(
    review="o1", after=0, until=9, by="clock", reason="1 turn"
)
RESERVED = Reservation(model="m", input_tokens=100, output_tokens=20, day="2026-11-22", cost_usd=0.5)
STARTED = e.HelperCallStarted(step=STEP, attempt=1, reserved=RESERVED)
ENDED = consolidation_events.ConsolidationEnded(review="o1", step=STEP, attempt=1, model="m")
FAILED = e.HelperCallFailed(step=STEP, attempt=1, kind="server", message="Down.")
BOOKED = e.ResponseBooked(
    turn=None, step=STEP, purpose="consolidate", model="m", usage=Usage(90, 10), cost_usd=0.25
)
FOUND = Observation(number=1, text="Anna lives in Bern.", day="2026-11-21", turns=("t1",), session="s1")


def after(*events: Any) -> Consolidation:
    return reduce(evolve, events, Consolidation(stream=STREAM))


def decided(
    state: Consolidation, decision: Decision, *, memory: Memory | None = None, session: Session | None = None
) -> Sequence[e.Event]:
    """All events of the decision, in the order of its writes."""
    states: dict[str, Any] = {
        STREAM: state,
        "memory": memory or Memory(),
        "session-s1": session or Session(stream="session-s1"),
    }
    result = decision(lambda stream: states[stream])
    return [event for write in result.writes for event in write.events]


def asking(after_version: int, until: int, review: str = "o2") -> consolidation_events.ConsolidationRequested:
    return consolidation_events.ConsolidationRequested(
        review=review, after=after_version, until=until, by="clock", reason=""
    )


def test_the_next_part_is_asked_for_and_makes_one_step_due() -> None:
    assert decided(after(), request(ASKED, "s1")) == [ASKED]
    (step,) = next_steps(after(ASKED))
    assert (step.id, step.kind, step.queue) == (STEP, "review.consolidate", "reviews")


@pytest.mark.parametrize(
    ("state", "asked"),
    [
        (after(ASKED), asking(0, 9)),  # under way
        (after(ASKED, ENDED), asking(0, 9)),  # read
        (after(ASKED, ENDED), asking(4, 12)),  # read in part
        (after(ASKED, ENDED), asking(9, 9)),  # nothing new
    ],
)
def test_running_or_read_conversations_are_not_requested(
    state: Consolidation, asked: consolidation_events.ConsolidationRequested
) -> None:
    assert decided(state, request(asked, "s1")) == []


def test_turns_that_came_later_are_asked_for() -> None:
    asked = asking(9, 14)
    assert decided(after(ASKED, ENDED), request(asked, "s1")) == [asked]
    assert after(ASKED, ENDED, asked, ENDED).done == 14


@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.integers(0, 6), st.sampled_from(["end", "fail", "leave"])),
        max_size=20,
    )
)
def test_no_version_is_read_twice_in_any_order_of_requests(
    wishes: list[tuple[int, int, str]],
) -> None:
    state, read = after(), list[int]()
    for first, last, then in wishes:
        asked = asking(first, last)
        for event in decided(state, request(asked, "s1")):
            state = evolve(state, event)  # type: ignore[arg-type]
        if state.requested is None or then == "leave":
            continue
        if then == "end":
            read += range(state.requested.after + 1, state.requested.until + 1)
        state = evolve(state, ENDED if then == "end" else FAILED)
    assert read == sorted(set(read))


def test_an_observation_is_written_in_the_append_of_the_outcome() -> None:
    outcome = ended(STREAM, ENDED, (FOUND,), (BOOKED,), 2_000)
    booked, told, written = decided(after(ASKED, STARTED), outcome)
    assert booked == BOOKED
    assert told == consolidation_events.ConsolidationEnded(
        review="o1", step=STEP, attempt=1, model="m", saved=1
    )
    assert written == memory_events.MemoryAdded(
        target="memory",
        content=FOUND.text,
        author="consolidation",
        evidence=memory_events.Evidence(session="s1", turn="t1"),
        kind="episodic",
        tags=("observation",),
        observed="2026-11-21",
        observed_in=("t1",),
        review="o1",
    )


def test_facts_of_the_memory_are_not_written_twice() -> None:
    memory = Memory(user=("anna  lives in Bern",))
    (told,) = decided(after(ASKED, STARTED), ended(STREAM, ENDED, (FOUND, FOUND), (), 2_000), memory=memory)
    assert isinstance(told, consolidation_events.ConsolidationEnded)
    assert (told.saved, told.known) == (0, 2)


def test_nothing_is_written_of_a_conversation_that_was_deleted_meanwhile() -> None:
    deleted = Session(stream="session-s1", ended_because=ENDED_BECAUSE)
    (told,) = decided(after(ASKED, STARTED), ended(STREAM, ENDED, (FOUND,), (), 2_000), session=deleted)
    assert told == ENDED


@pytest.mark.parametrize("state", [after(), after(ASKED, ENDED), after(ASKED, FAILED)])
def test_an_outcome_that_comes_too_late_is_lost(state: Consolidation) -> None:
    for decision in (record_start(STREAM, STEP, RESERVED), ended(STREAM, ENDED), fail(STREAM, FAILED)):
        with pytest.raises(StepLost):
            decided(state, decision)


def test_a_failure_with_a_time_keeps_the_step_due_at_it() -> None:
    later = failure(required(after(ASKED, STARTED), STEP), "rate_limit", "Wait.", retry_at=1_800_000_000.5)
    (step,) = next_steps(after(ASKED, STARTED, later))
    assert (step.id, step.attempt, step.not_before) == (STEP, 2, 1_800_000_000.5)
    assert next_steps(after(ASKED, STARTED, FAILED)) == ()


def test_a_failed_consolidation_is_retried_as_another_step() -> None:
    (asked,) = decided(after(ASKED, FAILED), again("s1", "o1"))
    assert isinstance(asked, consolidation_events.ConsolidationRequested)
    (step,) = next_steps(after(ASKED, FAILED, asked))
    assert step.id == "o1-2"
    for state in (after(), after(ASKED), after(ASKED, ENDED)):
        with pytest.raises(Rejected):
            decided(state, again("s1", "o1"))


def test_one_that_waits_is_cancelled_and_one_that_runs_is_not() -> None:
    (told,) = decided(after(ASKED), cancel("s1", "o1", "user"))
    assert isinstance(told, e.HelperCallFailed)
    assert told.kind == "cancelled"
    for state, review in ((after(ASKED, STARTED), "o1"), (after(ASKED), "o9"), (after(ASKED, ENDED), "o1")):
        with pytest.raises(Rejected):
            decided(state, cancel("s1", review, "user"))


def spent(*events: Any) -> dict[str, tuple[Amount, Amount]]:
    """What was spent and is reserved on each account after these events, one append each."""
    state, sums = after(), dict[str, tuple[Amount, Amount]]()
    for event in events:
        appended = event if isinstance(event, tuple) else (event,)
        for charge in charges(state, appended, lambda: "2026-11-22"):
            paid, held = sums.get(charge.account, (Amount(0, 0), Amount(0, 0)))
            sums[charge.account] = (paid + charge.spent, held + charge.reserved)
        state = reduce(evolve, appended, state)
    return sums


def test_its_cost_is_charged_to_its_stream_the_day_and_the_days_consolidations() -> None:
    accounts = spent(ASKED, STARTED, (BOOKED, ENDED))
    assert set(accounts) == {STREAM, "day-2026-11-22", f"{DAILY}2026-11-22"}
    assert set(accounts.values()) == {(Amount(100, 250_000_000), Amount(0, 0))}


def test_a_call_of_a_dead_worker_counts_as_its_reservation() -> None:
    taken_over = replace(STARTED, lost=RESERVED)
    lost = charged(FAILED, RESERVED)
    accounts = spent(ASKED, STARTED, taken_over, lost)
    assert set(accounts.values()) == {(Amount(240, 1_000_000_000), Amount(0, 0))}
