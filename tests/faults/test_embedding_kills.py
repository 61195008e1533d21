"""`kill -9` while texts are given vectors: each gets one, and what has one is not asked for again."""

from __future__ import annotations

from collections import Counter

import pytest

from hermes_jobs.bootstrap import Application
from hermes_jobs.features.recall import events as recall_events
from hermes_jobs.features.recall.plans import plan_vectors
from hermes_jobs.features.recall.rules import PREFIX
from hermes_jobs.features.recall.tables.embeddings import select_embedding_counts
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.runtime.inline_worker import InlineWorker
from hermes_jobs.settings import load
from tests.e2e.invariants import assert_views_agree
from tests.faults.crew import Crew, wait_until
from tests.faults.dying import MOMENTS, Moment, Sends
from tests.home import PATIENCE, Home
from tests.model_script import Refuse
from tests.model_server import ModelServer

KILLED = -9


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_all_texts_get_vectors_whatever_append_is_the_last_of_their_worker(
    home: Home, model_server: ModelServer, moment: Moment
) -> None:
    home.run("config", "set", "embeddings.model", "text-embedding-3-small")
    home.run("memory", "add", "Owns a blue Saab")
    sends = Sends()
    application = Application(load(home.environ), home.environ)
    try:
        code, at = KILLED, 0
        while code == KILLED:
            at += 1
            code = sends.run(home.environ, home.work, [], at, moment, command=("memory", "embed"))
            with InlineWorker(application) as worker:
                assert worker.work(lambda: not application.log.steps(), seconds=PATIENCE)
            assert_each_is_asked_once(application.log)
            home.run("memory", "add", f"Owns {at} bicycles")
        assert code == 0
        assert at > 2
        assert home.run("events", "verify").code == 0
        assert_views_agree(application.log, home.path / "views")
    finally:
        application.close()


def assert_each_is_asked_once(log: EventLog) -> None:
    """Every plan has one end and its vectors, and no text is in two plans."""
    planned: Counter[str] = Counter()
    for head in log.streams(PREFIX):
        events = [each.event for each in log.read(head.stream)]
        for event in events:
            if isinstance(event, recall_events.EmbeddingPlanned):
                planned.update(each.digest for each in event.texts)
        assert sum(isinstance(event, e.HelperCallEnded) for event in events) == 1, head.stream
        assert log.result(f"vectors:{head.stream.removeprefix(PREFIX)}")
        assert log.account(head.stream).reserved.tokens == 0
    assert set(planned.values()) <= {1}


@pytest.mark.slow
def test_workers_embed_due_texts_and_retry_failed_calls(
    home: Home, crew: Crew, model_server: ModelServer
) -> None:
    home.run("config", "set", "embeddings.model", "text-embedding-3-small")
    home.run("memory", "add", "Owns a blue Saab")
    model_server.no_embeddings = Refuse(status=503, message="Try again.")
    application = Application(load(home.environ), home.environ)
    try:
        crew.start_one(0)
        plan_vectors(application)
        plan_vectors(application)
        model_server.wait_until(lambda: len(model_server.embeddings) == 1)
        model_server.no_embeddings = None
        wait_until(lambda: not application.log.steps(), "the step to end")
        counts = application.views.read(select_embedding_counts, "text-embedding-3-small")
        assert (counts.there, counts.planned) == (1, 0)
        assert len(model_server.embeddings) == 2
        assert_each_is_asked_once(application.log)
    finally:
        application.close()
