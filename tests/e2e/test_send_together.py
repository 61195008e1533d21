"""Several processes at one home: the same key, one session, a busy one; and processes that stop waiting."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from signal import SIGINT

import pytest

from hermes_jobs.kernel import events as e
from tests.e2e.invariants import assert_all_is_done_once, assert_one_turn_at_a_time, facts_of
from tests.home import Home, Running
from tests.model_script import Answer, Hold, Rule, Script
from tests.model_server import ModelServer

HELD = Script(rules=(Rule("wait", (Hold(answer=Answer(text="At last.")),)),))


@contextmanager
def held(home: Home, server: ModelServer, *arguments: str) -> Iterator[Running]:
    """A `send` whose model call has reached the server, which keeps it."""
    before = len(server.requests)
    with home.start("send", "Please wait.", *arguments) as running:
        server.wait_until(lambda: len(server.requests) > before)
        yield running


def test_the_same_key_from_eight_processes_at_once_is_one_turn_for_all(
    home: Home, model_server: ModelServer
) -> None:
    with ExitStack() as stack:
        running = [
            stack.enter_context(home.start("send", "--json", "--key", "order-7", "Once only"))
            for _ in range(8)
        ]
        ran = [each.end() for each in running]
    assert [each.code for each in ran] == [0] * 8, ran
    assert {(each.json["turn"], each.json["result"]) for each in ran} == {
        (ran[0].json["turn"], "You said: Once only")
    }
    assert len(model_server.requests) == 1
    with home.open_log() as log:
        assert [fact.key for fact in facts_of(log) if isinstance(fact, e.TurnSubmitted)] == ["order-7"]
        assert_all_is_done_once(log, [ran[0].json["turn"]])


def test_a_key_used_again_shows_the_first_turn_and_refuses_another_text(home: Home) -> None:
    first = home.run("send", "--jsonl", "--no-stream", "--key", "k", "Once")
    again = home.run("send", "--jsonl", "--no-stream", "--key", "k", "Once")
    assert (again.code, again.out) == (0, first.out)
    other = home.run("send", "--key", "k", "Another text")
    assert (other.code, other.out) == (1, "")
    assert "'k' was used before" in other.err


@pytest.mark.slow
def test_twenty_texts_to_one_session_from_as_many_processes_run_one_at_a_time_in_order(home: Home) -> None:
    session = home.send("First")["session"]
    texts = [f"text-{number}" for number in range(20)]
    with ExitStack() as stack:
        running = [stack.enter_context(home.start("send", "-s", session, "--json", text)) for text in texts]
        ran = [each.end() for each in running]
    assert [each.code for each in ran] == [0] * 20, ran
    assert [each.json["result"] for each in ran] == [f"You said: {text}" for text in texts]
    with home.open_log() as log:
        assert_one_turn_at_a_time(log, f"session-{session}")
        assert_all_is_done_once(log, [each.json["turn"] for each in ran])


def test_a_busy_session_refuses_where_asked_to_and_else_lets_wait(
    home: Home, model_server: ModelServer
) -> None:
    model_server.follow(HELD)
    with held(home, model_server) as first:
        refused = home.run("send", "-c", "--if-busy", "reject", "Not now?")
        assert (refused.code, refused.out) == (1, "")
        assert "is busy with turn" in refused.err
        turn = home.run("send", "-c", "--no-wait", "Then this.").out.strip()
        assert home.turn(turn)["status"] == "queued"
        model_server.release()
        assert first.end().code == 0
    assert home.turn(turn)["result"] == "You said: Then this."
    with home.open_log() as log:
        assert_all_is_done_once(log, [turn])


def test_after_its_timeout_send_leaves_the_turn_to_the_next_process(
    home: Home, model_server: ModelServer
) -> None:
    model_server.follow(HELD)
    ran = home.run("send", "--json", "--timeout", "0.5", "Please wait.")
    assert ran.code == 3
    assert ran.json["status"] in {"queued", "running"}
    assert ran.json["result"] is None
    model_server.release()
    home.send("Another")
    assert home.turn(ran.json["turn"])["result"] == "At last."
    with home.open_log() as log:
        assert_all_is_done_once(log, [ran.json["turn"]])


def test_after_ctrl_c_the_turn_is_there_for_the_next_process(home: Home, model_server: ModelServer) -> None:
    model_server.follow(HELD)
    with held(home, model_server) as running:
        running.signal(SIGINT)
        ran = running.end()
    assert (ran.code, ran.out) == (130, "")
    assert "Traceback" not in ran.err
    assert "hermes-jobs turns cancel" in ran.err
    model_server.wait_until(lambda: model_server.disconnects == 1)
    model_server.release()
    home.send("Another")
    with home.open_log() as log:
        assert_all_is_done_once(log, [])
        answers = [fact.answer for fact in facts_of(log) if isinstance(fact, e.TurnCompleted)]
        assert sorted(answers) == ["At last.", "You said: Another"]


def test_a_second_ctrl_c_cancels_the_turn(home: Home, model_server: ModelServer) -> None:
    model_server.follow(HELD)
    with held(home, model_server) as running:
        running.signal(SIGINT)
        running.wait_for("or Ctrl-C again")
        running.signal(SIGINT)
        ran = running.end()
    assert ran.code == 130
    assert "Cancelled." in ran.err
    with home.open_log() as log:
        assert_all_is_done_once(log, [])
        assert [fact.by for fact in facts_of(log) if isinstance(fact, e.TurnCancelled)] == ["user"]


def test_another_process_cancels_a_model_call_at_once(home: Home, model_server: ModelServer) -> None:
    model_server.follow(HELD)
    with held(home, model_server, "--key", "k") as running:
        turn = home.run("send", "--no-wait", "--key", "k", "Please wait.").out.strip()
        assert home.run("turns", "cancel", turn).code == 0
        model_server.wait_until(lambda: model_server.disconnects == 1)
        ran = running.end()
    assert ran.code == 1
    assert f"Turn {turn} was cancelled" in ran.err
    with home.open_log() as log:
        assert_all_is_done_once(log, [turn])
