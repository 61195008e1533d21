"""`kill -9` at every append of a turn, its review and the verification of that: each thing happens once."""

from __future__ import annotations

import json
import os
from collections import Counter

import pytest

from hermes_jobs.bootstrap import Application
from hermes_jobs.features.replay import events as e
from hermes_jobs.features.replay.rules.experiment import stream_of
from hermes_jobs.features.reviews.tables import select_reviews
from hermes_jobs.kernel.events import HelperCallStarted
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.settings import load
from tests.faults.dying import KILLED, MOMENTS, Moment, Sends, finish
from tests.home import Home
from tests.model_script import Answer, AskedCall, Seen
from tests.model_server import ModelServer

FULL = os.environ.get("FAULTS") == "full"
STRIDE = 1 if FULL else 3  # the three moments begin apart
VERIFIED = {"HERMES_JOBS_MEMORY__NUDGE_INTERVAL": "1"}
FIRST_APPENDS = 8  # the turn is answered; other tests kill it before that


def talker(seen: Seen) -> Answer:
    """Saves an entry of its own in each review; as a judge it prefers nothing."""
    if seen.messages[0]["content"].startswith("You compare two answers"):
        return Answer(text=json.dumps({"better": "same"}))
    if "This is a review of the conversation" in seen.last_user_text and seen.rounds == 0:
        arguments = {"action": "add", "target": "memory", "content": f"Seen in request {seen.number}."}
        return Answer(tool_calls=(AskedCall("memory", arguments),))
    return Answer(text="Yes.")


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["cheap", "full"] if FULL else ["cheap"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_saved_items_are_verified_once_wherever_the_worker_is_killed(
    home: Home, model_server: ModelServer, moment: Moment, mode: str
) -> None:
    model_server.follow(talker)
    home.send("Say yes", HERMES_JOBS_MEMORY__NUDGE_INTERVAL="0")
    environ = {**home.environ, **VERIFIED, "HERMES_JOBS_LEARNING__VERIFY": mode}
    application = Application(load(environ), environ)
    sends = Sends()
    try:
        code, at, runs = KILLED, FIRST_APPENDS + MOMENTS.index(moment), 0
        while code == KILLED:
            at += STRIDE
            runs += 1
            code = sends.run(environ, home.work, [f"Say yes {at}"], at, moment)
            finish(application)
        assert code == 0
        assert at > FIRST_APPENDS + 20, "there are more appends than that"
        reviews = [review for review in application.views.read(select_reviews) if review.saved]
        assert len(reviews) == runs
        for review in reviews:
            assert_each_cell_is_answered_once_and_one_thing_found(application.log, review.id)
        assert home.run("events", "verify").code == 0
    finally:
        application.close()


def assert_each_cell_is_answered_once_and_one_thing_found(log: EventLog, review: str) -> None:
    stream = stream_of(f"verify-{review}")
    ended: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for recorded in log.read(stream):
        kinds[recorded.type] += 1
        event = recorded.event
        if isinstance(event, HelperCallStarted):
            assert event.step not in ended, f"{event.step} was asked again"
        elif isinstance(event, e.ReplayCallEnded):
            ended[event.step] += 1
        elif isinstance(event, e.LearningVerified):
            assert [finding.standing for finding in event.findings] == ["kept"], event
    once = ("VerificationRequested", "ExperimentDefined", "ReplayPlanned", "LearningVerified")
    assert [kinds[kind] for kind in once] == [1, 1, 1, 1], kinds
    assert set(ended.values()) == {1}
    assert log.account(stream).reserved.tokens == 0
