"""Models for reviews and summaries that fail: the session's own model answers, and people are told once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from hermes_jobs.bootstrap import Application
from hermes_jobs.features.reviews.tables import select_reviews
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.model_pauses import LASTING_SECONDS, PASSING_SECONDS, STREAM
from hermes_jobs.kernel.streams.usage import NO_USAGE
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.context_notices import notices, turn_warnings
from hermes_jobs.kernel.turns.review_rules import news_of
from hermes_jobs.runtime.inline_worker import InlineWorker
from tests.model_script import Action, Answer, Drop, Hold, Raw, Refuse
from tests.model_server import ModelServer
from tests.reviews.conftest import Make
from tests.reviews.talker import has_ended, is_review, is_summary, long_question, talker
from tests.tables import sampled

SESSION = "session-s1"
USED = {"prompt_tokens": 100, "completion_tokens": 7}
FAILURES: dict[str, tuple[Action, bool]] = {
    "no such model": (Refuse(status=404, message="The model `small` does not exist"), True),
    "a refused key": (Refuse(status=401, message="Invalid API key"), True),
    "no money": (Refuse(status=402, message="Insufficient credits"), True),
    "an error": (Refuse(status=500, message="Internal error"), False),
    "overload": (Refuse(status=529, message="Overloaded"), False),
    "a cut connection": (Drop(), False),
    "an answer that breaks off": (Drop(text="It begins"), False),
    "nonsense": (Raw(body="<html>Welcome</html>", content_type="text/html"), False),
    "silence": (Hold(), False),
}
"""What the model for it does, and whether that lasts until a person does something."""


@pytest.fixture
def small() -> Iterator[ModelServer]:
    server = ModelServer().start()
    yield server
    server.close()


def begin(make_installation: Make, server: ModelServer, small: ModelServer, **more: object) -> Application:
    server.follow(talker)
    tasks = {
        f"AUXILIARY__{task}__{name}": value
        for task in ("REVIEW", "COMPRESSION")
        for name, value in (("MODEL", "small"), ("BASE_URL", small.base_url))
    }
    return make_installation(
        {"AUXILIARY_API_KEY": "sk-of-the-other-endpoint-0123456789"},
        **{"MODEL__IDLE_TIMEOUT": 2, "COMPRESSION__PROTECT_LAST_N": 2, **tasks, **more},
    )


def talk(worker: InlineWorker, *numbers: int) -> None:
    """Turns of a session whose own model is `mine`, and what follows from them."""
    for number in numbers:
        turn = f"t{number}"
        opening = None if number else e.Opening(model="mine")
        worker.engine.submit(
            e.TurnSubmitted(
                turn=turn,
                session="s1",
                text=long_question(number),
                source="cli",
                opening=opening or e.Opening(),
            )
        )
        worker.work(partial(has_ended, worker, SESSION, turn), stream=SESSION)
        worker.drain()


def lasted(application: Application, purpose: str) -> bool:
    """Whether the model is left alone for long."""
    facts = [each.event for each in application.log.read(STREAM)]
    (pause,) = [fact for fact in facts if isinstance(fact, e.HelperPaused) and fact.purpose == purpose]
    seconds = pause.until - application.clock.now()
    assert seconds <= (LASTING_SECONDS if seconds > PASSING_SECONDS else PASSING_SECONDS)
    return seconds > PASSING_SECONDS


@pytest.mark.parametrize("failure", sampled(FAILURES, 3))
def test_the_sessions_own_model_reviews_where_the_one_for_reviews_fails(
    failure: str, make_installation: Make, model_server: ModelServer, small: ModelServer
) -> None:
    action, lasts = FAILURES[failure]
    small.follow(lambda seen: action)
    application = begin(make_installation, model_server, small, MEMORY__NUDGE_INTERVAL=1)
    with InlineWorker(application) as worker:
        talk(worker, 0, 1)
    assert len(small.requests) == 1, "a model that has failed is left alone for a while"
    assert {seen.body["model"] for seen in model_server.requests if is_review(seen)} == {"mine"}
    ends = [each.event for each in application.log.read(SESSION)]
    first, second = [end for end in ends if isinstance(end, e.ReviewCompleted)]
    assert first.saved == "Saved it."
    assert first.failures.startswith("small: ")
    assert "as another one failed: small: " in str(news_of(first))
    assert second.failures == "", "people are told once"
    newest, oldest = application.views.read(select_reviews)
    assert ("small: " in oldest.message, newest.message) == (True, "")
    assert lasted(application, "review") == lasts


@pytest.mark.parametrize("failure", sampled(FAILURES, 3))
def test_the_sessions_own_model_summarises_where_the_one_for_summaries_fails(
    failure: str, make_installation: Make, model_server: ModelServer, small: ModelServer
) -> None:
    action, lasts = FAILURES[failure]
    small.follow(lambda seen: action if is_summary(seen) else talker(seen))
    application = begin(
        make_installation, model_server, small, MEMORY__NUDGE_INTERVAL=0, MODEL__CONTEXT_LENGTH=8_000
    )
    with InlineWorker(application) as worker:
        for numbers in ((0, 1, 2, 3, 4, 5), (6, 7, 8, 9)):
            talk(worker, *numbers)
            worker.engine.execute(SESSION, c.RequestCompression(reason="manual"))
            worker.drain()
    assert len([seen for seen in small.requests if is_summary(seen)]) == 1
    assert {seen.body["model"] for seen in model_server.requests if is_summary(seen)} == {"mine"}
    facts = [each.event for each in application.log.read(SESSION)]
    first, second = [fact for fact in facts if isinstance(fact, e.ContextCompressed)][:2]
    (failed,) = turn_warnings(first)
    assert failed.startswith("another model summarised: small: ")
    assert notices(first)[1] == failed
    (doubt,) = turn_warnings(second)
    assert doubt.startswith("this was compression 2 of the session: details may be lost")
    assert (bool(first.summary), bool(second.summary), second.failures) == (True, True, "")
    assert lasted(application, "compression") == lasts


def test_a_model_that_fails_at_a_flush_is_replaced_by_the_sessions_own(
    make_installation: Make, model_server: ModelServer, small: ModelServer
) -> None:
    small.follow(lambda seen: Refuse(status=404, message="The model `small` does not exist"))
    application = begin(
        make_installation, model_server, small, MEMORY__NUDGE_INTERVAL=0, MODEL__CONTEXT_LENGTH=8_000
    )
    with InlineWorker(application) as worker:
        talk(worker, 0, 1, 2, 3, 4, 5)
        worker.engine.execute(SESSION, c.RequestCompression(reason="manual"))
        worker.drain()
    assert {seen.body["model"] for seen in model_server.requests} == {"mine"}
    assert "Flushed in request" in str(application.memory.sync())


@pytest.mark.parametrize(
    ("action", "reported"), [(Answer(finish_reason="content_filter", usage=USED), True), (Hold(), False)]
)
def test_a_failed_review_call_is_booked_under_its_own_model(
    action: Action,
    reported: bool,
    make_installation: Make,
    model_server: ModelServer,
    small: ModelServer,
) -> None:
    small.follow(lambda seen: action)
    application = begin(make_installation, model_server, small, MEMORY__NUDGE_INTERVAL=1)
    with InlineWorker(application) as worker:
        talk(worker, 0)
    facts = [each.event for each in application.log.tail(0, 1_000)]
    (booked,) = [fact for fact in facts if isinstance(fact, e.ResponseBooked)]
    assert (booked.model, booked.purpose) == ("small", "review")
    assert (booked.usage != NO_USAGE, booked.estimated != NO_USAGE) == (reported, not reported)
    assert [fact.saved for fact in facts if isinstance(fact, e.ReviewCompleted)] == ["Saved it."]


def test_where_no_model_can_summarise_each_is_named_with_its_error_also_one_that_is_left_alone(
    make_installation: Make, model_server: ModelServer, small: ModelServer
) -> None:
    refused = Refuse(status=404, message="The model `small` does not exist")
    small.follow(lambda seen: refused if is_summary(seen) else talker(seen))
    application = begin(
        make_installation, model_server, small, MEMORY__NUDGE_INTERVAL=0, MODEL__CONTEXT_LENGTH=8_000
    )
    broken = Refuse(status=401, message="Invalid API key")
    model_server.follow(lambda seen: broken if is_summary(seen) else talker(seen))
    with InlineWorker(application) as worker:
        talk(worker, 0, 1, 2, 3, 4, 5)
        for _ in range(2):
            worker.engine.execute(SESSION, c.RequestCompression(reason="manual"))
            worker.drain()

    failures = [
        each.event.message
        for each in application.log.read(SESSION)
        if isinstance(each.event, e.CompressionFailed)
    ]
    assert len(failures) == 2
    for message in failures:
        assert "small: " in message
        assert "`small` does not exist" in message
        assert "mine: " in message
        assert "Invalid API key" in message
