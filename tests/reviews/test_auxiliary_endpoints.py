"""Reviews, flushes and summaries at an endpoint of their own: with its model, its key, its books."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import cast

import pytest

from hermes_jobs.bootstrap import Application
from hermes_jobs.features.reviews.tables import select_reviews
from hermes_jobs.features.usage.tables.usage import select_spending
from hermes_jobs.kernel.events import TurnSubmitted
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.log.verify import verify
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.runtime.inline_worker import InlineWorker
from tests.model_script import Seen
from tests.model_server import ModelServer
from tests.reviews.conftest import Make
from tests.reviews.talker import has_ended, is_flush, is_review, is_summary, long_question, talker

STREAM = "session-s1"
MAIN = "Bearer sk-nobody-may-ever-see-this-0123456789"
OWN = "sk-of-the-other-endpoint-0123456789"


@pytest.fixture
def other_server() -> Iterator[ModelServer]:
    server = ModelServer(talker).start()
    yield server
    server.close()


def talk(application: Application, count: int, *, compress: bool = False) -> None:
    """So many turns, then everything that follows from them."""
    with InlineWorker(application) as worker:
        for number in range(count):
            turn = f"t{number}"
            worker.engine.submit(
                TurnSubmitted(turn=turn, session="s1", text=long_question(number), source="cli")
            )
            worker.work(partial(has_ended, worker, STREAM, turn), stream=STREAM)
        if compress:
            worker.engine.execute(STREAM, c.RequestCompression(reason="manual"))
        worker.drain()
    assert verify(cast(SqlEventLog, application.log)).findings == ()


def purpose_of(seen: Seen) -> str:
    kinds = {"summary": is_summary, "flush": is_flush, "review": is_review}
    return next((name for name, fits in kinds.items() if fits(seen)), "turn")


def asked(server: ModelServer) -> set[tuple[str, str, str]]:
    """What a server was asked for: purpose, model, key."""
    return {(purpose_of(seen), seen.body["model"], seen.headers["authorization"]) for seen in server.requests}


def test_reviews_are_asked_for_at_their_own_endpoint_and_nothing_else_is(
    make_installation: Make, model_server: ModelServer, other_server: ModelServer
) -> None:
    model_server.follow(talker)
    application = make_installation(
        {"AUXILIARY_REVIEW_API_KEY": OWN},
        MEMORY__NUDGE_INTERVAL=1,
        AUXILIARY__REVIEW__MODEL="small",
        AUXILIARY__REVIEW__BASE_URL=other_server.base_url,
    )
    talk(application, 1)
    assert asked(model_server) == {("turn", "scripted", MAIN)}
    assert asked(other_server) == {("review", "small", f"Bearer {OWN}")}
    [review] = application.views.read(select_reviews)
    assert (review.status, review.saved) == ("completed", "Saved it.")
    spent = {row.key: row.requests for row in application.views.read(select_spending, by="model")}
    assert spent == {"scripted": len(model_server.requests), "small": len(other_server.requests)}
    assert OWN not in str([recorded.event for recorded in application.log.tail(0, 1_000)])


def test_flush_and_summary_are_asked_for_where_compression_is(
    make_installation: Make, model_server: ModelServer, other_server: ModelServer
) -> None:
    model_server.follow(talker)
    application = make_installation(
        {"AUXILIARY_COMPRESSION_API_KEY": OWN},
        MEMORY__NUDGE_INTERVAL=0,
        MODEL__CONTEXT_LENGTH=8_000,
        COMPRESSION__PROTECT_LAST_N=2,
        AUXILIARY__COMPRESSION__MODEL="small",
        AUXILIARY__COMPRESSION__BASE_URL=other_server.base_url,
    )
    talk(application, 6, compress=True)
    assert asked(model_server) == {("turn", "scripted", MAIN)}
    assert asked(other_server) == {
        ("flush", "small", f"Bearer {OWN}"),
        ("summary", "small", f"Bearer {OWN}"),
    }
    assert application.views.session("s1").id != "s1", "it was compressed"
    assert "Flushed in request" in str(application.memory.sync())


def test_an_auxiliary_endpoint_serves_all_of_them_with_the_main_models_name(
    make_installation: Make, model_server: ModelServer, other_server: ModelServer
) -> None:
    model_server.follow(talker)
    application = make_installation(
        {"AUXILIARY_API_KEY": OWN},
        MEMORY__NUDGE_INTERVAL=6,
        MODEL__CONTEXT_LENGTH=8_000,
        COMPRESSION__PROTECT_LAST_N=2,
        AUXILIARY__BASE_URL=other_server.base_url,
    )
    talk(application, 6, compress=True)
    assert asked(model_server) == {("turn", "scripted", MAIN)}
    assert asked(other_server) == {
        (purpose, "scripted", f"Bearer {OWN}") for purpose in ("flush", "summary", "review")
    }


def test_where_nothing_is_set_all_are_asked_for_at_the_main_endpoint(
    make_installation: Make, model_server: ModelServer
) -> None:
    model_server.follow(talker)
    application = make_installation(
        MEMORY__NUDGE_INTERVAL=6, MODEL__CONTEXT_LENGTH=8_000, COMPRESSION__PROTECT_LAST_N=2
    )
    talk(application, 6, compress=True)
    assert {purpose for purpose, _, _ in asked(model_server)} == {"turn", "flush", "summary", "review"}
