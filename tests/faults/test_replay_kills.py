"""`kill -9` while calls are asked again: each gets one answer, and none that has it is asked once more."""

from __future__ import annotations

from collections import Counter

import pytest

from hermes_jobs.bootstrap import Application
from hermes_jobs.features.replay import events as e
from hermes_jobs.features.replay.rules.replay import PREFIX
from hermes_jobs.kernel.events import HelperCallStarted
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.settings import load
from tests.e2e.invariants import assert_views_agree
from tests.faults.dying import KILLED, MOMENTS, Moment, Sends, finish
from tests.home import Home
from tests.model_script import Answer, AskedCall
from tests.model_server import ModelServer

LOOK = AskedCall(name="terminal", arguments={"command": "echo looked"})


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_replay_is_finished_whatever_append_is_the_last_of_its_worker(
    home: Home, model_server: ModelServer, moment: Moment
) -> None:
    model_server.follow(
        lambda seen: Answer(text="I look.", tool_calls=(LOOK,)) if seen.rounds == 0 else Answer(text="Done.")
    )
    turn = home.send("Look")["turn"]
    sends = Sends()
    application = Application(load(home.environ), home.environ)
    try:
        code, at = KILLED, 0
        while code == KILLED:
            at += 1
            code = sends.run(
                home.environ, home.work, [turn, "--follow"], at, moment, command=("turns", "replay")
            )
            finish(application)
            assert_each_call_is_answered_once(application.log)
        assert code == 0
        assert at > 3
        assert home.run("events", "verify").code == 0
        assert_views_agree(application.log, home.path / "views")
    finally:
        application.close()


def assert_each_call_is_answered_once(log: EventLog) -> None:
    """Every planned call has one outcome, behind which it is not begun again."""
    for head in log.streams(PREFIX):
        ended: Counter[str] = Counter()
        for recorded in log.read(head.stream):
            event = recorded.event
            if isinstance(event, HelperCallStarted):
                assert event.step not in ended, f"{event.step} was asked again"
            elif isinstance(event, e.ReplayCallEnded):
                ended[event.step] += 1
        assert sorted(ended.values()) == [1, 1], head.stream
        assert log.account(head.stream).reserved.tokens == 0
