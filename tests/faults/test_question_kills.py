"""`kill -9` at every append while the agent asks and while a person answers: one question, one answer."""

from __future__ import annotations

import pytest

from hermes_jobs.bootstrap import Application
from hermes_jobs.client.turns import Turns
from hermes_jobs.kernel import events as e
from tests.e2e.invariants import facts_of
from tests.faults.dying import KILLED, MOMENTS, Moment, Sends, installed
from tests.home import Home
from tests.model_script import Answer, AskedCall, Rule, Script
from tests.model_server import ModelServer

ASK = AskedCall("ask_user", {"question": "Which database?", "choices": ["SQLite", "PostgreSQL"]})
SCRIPT = Script(rules=(Rule("database", (Answer(tool_calls=(ASK,)), Answer(text="Done."))),))


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_question_survives_a_kill_at_every_append_before_it(
    home: Home, model_server: ModelServer, moment: Moment
) -> None:
    model_server.follow(SCRIPT)
    sends = Sends()
    with installed(home) as application:
        turns, code, at = Turns(application), KILLED, 0
        while code == KILLED:
            at += 1
            code = sends.run(home.environ, home.work, [f"database {at}"], at, moment)
            for turn in _open(application):
                assert turns.wait(turn, timeout=60).status == "waiting"
                turns.answer(turn, 2)
                assert turns.wait(turn, timeout=60).result == "Done."
        assert code == 3
        assert at > 5, "a turn that asks has more appends than that"
        _assert_asked_and_answered_once(application, model_server)


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_an_answer_survives_a_kill_at_every_append_after_it(
    home: Home, model_server: ModelServer, moment: Moment
) -> None:
    model_server.follow(SCRIPT)
    sends = Sends()
    with installed(home) as application:
        turns, code, at = Turns(application), KILLED, 0
        while code == KILLED:
            at += 1
            turn = turns.submit(f"database {at}", workdir=home.work).turn
            turns.wait(turn, timeout=60)
            given = [turn, "--choice", "2", "--wait"]
            code = sends.run(home.environ, home.work, given, at, moment, command=("turns", "answer"))
            if turns.questions(turn):
                turns.answer(turn, 2)
            assert turns.wait(turn, timeout=60).result == "Done."
        assert code == 0
        assert at > 4, "a turn that goes on has more appends than that"
        _assert_asked_and_answered_once(application, model_server)


def _open(application: Application) -> list[str]:
    """The turns that were accepted and have not ended."""
    facts = facts_of(application.log)
    ended = {fact.turn for fact in facts if isinstance(fact, e.TurnCompleted)}
    accepted = [fact.turn for fact in facts if isinstance(fact, e.TurnSubmitted)]
    return [turn for turn in accepted if turn not in ended]


def _assert_asked_and_answered_once(application: Application, model_server: ModelServer) -> None:
    facts = facts_of(application.log)
    asked = [fact.call for fact in facts if isinstance(fact, e.InputRequested)]
    answered = [fact.call for fact in facts if isinstance(fact, e.InputAnswered)]
    assert asked
    assert sorted(asked) == sorted(set(asked)) == sorted(answered)
    results = {
        each["content"]
        for request in model_server.requests
        for each in request.messages
        if each["role"] == "tool"
    }
    assert results == {"The user answers: PostgreSQL"}
