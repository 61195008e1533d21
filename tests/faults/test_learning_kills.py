"""`kill -9` at every append of a turn that is compressed on its way and reviewed afterwards: once each."""

from __future__ import annotations

import os
from collections import Counter
from functools import partial
from typing import Any

import pytest

from hermes_jobs.bootstrap import Application
from hermes_jobs.features.memory import events as memory_events
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.fork import fork
from hermes_jobs.kernel.log.verify import verify
from hermes_jobs.runtime.inline_worker import InlineWorker
from hermes_jobs.settings import load
from tests.e2e.invariants import assert_all_is_done_once, assert_views_agree
from tests.faults.dying import KILLED, MOMENTS, Moment, Sends, finish
from tests.home import Home
from tests.model_server import ModelServer
from tests.reviews.talker import has_ended, question, talker

STRIDE = 1 if os.environ.get("FAULTS") == "full" else 3  # the three moments begin apart
TALK = "stalk"
FIRST_APPENDS = 2  # the turn is accepted; nothing is learned yet
ROUNDS = 36  # turns after which the history fills the window
WHILE_TALKING = {"HERMES_JOBS_COMPRESSION__ENABLED": "false", "HERMES_JOBS_MEMORY__NUDGE_INTERVAL": "0"}
AFTERWARDS = {
    "HERMES_JOBS_MODEL__CONTEXT_LENGTH": "9000",
    "HERMES_JOBS_COMPRESSION__PROTECT_LAST_N": "4",
    "HERMES_JOBS_MEMORY__NUDGE_INTERVAL": "1",
}


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_flush_compression_and_review_take_effect_once_whenever_their_process_is_killed(
    home: Home, model_server: ModelServer, moment: Moment
) -> None:
    model_server.follow(talker)
    environ = {**home.environ, **AFTERWARDS}
    application = Application(load(environ), environ)
    engine = application.engine()
    _talk(home)
    sends, sessions = Sends(), []
    code, at = KILLED, FIRST_APPENDS + MOMENTS.index(moment)
    while code == KILLED:
        at += STRIDE
        sessions.append(session := f"s{moment}{at}")
        fork(engine, TALK, session)
        code = sends.run(environ, home.work, ["-s", session, "and now"], at, moment)
        finish(application)
    assert code == 0
    assert len(sessions) * STRIDE > 12, "there are more appends than that"
    _assert_each_was_learned_from_once(application, sessions)
    assert_all_is_done_once(application.log, [])
    assert_views_agree(application.log, home.path / "views")
    with home.open_log() as log:
        assert verify(log).findings == ()
    application.close()


def _talk(home: Home) -> None:
    """A history that needs compressing with the next turn."""
    environ = {**home.environ, **WHILE_TALKING}
    application = Application(load(environ), environ)
    stream = f"session-{TALK}"
    with InlineWorker(application) as worker:
        for number in range(ROUNDS):
            turn = f"t{number}"
            worker.engine.submit(
                e.TurnSubmitted(turn=turn, session=TALK, text=question(number), source="cli")
            )
            worker.work(partial(has_ended, worker, stream, turn), stream=stream)
    application.close()


def _assert_each_was_learned_from_once(application: Application, sessions: list[str]) -> None:
    """A turn that was accepted was compressed once and reviewed once, and what each saved is there once."""
    facts: dict[str, Counter[type[e.Event]]] = {}
    for recorded in application.log.tail(limit=100_000):
        facts.setdefault(recorded.stream, Counter())[type(recorded.event)] += 1
    for session in sessions:
        own = facts[f"session-{session}"]
        accepted = own[e.TurnSubmitted]
        counts: dict[type[e.Event], Any] = {
            e.ContextCompressed: accepted,
            e.ContextFlushed: accepted,
            e.ReviewStarted: accepted,
            e.ReviewCompleted: accepted,
        }
        assert {kind: own[kind] for kind in counts} == counts, session
    saved = [fact for fact in _facts(application) if isinstance(fact, memory_events.MemoryAdded)]
    calls = Counter(fact.evidence.call for fact in saved if fact.evidence)
    assert set(calls.values()) <= {1}


def _facts(application: Application) -> list[e.Event]:
    return [recorded.event for recorded in application.log.tail(limit=100_000)]
