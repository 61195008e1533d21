"""Who listens to a session is told what it came to by one step at a time, until nothing is left to tell."""

from __future__ import annotations

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.subscriptions import (
    FIRST_WAIT,
    MAX_ATTEMPTS,
    Subscription,
    notification_failed,
)
from hermes_jobs.kernel.turns.evolve import fold
from hermes_jobs.kernel.turns.session import Session, fork_of
from hermes_jobs.kernel.turns.steps import Step, next_steps

MEMORY, CONTEXT = "memory:notes", "context:sliding"


def turn(number: int, *listeners: str) -> list[e.SessionEvent]:
    name = f"t{number}"
    return [
        e.TurnSubmitted(turn=name, text="hello", source="cli", session="s1"),
        e.ContextPrefetched(turn=name, model="m", max_iterations=5, listeners=listeners),
        e.TurnCompleted(turn=name, answer="Hi."),
    ]


def after(*facts: e.SessionEvent, session: Session | None = None) -> Session:
    return fold(session or Session(stream="session-s1"), facts)


def telling(session: Session) -> list[Step]:
    return [step for step in next_steps(session) if step.kind.startswith("listener.")]


def test_a_turn_that_ends_makes_one_step_due_for_each_listener() -> None:
    memory, context = telling(after(*turn(1, MEMORY, CONTEXT)))
    assert (memory.id, memory.kind, memory.queue) == ("s1-memory-1", "listener.memory", "deliveries")
    assert (context.id, context.kind) == ("s1-context-1", "listener.context")
    assert memory.operation is None, "it is a job, and no act of the session"


def test_nothing_is_due_within_a_turn_or_without_listeners() -> None:
    assert telling(after(*turn(1, MEMORY)[:-1])) == []
    assert telling(after(*turn(1))) == []


def test_events_during_a_step_are_due_after_it() -> None:
    session = after(*turn(1, MEMORY))
    later = after(*turn(2, MEMORY), session=session)
    assert telling(later) == telling(session)
    told = after(e.ListenerTold(listener=MEMORY, upto=3), session=later)
    assert [step.id for step in telling(told)] == ["s1-memory-3"]
    assert telling(after(e.ListenerTold(listener=MEMORY, upto=7), session=told)) == []


def test_a_later_listener_gets_later_events() -> None:
    session = after(*turn(1, MEMORY), e.ListenerTold(listener=MEMORY, upto=3), *turn(2, MEMORY, CONTEXT))
    assert [step.id for step in telling(session)] == ["s1-memory-3", "s1-context-5"]


def test_one_that_listens_no_more_is_owed_nothing() -> None:
    assert telling(after(*turn(1, MEMORY), *turn(2))) == []


def test_compressions_and_ends_are_due_although_no_turn_ends() -> None:
    session = after(*turn(1, MEMORY), e.ListenerTold(listener=MEMORY, upto=3))
    assert telling(after(e.SessionEnded(session="s1", reason="user"), session=session))
    assert telling(after(e.ReviewCompleted(review="v1", saved="Likes tea."), session=session))


def test_a_fork_has_no_listeners_before_its_first_turn() -> None:
    assert fork_of(after(*turn(1, MEMORY)), "session-s2").listeners == ()


def test_a_failing_call_is_retried_later_and_given_up_at_last() -> None:
    session = after(*turn(1, MEMORY))
    waits = []
    for attempt in range(1, MAX_ATTEMPTS + 1):
        [step], [listening] = telling(session), session.listeners
        assert (step.id, step.attempt) == ("s1-memory-1", attempt)
        told = notification_failed(listening, 1, "It was away.", now=1_000.0, fraction=0.0)
        session = after(told, session=session)
        waits.append((told.retry_at or 1_000.0) - 1_000.0)
        assert session.listeners[0].retry_at == (told.retry_at or 0.0)
    assert waits == [FIRST_WAIT * 2**n for n in range(MAX_ATTEMPTS - 1)] + [0.0]
    [step] = telling(session)
    assert (step.id, step.attempt) == ("s1-memory-2", 1), "it continues behind that fact"


def test_progress_resets_the_count_of_failures() -> None:
    listening = Subscription(name=MEMORY, cursor=1, latest=9, attempt=MAX_ATTEMPTS)
    told = notification_failed(listening, 4, "It was away.", now=1_000.0, fraction=0.0)
    assert (told.upto, told.attempt, told.retry_at) == (4, 1, 1_000.0 + FIRST_WAIT)
