from __future__ import annotations

import pytest
from msgspec.structs import replace

from hermes_jobs.features.deliveries.events import DeliveryRequested
from hermes_jobs.features.gateway.rules.news import immediate_notices, with_news
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.decision import StreamEvents
from hermes_jobs.kernel.streams.reactions import with_reactions
from hermes_jobs.kernel.streams.stream_kind import StreamState
from hermes_jobs.kernel.streams.streams import initial_state
from hermes_jobs.kernel.turns.evolve import fold
from hermes_jobs.kernel.turns.review_rules import news_of
from hermes_jobs.kernel.turns.session import Session

LEARNED = e.ReviewCompleted(review="r", saved="likes tea")


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (LEARNED, "Learned meanwhile: likes tea"),
        (e.ReviewCompleted(review="r", saved=""), None),
        (e.SessionTitled(session="s", title="x"), None),
    ],
)
def test_chats_get_these_notices_of_events(event: e.SessionEvent, words: str | None) -> None:
    assert news_of(event) == words


def test_news_wait_for_the_next_answer_and_are_sent_once() -> None:
    session = fold(Session(stream="session-s"), [LEARNED, LEARNED])
    assert with_news("Yes.", session.news) == "Yes.\n\nLearned meanwhile: likes tea"
    assert with_news("Yes.", ()) == "Yes."


ANNA = "telegram:12"
RETRIED = e.ModelCallFailed(
    turn="t1", step="t1-1", attempt=1, kind="out_of_quota", message="x", model="m", retry_at=9.0
)
LEFT = replace(RETRIED, fallback="spare")
WAITS = replace(RETRIED, quota_until=1.8e9)
COMPRESSED = e.ContextCompressed(
    turn="t1",
    step="t1-c",
    into="s2",
    number=1,
    summary="s",
    messages=(),
    removed=4,
    tokens_before=9_000,
    tokens_after=2_000,
)
PRESSED = e.ContextPressure(turn="t1", tokens=900, threshold=1_000, window=2_000)


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (LEFT, "(The model m cannot be used (out of quota): spare answers instead.)"),
        (
            WAITS,
            "(The quota of the model m is used up until Fri 15 Jan 2027 08:00 UTC; I continue at that time.)",
        ),
        (WAITS, "(/model NAME continues with another model, /stop ends it.)"),
        (
            COMPRESSED,
            "(4 messages gave way to a summary: a request shrinks from about 9,000 to 2,000 tokens",
        ),
        (
            PRESSED,
            "(The conversation fills 90% of what is kept before it is compressed (900 of",
        ),
        (replace(PRESSED, advice="Take a larger one."), "(Take a larger one.)"),
    ],
)
def test_a_chat_gets_news_of_its_turn_at_once(event: e.SessionEvent, words: str) -> None:
    (requested,) = deliveries_of(ANNA, event)
    assert words in requested.text
    assert requested.target == ANNA


@pytest.mark.parametrize("event", [LEFT, WAITS, COMPRESSED, PRESSED])
def test_a_file_or_another_chat_gets_answers_alone(event: e.SessionEvent) -> None:
    assert deliveries_of("file:/tmp/answers", event) == []


def test_a_retry_sends_no_notice() -> None:
    assert immediate_notices(RETRIED) == ()


def test_two_notices_of_one_append_are_two_deliveries() -> None:
    first, second = deliveries_of(ANNA, PRESSED, LEFT)
    assert first.delivery != second.delivery


def test_learned_items_are_sent_with_the_answer_and_not_with_a_notice() -> None:
    (requested,) = deliveries_of(ANNA, LEFT, before=(LEARNED,))
    assert "Learned" not in requested.text


def deliveries_of(
    target: str, *facts: e.SessionEvent, before: tuple[e.SessionEvent, ...] = ()
) -> list[DeliveryRequested]:
    """What those facts of a turn that was written on Telegram send there."""
    submitted = e.TurnSubmitted(
        turn="t1", text="hello", source="telegram", session="s1", opening=e.Opening(), deliver=(target,)
    )
    session = fold(Session(stream="session-s1"), [submitted, *before])

    def load(stream: str) -> StreamState:
        return session if stream == session.stream else initial_state(stream)

    writes = with_reactions([StreamEvents(session.stream, facts)], load).writes
    return [fact for write in writes for fact in write.events if isinstance(fact, DeliveryRequested)]
