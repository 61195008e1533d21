"""A worker within the calling process, with a home and a model server of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_jobs.bootstrap import Application
from hermes_jobs.kernel import events as e
from hermes_jobs.runtime.inline_worker import InlineWorker
from hermes_jobs.settings import load
from tests.e2e.invariants import assert_all_is_done_once, facts_of
from tests.home import endpoint
from tests.model_script import Answer, Hold, Rule, Script
from tests.model_server import ModelServer


@pytest.fixture
def application(tmp_path: Path, model_server: ModelServer) -> Iterator[Application]:
    application = Application(load(endpoint(model_server.base_url), home=tmp_path / "home"), {})
    yield application
    application.close()


def submit(application: Application, turn: str, text: str) -> None:
    command = e.TurnSubmitted(turn=turn, session="s1", text=text, source="test")
    application.engine().submit(command)


def test_the_sessions_next_turn_is_left_to_do_although_this_worker_has_begun_it(
    application: Application, model_server: ModelServer
) -> None:
    model_server.follow(Script(rules=(Rule("wait", (Hold(answer=Answer(text="At last.")),)),)))
    submit(application, "t1", "first")
    submit(application, "t2", "then wait")
    with InlineWorker(application) as worker:
        worker.work(lambda: len(model_server.requests) == 2, stream="session-s1")
        assert worker.remaining_steps() == 1
        model_server.release()
        worker.drain()
        assert worker.remaining_steps() == 0
    assert_all_is_done_once(application.log, ["t1", "t2"])
    answers = [fact.answer for fact in facts_of(application.log) if isinstance(fact, e.TurnCompleted)]
    assert answers == ["You said: first", "At last."]
