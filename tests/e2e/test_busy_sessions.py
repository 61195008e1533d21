"""Fifty texts by every policy, from several processes, to one session whose worker is killed meanwhile."""

from __future__ import annotations

from contextlib import ExitStack
from signal import SIGKILL

import pytest

from hermes_jobs.kernel import events as e
from tests.e2e.invariants import assert_all_is_done_once, assert_views_agree, facts_of
from tests.e2e.test_send_together import HELD, held
from tests.home import Home
from tests.model_server import ModelServer
from tests.tools.support import wait_until

POLICIES = ("queue", "collect", "steer", "interrupt", "reject")
EACH = 10


@pytest.mark.slow
def test_every_text_to_a_busy_session_is_accounted_for_though_its_worker_is_killed(
    home: Home, model_server: ModelServer
) -> None:
    model_server.follow(HELD)
    with ExitStack() as stack:
        first = stack.enter_context(held(home, model_server))
        session = home.run("turns", "list", "--json").json[0]["session"]
        senders = {
            policy: stack.enter_context(
                home.launch("tests.e2e.texter", session, policy, *(f"{policy}-{n}" for n in range(EACH)))
            )
            for policy in POLICIES
        }
        with home.open_log() as log:
            wait_until(lambda: sum(isinstance(f, e.TurnSubmitted) for f in facts_of(log)) > EACH, "ten texts")
        first.signal(SIGKILL)  # in the midst of it
        first.process.wait()
        model_server.release()
        worker = stack.enter_context(home.start("send", "-s", session, "The last one."))
        lines = [line.split() for sender in senders.values() for line in sender.end().out.splitlines()]
        assert worker.end().code == 0
    assert home.run("send", "-s", session, "Is all done?").code == 0

    assert len(lines) == EACH * len(POLICIES)
    accepted = {text: turn[0] for code, text, *turn in lines if code == "0"}
    refused = {text for code, text, *_ in lines if code == "1"}
    assert len(accepted) + len(refused) == len(lines)
    assert all(text.startswith("reject") for text in refused)
    turns = {turn["turn"]: turn for turn in home.run("turns", "list", "-n", "99", "--json").json}
    assert {text: turns[turn]["text"] for text, turn in accepted.items()} == {text: text for text in accepted}
    for text, turn in accepted.items():
        assert_accounted_for(turns[turn], text.partition("-")[0], turns)
    with home.open_log() as log:
        interrupted = [f for f in facts_of(log) if isinstance(f, e.TurnCancelled)]
        assert {fact.by for fact in interrupted} == {"interrupt"}
        assert_all_is_done_once(log, accepted.values())
        assert_views_agree(log, home.path / "views")


def assert_accounted_for(turn: dict[str, object], policy: str, turns: dict[str, dict[str, object]]) -> None:
    """It was answered, or went into a turn that took it in, or a later text interrupted it."""
    assert turn["status"] in {"completed", "merged", "cancelled"}, turn
    if turn["status"] == "completed":
        assert turn["result"]
    if turn["status"] == "merged":
        assert policy in {"collect", "steer"}
        assert turns[str(turn["into"])]["status"] in {"completed", "cancelled"}
