"""`kill -9` at every append of a turn with an ensemble, and in the middle of the members' calls."""

from __future__ import annotations

from collections import Counter

import pytest

from hermes_jobs.bootstrap import Application
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.log.verify import verify
from hermes_jobs.kernel.turns.references import HEAD
from hermes_jobs.kernel.turns.session import stream_of
from tests.e2e.invariants import assert_all_is_done_once, assert_views_agree, facts_of
from tests.faults.dying import KILLED, MOMENTS, Moment, Sends, finish, installed
from tests.home import Home
from tests.model_script import Action, Answer, Hold, Seen
from tests.model_server import ModelServer

CONFIG = "models:\n  panel: {members: [one, two], aggregator: scripted}\n"


def answer(seen: Seen) -> Action:
    model = seen.body["model"]
    return Answer(text="Done." if model == "scripted" else f"{model} thinks so")


@pytest.fixture
def panel(home: Home) -> Home:
    home.path.mkdir(parents=True, exist_ok=True)
    (home.path / "config.yaml").write_text(CONFIG, encoding="utf-8")
    return home


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_each_member_answers_once_whenever_its_process_is_killed(
    panel: Home, model_server: ModelServer, moment: Moment
) -> None:
    model_server.follow(answer)
    sends = Sends()
    with installed(panel) as application:
        code, at = KILLED, 0
        while code == KILLED:
            at += 1
            code = sends.run(panel.environ, panel.work, ["-m", "panel", f"{moment}-{at}"], at, moment)
            finish(application)
            _assert_asked_once(application, f"{moment}-{at}")
        assert code == 0
        assert at > 8, "a turn with two members has more appends than that"
        assert_all_is_done_once(application.log, [])
        assert_views_agree(application.log, panel.path / "views")
    with panel.open_log() as log:
        assert verify(log).findings == ()


def _assert_asked_once(application: Application, text: str) -> None:
    """The turn was not accepted at all, or both members have one answer each, and the model saw both."""
    facts = facts_of(application.log)
    submitted = [fact for fact in facts if isinstance(fact, e.TurnSubmitted) and fact.text == text]
    if not submitted:
        return
    (turn,) = submitted
    replied = [fact for fact in facts if isinstance(fact, e.ReferenceReplied) and fact.turn == turn.turn]
    assert Counter(fact.member for fact in replied) == {"one": 1, "two": 1}
    assert not [fact for fact in facts if isinstance(fact, e.ReferenceFailed)]
    session = application.engine().sessions.load(stream_of(turn.session))
    told = [each.content for each in session.messages if each.content.startswith(HEAD)]
    assert len(told) == 1
    assert "one thinks so" in told[0]
    assert "two thinks so" in told[0]


@pytest.mark.slow
def test_a_kill_while_a_member_is_asked_asks_that_one_again(panel: Home, model_server: ModelServer) -> None:
    def holding(seen: Seen) -> Action:
        if seen.body["model"] == "two":
            return Hold(first="I be", answer=Answer(text="two thinks so"))
        return answer(seen)

    model_server.follow(holding)
    with panel.start("send", "-m", "panel", "Hello") as running, panel.open_log() as log:
        model_server.wait_until(lambda: len(model_server.requests) == 2)
        while not any(isinstance(fact, e.ReferenceReplied) for fact in facts_of(log)):
            running.process.poll()
        running.process.kill()
        model_server.wait_until(lambda: model_server.disconnects == 1)
    model_server.release()
    with installed(panel) as application:
        finish(application)
        _assert_asked_once(application, "Hello")
        facts = facts_of(application.log)
    asked = Counter(seen.body["model"] for seen in model_server.requests)
    assert asked == {"one": 1, "two": 2, "scripted": 1}
    (abandoned,) = [fact for fact in facts if isinstance(fact, e.StepAbandoned)]
    assert abandoned.model == "two"
    assert abandoned.estimated.input_tokens > 0
    (listed,) = panel.run("usage", "--estimated", "--json").json
    assert (listed["purpose"], listed["reason"]) == ("reference", "its worker died")
