from __future__ import annotations

import pytest

from hermes_jobs.domain import events as e
from hermes_jobs.domain.gateway.news import told, with_news
from hermes_jobs.domain.session.evolve import fold
from hermes_jobs.domain.session.session import Session

LEARNED = e.ReviewCompleted(review="r", saved="likes tea")


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (LEARNED, "Learned meanwhile: likes tea"),
        (e.ReviewCompleted(review="r", saved=""), None),
        (e.SessionTitled(session="s", title="x"), None),
    ],
)
def test_what_a_chat_is_told_of_an_event(event: e.SessionEvent, words: str | None) -> None:
    assert told(event) == words


def test_news_wait_for_the_next_answer_and_are_told_once() -> None:
    session = fold(Session(stream="session-s"), [LEARNED, LEARNED])
    assert with_news("Yes.", session.news) == "Yes.\n\nLearned meanwhile: likes tea"
    assert with_news("Yes.", ()) == "Yes."
