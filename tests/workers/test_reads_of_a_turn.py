"""How often a turn in this process reads the log: counted at the real log of a home."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_jobs.bootstrap import Application
from hermes_jobs.kernel.events import Opening, TurnSubmitted
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.turns.session import stream_of
from hermes_jobs.runtime import inline_worker
from hermes_jobs.runtime.inline_worker import InlineWorker
from hermes_jobs.settings import load
from tests.home import endpoint
from tests.model_server import ModelServer

NEVER = 600.0
"""Seconds between polls without notifications: what a test sees is not found by them."""

MOST = {
    "append": 6,  # the text, the claim and the outcome of two steps, and the outcome of the last one
    "read session": 2,  # to submit the text, and to wait for it the first time
    "read memory": 2,  # for the prompt, and for what is recalled
    "tail": 4,  # before the first wait, when the first step begins, when none runs, at the end
    "due": 1,
    "next_due_at": 2,
    "key": 2,  # whether texts were forgotten: for the memory's files, and for the skills'
    "streams": 1,  # the skills
    "head": 0,
    "steps": 0,
    "step": 0,
}
"""The most calls of the log's methods in a text turn, with what needs them."""


@pytest.fixture
def application(tmp_path: Path, model_server: ModelServer) -> Iterator[Application]:
    application = Application(load(endpoint(model_server.base_url), home=tmp_path / "home"), {})
    yield application
    application.close()


@pytest.fixture(autouse=True)
def _waits_are_ended_by_news(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inline_worker, "POLL_SECONDS", NEVER)


def complete(worker: InlineWorker, name: str) -> bool:
    """Whether the turn of a new session came to its end, within half a minute."""
    opening, stream = Opening(workdir="/"), stream_of(name)
    text = TurnSubmitted(turn=f"t-{name}", session=name, text="hello", source="test", opening=opening)
    worker.engine.submit(text)
    return worker.work(lambda: f"t-{name}" in worker.session(stream).ended, stream=stream, seconds=30)


def counted(name: str, method: Callable[..., Any], calls: Counter[str]) -> Callable[..., Any]:
    """The method, which counts its calls; reads by the kind of stream."""

    def call(log: SqlEventLog, *arguments: Any, **named: Any) -> Any:
        kind = f" {arguments[0].partition('-')[0]}" if name == "read" else ""
        calls[f"{name}{kind}"] += 1
        return method(log, *arguments, **named)

    return call


def test_a_text_turn_reads_the_log_once_where_it_needs_it(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given a process that has run a turn, when it runs another, then no step reads what this process has
    just written, and due steps are searched once."""
    calls: Counter[str] = Counter()
    with InlineWorker(application) as worker:
        assert complete(worker, "first")
        for name in {"read", *MOST} - {"read session", "read memory"}:
            monkeypatch.setattr(SqlEventLog, name, counted(name, getattr(SqlEventLog, name), calls))
        assert complete(worker, "second")
    assert calls["append"] == MOST["append"]
    assert {name: calls[name] for name, most in MOST.items() if calls[name] > most} == {}


def test_the_turn_of_another_process_is_found_in_the_news(application: Application) -> None:
    """Given a worker that waits, when another engine submits a text, then its steps are found."""
    with InlineWorker(application) as worker:
        submitted: list[object] = []

        def done() -> bool:
            if not submitted:
                text = TurnSubmitted(turn="t1", session="s1", text="hello", source="test")
                submitted.append(application.engine().submit(text))
            return "t1" in worker.session("session-s1").ended

        assert worker.work(done, seconds=30)
