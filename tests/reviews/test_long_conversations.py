"""A conversation that outgrows its window, over HTTP: compressed where it has to be, learned from, booked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, cast

import pytest

from hermes_jobs.bootstrap import Application
from hermes_jobs.features.compression.steps.compress import PROMPT_NOTE
from hermes_jobs.features.compression.summary import OPEN
from hermes_jobs.features.memory import events as memory_events
from hermes_jobs.features.reviews.tables import select_reviews
from hermes_jobs.features.usage.tables.usage import select_spending
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.log.verify import verify
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.compression import MAX_REFITS
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.steps import Step, next_steps
from hermes_jobs.runtime.inline_worker import InlineWorker
from tests.engine.simulation import Wakes
from tests.model_script import Action, Answer, AskedCall, Hold, Refuse, Seen, counted_usage
from tests.model_server import ModelServer
from tests.reviews.conftest import Make
from tests.reviews.talker import CHECKPOINT, has_ended, is_flush, is_summary, question, talker

SMALL = {"MODEL__CONTEXT_LENGTH": 9_000, "COMPRESSION__PROTECT_LAST_N": 6}
STREAM = "session-s1"


def talk(worker: InlineWorker, numbers: Sequence[int]) -> Session:
    """Ask those questions one after the other; the session after them."""
    for number in numbers:
        turn = f"t{number}"
        worker.engine.submit(e.TurnSubmitted(turn=turn, session="s1", text=question(number), source="cli"))
        worker.work(partial(has_ended, worker, STREAM, turn), stream=STREAM)
    return worker.engine.sessions.load(STREAM)


def facts_of(application: Application, *kinds: type[e.Event]) -> list[Any]:
    return [each.event for each in application.log.tail(0, 100_000) if isinstance(each.event, kinds)]


@pytest.mark.slow
def test_sixty_turns_in_a_small_window(make_installation: Make, model_server: ModelServer) -> None:
    model_server.follow(talker)
    application = make_installation(**{**SMALL, "MODEL__CONTEXT_LENGTH": 8_000, "LEARNING__VERIFY": "off"})
    with InlineWorker(application) as worker:
        session = talk(worker, range(60))
        worker.drain()
        session = worker.engine.sessions.load(STREAM)

    compressed = facts_of(application, e.ContextCompressed)
    own = [each for each in compressed if each.turn in {f"t{number}" for number in range(60)}]
    assert len(own) >= 2
    assert session.num_compressed == len(own)
    assert {status.status for status in session.ended.values()} == {"completed"}
    assert verify(cast(SqlEventLog, application.log)).findings == ()
    assert_every_request_could_be_sent(model_server.requests)
    assert_the_lineage_is_one_row(application, own[-1].into)
    assert_every_response_is_booked(application, model_server)
    assert_the_prompt_was_rebuilt_with_what_the_flush_saved(application, session)
    reviews = application.views.read(select_reviews)
    assert [review.status for review in reviews] == ["completed"] * len(reviews)
    assert len(reviews) >= 6
    assert {review.saved for review in reviews} == {"Saved it."}


def assert_every_request_could_be_sent(requests: Sequence[Seen]) -> None:
    """Calls and results belong together, no two users speak in a row, and none is longer than the window."""
    for seen in requests:
        open_calls: list[str] = []
        for message in seen.messages:
            if message["role"] == "tool":
                assert message["tool_call_id"] in open_calls
                open_calls.remove(message["tool_call_id"])
                continue
            assert open_calls == []
            open_calls = [call["id"] for call in message.get("tool_calls") or ()]
        assert open_calls == []
        roles = [message["role"] for message in seen.messages]
        assert ("user", "user") not in set(pairwise(roles))


def assert_the_lineage_is_one_row(application: Application, tip: str) -> None:
    rows = application.views.sessions()
    assert [row.id for row in rows] == [tip]
    assert rows[0].num_turns == 60
    assert application.views.find_session("s1") == tip
    said = [message.content for message in application.views.messages(tip) if message.role == "user"]
    assert [text for text in said if text.startswith(("tool q", "question"))] == [
        question(number) for number in range(60)
    ]


def assert_every_response_is_booked(application: Application, model_server: ModelServer) -> None:
    spent = application.views.read(select_spending, by="purpose")
    assert sum(row.requests for row in spent) == len(model_server.requests)
    assert {row.key for row in spent} == {"turn", "review", "flush", "compression"}
    recorded = Counter[str]()
    for fact in facts_of(application, e.UsageRecorded):
        recorded["calls"] += fact.num_model_calls
        recorded["input"] += fact.input_tokens
    assert recorded["calls"] == len(model_server.requests)
    assert recorded["input"] == sum(row.usage.input_tokens for row in spent)


def assert_the_prompt_was_rebuilt_with_what_the_flush_saved(
    application: Application, session: Session
) -> None:
    assert session.started is not None
    flushes = facts_of(application, memory_events.MemoryAdded)
    first = next(fact for fact in flushes if fact.author == "flush")
    assert first.content in session.started.system_prompt
    assert session.started.system_prompt.count(PROMPT_NOTE) == 1


def test_a_prompt_that_is_refused_as_too_long_is_compressed_and_sent_again(
    make_installation: Make, model_server: ModelServer
) -> None:
    too_long = (
        "This model's maximum context length is 9000 tokens. However, your messages resulted in 9100 tokens."
    )
    refused = [False]

    def choose(seen: Seen) -> Action:
        if not refused[0] and "question 11" in seen.last_user_text and not is_flush(seen):
            refused[0] = True
            body = {"error": {"message": too_long, "code": "context_length_exceeded"}}
            return Refuse(status=400, body=body)
        return talker(seen)

    model_server.follow(choose)
    application = make_installation(COMPRESSION__PROTECT_LAST_N=2, MODEL__CONTEXT_LENGTH=30_000)
    with InlineWorker(application) as worker:
        session = talk(worker, range(12))
    assert refused == [True]
    assert session.ended["t11"].status == "completed"
    [compressed] = facts_of(application, e.ContextCompressed)
    assert compressed.turn == "t11"
    [requested] = facts_of(application, e.CompressionRequested)
    assert requested.reason == "overflow"


def test_a_long_turn_is_compressed_as_often_as_it_takes(
    make_installation: Make, model_server: ModelServer
) -> None:
    window, rounds = 12_000, iter(range(10))

    def choose(seen: Seen) -> Action:
        if is_summary(seen) or is_flush(seen):
            return talker(seen)
        if counted_usage(seen.body, Answer())["prompt_tokens"] > window:
            return Refuse(status=400, message=f"prompt is too long: {window + 1} tokens > {window} maximum")
        number = next(rounds, None)
        if number is None:
            return Answer(text="All read.")
        commands = (f"yes {number}-{half} | head -c 7000" for half in "ab")
        return Answer(tool_calls=tuple(AskedCall("terminal", {"command": each}) for each in commands))

    model_server.follow(choose)
    application = make_installation(MODEL__CONTEXT_LENGTH=window)
    with InlineWorker(application) as worker:
        session = talk(worker, [1])
    assert session.ended["t1"].status == "completed"
    compressed = facts_of(application, e.ContextCompressed)
    assert len(compressed) > MAX_REFITS
    assert {fact.turn for fact in compressed} == {"t1"}


@pytest.mark.slow
def test_a_failing_summariser_keeps_the_history_and_the_turn_continues(
    make_installation: Make, model_server: ModelServer
) -> None:
    def choose(seen: Seen) -> Action:
        return Refuse(status=400, message="no such thing") if is_summary(seen) else talker(seen)

    model_server.follow(choose)
    application = make_installation(**{**SMALL, "MODEL__CONTEXT_LENGTH": 8_000})
    with InlineWorker(application) as worker:
        for number in range(60):
            session = talk(worker, [number])
            if facts_of(application, e.CompressionFailed):
                break
        session = talk(worker, [60])
    assert facts_of(application, e.ContextCompressed) == []
    failed = facts_of(application, e.CompressionFailed)
    assert failed
    assert len({fact.turn for fact in failed}) == len(failed)  # once a turn, no loop
    assert {status.status for status in session.ended.values()} == {"completed"}


def test_in_a_full_window_without_a_summary_messages_are_set_aside(
    make_installation: Make, model_server: ModelServer
) -> None:
    def choose(seen: Seen) -> Action:
        if is_summary(seen):
            return Answer(text="I cannot help with that.")
        if "question 19" in seen.last_user_text and not is_flush(seen) and len(seen.messages) > 40:
            return Refuse(status=413, message="Payload too large")
        return talker(seen)

    model_server.follow(choose)
    application = make_installation(COMPRESSION__PROTECT_LAST_N=2, MODEL__CONTEXT_LENGTH=30_000)
    with InlineWorker(application) as worker:
        session = talk(worker, range(20))
    assert session.ended["t19"].status == "completed"
    [compressed] = facts_of(application, e.ContextCompressed)
    assert compressed.summary == ""
    assert any("were removed from the context" in message.content for message in session.messages)
    found = application.views.messages("s1")
    assert any("question 0 " in message.content for message in found)


def test_a_worker_that_remembers_the_long_history_does_not_compress_it_once_more(
    make_installation: Make, model_server: ModelServer
) -> None:
    model_server.follow(talker)
    application = make_installation(COMPRESSION__PROTECT_LAST_N=2, MODEL__CONTEXT_LENGTH=12_000)
    first, other = (application.engine(dispatcher=Wakes()) for _ in range(2))

    def perform_until(reached: Callable[[Session, Step], bool]) -> Step:
        while True:
            session = first.sessions.load(STREAM)
            [step, *_] = next_steps(session)
            if reached(session, step):
                return step
            first.run(STREAM, step.id)

    for number in range(24):
        text = question(number) + "word " * 200
        first.submit(e.TurnSubmitted(turn=f"t{number}", session="s1", text=text, source="cli"))
    perform_until(lambda session, step: session.compression is not None)
    other.sessions.put(first.sessions.load_at(STREAM, first.sessions.load(STREAM).version - 1))
    step = perform_until(lambda session, step: session.num_compressed == 1)
    assert step.kind == "turn.call_model"
    assert other.run(STREAM, step.id) == "done"
    assert other.sessions.load(STREAM).compressions_requested == 1
    replied = facts_of(application, e.ModelReplied)
    assert replied[-1].step == step.id


def test_a_person_compresses_with_a_focus_and_the_summary_is_asked_for_it(
    make_installation: Make, model_server: ModelServer
) -> None:
    model_server.follow(talker)
    application = make_installation(COMPRESSION__PROTECT_LAST_N=2, MODEL__CONTEXT_LENGTH=8_000)
    with InlineWorker(application) as worker:
        talk(worker, range(14))
        worker.engine.execute(STREAM, c.RequestCompression(reason="manual", focus="the trip to Rome"))
        worker.work(lambda: worker.engine.sessions.load(STREAM).compression is None, stream=STREAM)
        session = worker.engine.sessions.load(STREAM)
    asked = [seen for seen in model_server.requests if is_summary(seen)]
    assert "the trip to Rome" in asked[0].messages[0]["content"]
    assert session.num_compressed == 1
    assert sum(message.content.count(OPEN) for message in session.messages) == 1


def test_the_words_behind_the_summary_are_found_again(
    make_installation: Make, model_server: ModelServer
) -> None:
    def choose(seen: Seen) -> Action:
        if "what was it" in seen.last_user_text and seen.rounds == 0:
            return Answer(tool_calls=(AskedCall("recall_compacted", {"query": "sesame"}),))
        return talker(seen)

    model_server.follow(choose)
    application = make_installation(COMPRESSION__PROTECT_LAST_N=2, MODEL__CONTEXT_LENGTH=8_000)
    with InlineWorker(application) as worker:
        talk(worker, range(2))
        worker.engine.submit(e.TurnSubmitted(turn="tword", session="s1", text="Open sesame!", source="cli"))
        worker.work(partial(has_ended, worker, STREAM, "tword"), stream=STREAM)
        talk(worker, range(2, 8))
        worker.engine.execute(STREAM, c.RequestCompression(reason="manual"))
        worker.work(lambda: worker.engine.sessions.load(STREAM).compression is None, stream=STREAM)
        assert "sesame" not in str(worker.engine.sessions.load(STREAM).messages)
        worker.engine.submit(e.TurnSubmitted(turn="tlast", session="s1", text="what was it?", source="cli"))
        worker.work(partial(has_ended, worker, STREAM, "tlast"), stream=STREAM)
    [recalled] = [fact for fact in facts_of(application, e.ToolFinished) if "sesame" in fact.content]
    assert "[user] Open sesame!" in recalled.content


@pytest.mark.slow
def test_a_turn_that_is_cancelled_while_it_is_compressed_ends_and_the_next_one_runs(
    make_installation: Make, model_server: ModelServer
) -> None:
    held = [False]

    def choose(seen: Seen) -> Action:
        if is_summary(seen) and not held[0]:
            held[0] = True
            return Hold(answer=Answer(text=CHECKPOINT))
        return talker(seen)

    model_server.follow(choose)
    application = make_installation(**SMALL)
    with InlineWorker(application) as worker:
        number, turn = 0, ""
        while not held[0]:
            worker.engine.submit(
                e.TurnSubmitted(turn=f"t{number}", session="s1", text=question(number), source="cli")
            )
            turn = f"t{number}"
            worker.work(partial(_held_or_ended, held, worker, turn), stream=STREAM)
            number += 1
        worker.engine.submit(e.TurnSubmitted(turn="tnext", session="s1", text="and now?", source="cli"))
        worker.engine.execute(STREAM, c.CancelTurn(turn=turn, by="user"))
        worker.work(lambda: "tnext" in worker.engine.sessions.load(STREAM).ended, stream=STREAM)
        session = worker.engine.sessions.load(STREAM)
        model_server.release()
    assert session.ended[turn].status == "cancelled"
    assert session.ended["tnext"].status == "completed"
    assert verify(cast(SqlEventLog, application.log)).findings == ()


def _held_or_ended(held: list[bool], worker: InlineWorker, turn: str) -> bool:
    return held[0] or has_ended(worker, STREAM, turn)
