"""A review ends once, whatever a person writes into its session afterwards."""

from __future__ import annotations

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.decision import StreamEvents
from hermes_jobs.kernel.streams.reactions import with_reactions
from hermes_jobs.kernel.turns.evolve import fold
from hermes_jobs.kernel.turns.session import Session

CONVERSATION = "session-s1"


def review(source: str) -> Session:
    """A review's session, with a turn from that source under way."""
    started = e.SessionStarted(
        session="v1", kind="review", source="review:memory", model="m", system_prompt="", parent="s1", at=3
    )
    submitted = e.TurnSubmitted(turn="t1", text="hello", source=source, session="v1")
    begun = e.ContextPrefetched(turn="t1", model="m", max_iterations=5)
    return fold(Session(stream="session-v1", forked_from="s1"), (started, submitted, begun))


def told(session: Session, *facts: e.SessionEvent) -> list[e.Event]:
    """What the conversation is told with those facts."""

    def load(stream: str) -> Session:
        return session if stream == session.stream else Session(stream=stream)

    writes = with_reactions([StreamEvents(session.stream, facts)], load).writes
    return [fact for write in writes if write.stream == CONVERSATION for fact in write.events]


def test_the_end_of_its_own_turn_ends_the_review() -> None:
    completed = e.TurnCompleted(turn="t1", answer="Saved it.")
    assert told(review("review:memory"), completed) == [e.ReviewCompleted(review="v1", saved="")]


def test_a_text_that_a_person_adds_to_the_reviews_session_ends_nothing_and_takes_nothing_up() -> None:
    session = review("cli")
    assert told(session, e.TurnCompleted(turn="t1", answer="Hi.")) == []
    assert told(session, e.TurnResumed(turn="t1")) == []
