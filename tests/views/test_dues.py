"""Since when steps are due: what the fold of the times holds is what the domain says is due."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_jobs.features.deliveries.events import DeliveryFailed, DeliveryRequested, DeliverySent
from hermes_jobs.features.schedules import events as schedules_events
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.kernel.turns.session import Session, stream_of
from hermes_jobs.kernel.turns.steps import next_steps
from hermes_jobs.kernel.views.queue_times import DueTracker, QueueWait
from tests.examples import examples
from tests.views.histories import random_history


def due_by_the_domain(session: Session) -> set[str]:
    """The due steps that nobody has begun and that wait for no person, by the names that `DueTracker` has."""
    turn = session.current
    begun = (
        {call.id for call in turn.calls if call.running or call.has_task or call.waits_for_person}
        if turn
        else set()
    )
    begun |= {turn.step_id} if turn and turn.running else set()
    steps = [step.id for step in next_steps(session) if step.id not in begun]
    calls = {call.id for call in turn.calls} if turn else set()
    return {step if step in calls else step.split("-", 1)[0] for step in steps}


@given(seed=st.integers(0, 2**32))
@settings(max_examples=examples(60))
def test_due_times_equal_those_of_the_domain(seed: int) -> None:
    history = random_history(Random(seed), 90, ("aa",))
    dues = DueTracker()
    own = [fact for stream, fact in history.facts if stream == stream_of("aa")]
    for at, fact in enumerate(own):
        wait = dues.apply(fact, float(at))
        assert wait is None or 0 <= wait.since <= wait.until == at
    session = history.sessions["aa"]
    turn, waiting = session.current, {turn.id for turn in session.waiting}
    current = {turn.id} if turn else set()
    assert {each.turn for each in dues.due.values()} <= waiting | current
    if turn is None or turn.cancelled_by or turn.finalizing:  # what a closing answer asks for is not done
        return
    if turn.open_references:  # a member has a row of its own once it was asked
        asked = {each.id for each in turn.references}
        assert {key for key, due in dues.due.items() if due.turn == turn.id != key} <= asked
        return
    calls = [key for key, due in dues.due.items() if due.turn == turn.id != key]
    kept = {key for key in calls or current if dues.due[key].since is not None}
    assert kept == due_by_the_domain(session)


def heard(*facts: tuple[float, e.Event]) -> list[QueueWait]:
    dues = DueTracker()
    return [wait for at, fact in facts if (wait := dues.apply(fact, at)) is not None]


def test_a_call_waits_for_those_before_it_and_not_for_its_worker() -> None:
    calls = (ToolCall("a", "x", "{}"), ToolCall("b", "x", "{}"))
    plan = (
        e.PlannedCall(call="t-1-0", effect="write"),
        e.PlannedCall(call="t-1-1", effect="write", after=("t-1-0",)),
    )
    replied = e.ModelReplied(
        turn="t", step="t-1", content="", model="m", finish_reason="stop", tool_calls=calls, plan=plan
    )
    begun = {
        call: e.ToolStarted(
            turn="t", step="t-1", call=call, name="x", arguments="{}", attempt=1, effect="write"
        )
        for call in ("t-1-0", "t-1-1")
    }
    waits = heard(
        (0, e.TurnSubmitted(turn="t", text="", source="cli", session="aa")),
        (1, e.ContextPrefetched(turn="t", model="m", max_iterations=9)),
        (1, e.ModelCallStarted(turn="t", step="t-1", attempt=1)),
        (2, replied),
        (3, begun["t-1-0"]),
        (7, e.ToolFinished(turn="t", call="t-1-0", ok=True, content="")),
        (9, begun["t-1-1"]),
    )
    assert [(wait.kind, wait.since, wait.until) for wait in waits] == [
        ("turn.prefetch", 0, 1),
        ("turn.call_model", 1, 1),
        ("turn.run_tool", 2, 3),
        ("turn.run_tool", 7, 9),
    ]


def test_a_review_s_own_turns_wait_in_its_queue() -> None:
    waits = heard(
        (0, e.ReviewRequested(review="v", kind="skills", reason="due")),
        (4, e.ReviewStarted(review="v", session="v", turn="t")),
        (4, e.TurnSubmitted(turn="t", text="", source="review:skills", session="v")),
        (5, e.ContextPrefetched(turn="t", model="m", max_iterations=9)),
    )
    assert [(wait.queue, wait.kind, wait.seconds) for wait in waits] == [
        ("reviews", "review.skills", 4),
        ("reviews", "turn.prefetch", 1),
    ]


def test_a_delivery_waits_until_it_is_sent_or_tried_again_and_the_inbox_is_no_queue() -> None:
    asked = DeliveryRequested(delivery="d", target="file:x", text="")
    waits = heard(
        (0, asked),
        (3, DeliveryFailed(delivery="d", attempt=1, message="full", retry_at=10.0)),
        (12, DeliverySent(delivery="d", attempt=2)),
        (12, DeliveryRequested(delivery="c", target="cli", text="")),
        (99, DeliverySent(delivery="c", attempt=1)),
    )
    assert [(wait.since, wait.until) for wait in waits] == [(0, 3), (10, 12)]


def test_lateness_is_the_time_between_due_and_begun() -> None:
    fired = schedules_events.ScheduleFired(schedule="c", due=100.0, turn="t", session="s", next_due=None)
    by_hand = schedules_events.ScheduleFired(
        schedule="c", due=100.0, turn="u", session="s", next_due=None, by="user"
    )
    assert [wait.seconds for wait in heard((103.0, fired), (200.0, by_hand))] == [3.0]
