"""Turns whose model is out of quota, or cannot be used: through the engine, over real HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.cli.turns.failed_calls import failure_notice
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.handlers.failed_calls import MAX_QUOTA_WAITS
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.steps import next_steps
from hermes_jobs.llm.client import OpenAIModel
from hermes_jobs.runtime.maintenance import FastClockWaits
from tests.llm.test_failures import of
from tests.llm.turns import OneSession
from tests.model_script import Action, Answer, Drop, Refuse, Seen
from tests.model_server import ModelServer

HOUR = 3600.0
USED_UP = Refuse(status=429, message="Usage limit reached.", headers={"retry-after": "7200"})
Start = Callable[..., OneSession]


@pytest.fixture
def start(model_server: ModelServer, tmp_path: Path) -> Iterator[Start]:
    model = OpenAIModel(api_key=None, base_url=model_server.base_url)
    started: list[OneSession] = []

    def begin(**limits: Any) -> OneSession:
        started.append(OneSession(tmp_path, model, name="m1", **{"wait_for_quota": 6 * HOUR, **limits}))
        return started[-1]

    yield begin
    for each in started:
        each.close()
    model.close()


def asked(server: ModelServer) -> list[str]:
    return [seen.body["model"] for seen in server.requests]


# --- a quota that resets ---------------------------------------------------------------------------


def test_a_turn_waits_for_its_quota_as_a_timer_and_continues_by_itself(
    start: Start, model_server: ModelServer
) -> None:
    model_server.follow([USED_UP, Answer(text="At last.")])
    session = start()
    begun = session.clock.now()
    facts = session.send()
    (failed,) = of(e.ModelCallFailed, facts)
    assert failed.quota_until == begun + 2 * HOUR
    assert session.waits == [2 * HOUR + 0.5]
    assert of(e.TurnCompleted, facts)[0].answer == "At last."


def test_the_wait_is_no_retry(start: Start, model_server: ModelServer) -> None:
    busy = Refuse(status=503)
    model_server.follow([busy, busy, busy, USED_UP, busy, busy, busy, Answer(text="Yes.")])
    assert of(e.TurnCompleted, start().send())


@pytest.mark.parametrize("longest", [0.0, 1.9 * HOUR])
def test_a_wait_that_is_not_wanted_fails_at_once(
    start: Start, model_server: ModelServer, longest: float
) -> None:
    model_server.follow([USED_UP])
    session = start(wait_for_quota=longest)
    (failed,) = of(e.TurnFailed, session.send())
    assert failed.kind == "rate_limit"
    assert "resets in 2 h" in failed.hint
    assert "model.wait_for_quota" in failed.hint
    assert session.waits == []


def test_a_provider_that_never_keeps_its_word_is_not_waited_for_without_end(
    start: Start, model_server: ModelServer
) -> None:
    model_server.follow(lambda seen: USED_UP)
    session = start()
    assert of(e.TurnFailed, session.send())
    assert len(session.waits) == MAX_QUOTA_WAITS


def waiting(session: OneSession) -> str:
    """A turn that waits for its quota."""
    turn = session.submit()
    session.work(until=session.clock.now())
    assert session.session.current is not None
    assert session.session.current.quota_until > session.clock.now()
    (step,) = next_steps(session.session)
    assert (step.kind, step.not_before > session.clock.now()) == ("turn.call_model", True)
    return turn


@pytest.mark.parametrize("model", ["", "m2"])
def test_a_waiting_turn_can_be_tried_at_once_or_moved_to_another_model(
    start: Start, model_server: ModelServer, model: str
) -> None:
    model_server.follow([USED_UP, Answer(text="Moved.")])
    session = start()
    turn = waiting(session)
    session.decide(c.EndWait(turn=turn, model=model))
    facts = session.work()
    assert session.waits == []
    assert of(e.TurnCompleted, facts)[0].answer == "Moved."
    assert asked(model_server) == ["m1", model or "m1"]
    with pytest.raises(Rejected, match="has already completed"):
        session.decide(c.EndWait(turn=turn))


def test_another_model_for_the_session_moves_the_turn_that_waits(
    start: Start, model_server: ModelServer
) -> None:
    model_server.follow([USED_UP, Answer(text="Moved."), Answer(text="Again.")])
    session = start()
    waiting(session)
    session.decide(c.ChangeModel(model="m2"))
    session.work()
    session.send()
    assert asked(model_server) == ["m1", "m2", "m2"]


def test_a_waiting_turn_can_be_cancelled(start: Start, model_server: ModelServer) -> None:
    model_server.follow([USED_UP])
    session = start()
    turn = waiting(session)
    session.decide(c.CancelTurn(turn=turn, by="user"))
    assert session.session.ended[turn].status == "cancelled"
    assert next_steps(session.session) == ()


def test_a_turn_that_waits_for_nothing_cannot_be_moved(start: Start) -> None:
    session = start()
    turn = session.submit()
    with pytest.raises(Rejected, match="does not wait for a quota"):
        session.decide(c.EndWait(turn=turn, model="m2"))


@pytest.mark.parametrize(("ahead", "goes_on"), [(HOUR, True), (4.0, False), (-HOUR, False)])
def test_a_wait_that_a_clock_ahead_decided_is_ended_once(
    start: Start, model_server: ModelServer, ahead: float, goes_on: bool
) -> None:
    """Given a turn whose wait was decided by a clock that is wrong by so many seconds, when a worker with the
    right time looks at it, then it is tried again where that clock was ahead."""
    model_server.follow([USED_UP, USED_UP, Answer(text="At last.")])
    session = start()
    turn = waiting(session)
    session.clock.moment -= ahead
    waits = FastClockWaits(session.engine)
    assert (waits.end(), waits.end()) == (int(goes_on), 0)
    facts = session.work(until=session.clock.now())
    assert of(e.WaitEnded, facts) == [e.WaitEnded(turn=turn, by="clock")] * goes_on
    assert session.session.current is not None
    until = session.clock.now() + (2 * HOUR if goes_on else 2 * HOUR + ahead)
    assert session.session.current.quota_until == until
    assert waits.end() == 0


# --- fallback models -------------------------------------------------------------------------------


def refused(status: int, message: str = "no") -> Refuse:
    return Refuse(status=status, message=message)


@pytest.mark.parametrize(
    ("action", "kind", "num_asked"),
    [
        (refused(401), "auth", 1),
        (refused(402), "billing", 1),
        (refused(404, "The model `m1` does not exist"), "model_not_found", 1),
        (refused(403, "Key limit exceeded (total limit)"), "billing", 1),
        (USED_UP, "rate_limit", 1),
        (refused(429), "rate_limit", 2),
        (refused(500), "server", 2),
        (refused(529), "overloaded", 2),
        (Drop(), "connection", 2),
    ],
)
def test_another_model_answers_where_the_first_cannot_be_used(
    start: Start, model_server: ModelServer, action: Action, kind: str, num_asked: int
) -> None:
    model_server.follow(lambda seen: action if seen.body["model"] == "m1" else Answer(text="From the other."))
    session = start(fallback=("m2",))
    facts = session.send()
    assert asked(model_server) == ["m1"] * num_asked + ["m2"]
    *_, failed = of(e.ModelCallFailed, facts)
    assert (failed.kind, failed.model, failed.fallback) == (kind, "m1", "m2")
    (replied,) = of(e.ModelReplied, facts)
    assert (replied.model, replied.content) == ("m2", "From the other.")
    assert of(e.TurnCompleted, facts)


@pytest.mark.parametrize(
    "action", [refused(400, "Invalid schema"), refused(400, "Output blocked by content filtering policy")]
)
def test_an_invalid_request_does_not_use_the_fallback(
    start: Start, model_server: ModelServer, action: Refuse
) -> None:
    model_server.follow(lambda seen: action)
    assert of(e.TurnFailed, start(fallback=("m2",)).send())
    assert asked(model_server) == ["m1"]


def test_each_fallback_is_tried_once_and_the_last_failure_is_reported(
    start: Start, model_server: ModelServer
) -> None:
    failures = {"m1": refused(402), "m2": refused(401, "bad key"), "m3": refused(404, "no such model")}
    model_server.follow(lambda seen: failures[seen.body["model"]])
    (failed,) = of(e.TurnFailed, start(fallback=("m2", "m1", "m3")).send())
    assert asked(model_server) == ["m1", "m2", "m1", "m3"]
    assert failed.kind == "model_not_found"


def test_the_rest_of_the_turn_is_the_fallbacks_and_the_next_turn_begins_with_the_first(
    start: Start, model_server: ModelServer
) -> None:
    def choose(seen: Seen) -> Action:
        if seen.body["model"] == "m1" and seen.number == 0:
            return refused(402)
        return Answer(text=f"By {seen.body['model']}.", finish_reason="length" if seen.number == 1 else None)

    model_server.follow(choose)
    session = start(fallback=("m2",))
    first, second = session.send(), session.send()
    assert asked(model_server) == ["m1", "m2", "m2", "m1"]
    assert of(e.TurnCompleted, first)[0].answer == "By m2.By m2."
    assert of(e.TurnCompleted, second)[0].answer == "By m1."


def test_where_no_fallback_is_left_the_turn_waits_for_the_quota(
    start: Start, model_server: ModelServer
) -> None:
    model_server.follow([USED_UP, USED_UP, Answer(text="At last.")])
    session = start(fallback=("m2",))
    assert of(e.TurnCompleted, session.send())
    assert (asked(model_server), len(session.waits)) == (["m1", "m2", "m2"], 1)


@pytest.mark.parametrize(
    ("action", "kind"),
    [
        (refused(401, "bad key"), "auth"),
        (refused(402), "billing"),
        (refused(404, "The model `m2` does not exist"), "model_not_found"),
        (refused(500), "server"),
    ],
)
def test_where_the_fallback_cannot_be_used_the_turn_waits_for_the_quota_of_the_first(
    start: Start, model_server: ModelServer, action: Refuse, kind: str
) -> None:
    first: Iterator[Action] = iter([USED_UP, Answer(text="At last.")])
    model_server.follow(lambda seen: next(first) if seen.body["model"] == "m1" else action)
    session = start(fallback=("m2",))
    begun = session.clock.now()
    facts = session.send()
    assert of(e.TurnCompleted, facts)[0].answer == "At last."
    assert (asked(model_server)[0], asked(model_server)[-1]) == ("m1", "m1")
    left, *_, last = of(e.ModelCallFailed, facts)
    assert (left.fallback, left.resets_at) == ("m2", begun + 2 * HOUR)
    assert (last.kind, last.model, last.back_to) == (kind, "m2", "m1")
    assert last.quota_until == begun + 2 * HOUR
    told = failure_notice(last, begun)
    assert told.startswith(f"m2 cannot be used either ({kind.replace('_', ' ')}: ")
    assert "The quota of m1 is used up until" in told


def test_a_fallback_that_is_refused_is_not_tried_again_after_the_wait(
    start: Start, model_server: ModelServer
) -> None:
    first: Iterator[Action] = iter([USED_UP, USED_UP, Answer(text="At last.")])
    model_server.follow(lambda seen: next(first) if seen.body["model"] == "m1" else refused(401))
    session = start(fallback=("m2",))
    assert of(e.TurnCompleted, session.send())
    assert asked(model_server) == ["m1", "m2", "m1", "m1"]


def test_a_disabled_wait_ends_with_the_fallbacks_error_and_names_the_quota(
    start: Start, model_server: ModelServer
) -> None:
    model_server.follow(lambda seen: USED_UP if seen.body["model"] == "m1" else refused(401))
    (failed,) = of(e.TurnFailed, start(fallback=("m2",), wait_for_quota=0.0).send())
    assert failed.kind == "auth"
    assert "resets in 2 h" in failed.hint
