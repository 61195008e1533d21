"""Summaries that models do not give at once: longer than they may say, cut off, or not awaited."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from hermes_jobs.features.usage.tables.estimates import select_estimates
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.log.verify import verify
from hermes_jobs.kernel.streams.usage import NO_USAGE, Usage
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.session import Session, stream_of
from hermes_jobs.runtime.inline_worker import InlineWorker
from hermes_jobs.text.tokens import CHARACTERS_A_TOKEN, token_weight
from tests.model_script import Action, Answer, Hold, Refuse, Seen
from tests.model_server import ModelServer
from tests.reviews.conftest import Make
from tests.reviews.talker import CHECKPOINT, is_summary, long_question, talker

STREAM = stream_of("s1")


def compress(make_installation: Make, model_server: ModelServer, answer: Callable[[int], Action]) -> Session:
    """The session after a compression; `answer(limit)` is what is said to one who asks for a summary of at
    most so many tokens."""

    def choose(seen: Seen) -> Action:
        return answer(seen.body["max_tokens"]) if is_summary(seen) else talker(seen)

    model_server.follow(choose)
    application = make_installation(COMPRESSION__PROTECT_LAST_N=2, MODEL__CONTEXT_LENGTH=8_000)
    with InlineWorker(application) as worker:
        for number in range(6):
            command = e.TurnSubmitted(
                turn=f"t{number}", session="s1", text=long_question(number), source="cli"
            )
            worker.engine.submit(command)
        worker.work(lambda: "t5" in worker.engine.sessions.load(STREAM).ended, stream=STREAM)
        worker.engine.execute(STREAM, c.RequestCompression(reason="manual"))
        worker.work(lambda: worker.engine.sessions.load(STREAM).compression is None, stream=STREAM)
        session = worker.engine.sessions.load(STREAM)
    summaries = [seen for seen in model_server.requests if is_summary(seen)]
    booked = [each.event for each in application.log.read(STREAM)]
    responses = [fact for fact in booked if isinstance(fact, e.ResponseBooked)]
    refused = [seen for seen in summaries if isinstance(answer(seen.body["max_tokens"]), Refuse)]
    assert sum(fact.purpose == "compression" for fact in responses) == len(summaries) - len(refused)
    return session


def test_a_model_that_may_not_say_so_much_is_asked_for_less(
    make_installation: Make, model_server: ModelServer
) -> None:
    def answer(limit: int) -> Action:
        if limit > 300:
            most = "This model supports at most 300 completion tokens."
            return Refuse(status=400, message=f"max_tokens is too large: {limit}. {most}")
        return Answer(text=CHECKPOINT)

    assert compress(make_installation, model_server, answer).num_compressed == 1


def test_a_summary_that_was_cut_off_is_asked_for_with_more_room(
    make_installation: Make, model_server: ModelServer
) -> None:
    def answer(limit: int) -> Action:
        if limit < 1_000:
            return Answer(reasoning="Let me think.", finish_reason="length")
        return Answer(text=CHECKPOINT)

    assert compress(make_installation, model_server, answer).num_compressed == 1


def test_a_summary_that_was_cancelled_is_booked_as_estimated(
    make_installation: Make, model_server: ModelServer
) -> None:
    model_server.follow(lambda seen: Hold() if is_summary(seen) else talker(seen))
    application = make_installation(COMPRESSION__PROTECT_LAST_N=2, MODEL__CONTEXT_LENGTH=8_000)
    with InlineWorker(application) as worker:
        for number in range(60):
            command = e.TurnSubmitted(
                turn=f"t{number}", session="s1", text=long_question(number), source="cli"
            )
            worker.engine.submit(command)
        worker.work(lambda: any(map(is_summary, model_server.requests)), stream=STREAM)
        turn = worker.engine.sessions.load(STREAM).current
        assert turn is not None
        worker.engine.execute(STREAM, c.CancelTurn(turn=turn.id, by="user"))
        worker.work(lambda: turn.id in worker.engine.sessions.load(STREAM).ended, stream=STREAM)
    facts = [each.event for each in application.log.read(STREAM)]
    (booked,) = (
        fact for fact in facts if isinstance(fact, e.ResponseBooked) and fact.purpose == "compression"
    )
    asked = next(seen for seen in model_server.requests if is_summary(seen))
    sent = sum(token_weight(message["content"]) for message in asked.messages)
    assert (booked.usage, booked.estimated) == (NO_USAGE, Usage(sent // CHARACTERS_A_TOKEN))
    (recorded,) = (fact for fact in facts if isinstance(fact, e.UsageRecorded) and fact.turn == turn.id)
    assert recorded.estimated == booked.estimated
    (estimate,) = application.views.read(select_estimates, turn=turn.id)
    assert (estimate.purpose, estimate.input_tokens) == ("compression", booked.estimated.input_tokens)
    assert verify(cast(SqlEventLog, application.log)).findings == ()
