"""A long session rests: it is compressed before its cache ends, if that is likely to save money (ADR 154)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_jobs.bootstrap import Application
from hermes_jobs.kernel import events as e
from hermes_jobs.runtime.inline_worker import InlineWorker
from hermes_jobs.settings import load
from tests.e2e.invariants import facts_of
from tests.e2e.test_claude import home_at
from tests.home import PATIENCE
from tests.manual_clock import ManualClock
from tests.providers.anthropic_server import AnthropicServer
from tests.reviews.talker import talker

CONFIG = """
model: {model: claude-sonnet-4-6, context_length: 32000}
memory: {nudge_interval: 0}
auxiliary: {compression: {model: claude-haiku-4-5}}
compression: {idle_tokens: 6000}
models:
  prices:
    claude-sonnet-4-6: {input: 5, output: 25, cache_read: 0.5, cache_write: 6.25}
    claude-haiku-4-5: {input: 0.001, output: 0.001}
"""
MINUTE = 60.0


@pytest.fixture
def claude() -> Iterator[AnthropicServer]:
    server = AnthropicServer(talker).start()
    yield server
    server.close()


@pytest.mark.slow
def test_a_session_that_people_return_to_is_compressed_while_it_rests_and_goes_on(
    tmp_path: Path, claude: AnthropicServer
) -> None:
    home = home_at(tmp_path, claude)
    home.path.mkdir(mode=0o700)
    (home.path / "config.yaml").write_text(CONFIG)
    clock = ManualClock(1_795_440_000.0)
    application = Application(load(home.environ), home.environ, clock=clock)
    with InlineWorker(application) as worker:

        def ask(number: int) -> None:
            text = f"question {number} " + "word " * 900
            worker.engine.submit(e.TurnSubmitted(turn=f"t{number}", session="s1", text=text, source="cli"))
            assert worker.work(
                lambda: f"t{number}" in worker.engine.sessions.load("session-s1").ended, seconds=PATIENCE
            )

        for number in range(6):
            ask(number)
            clock.moment += 20 * MINUTE  # longer than the cache is kept, and the person comes back
        ask(6)
        (waiting,) = application.log.steps()
        assert waiting.step.kind == "compression.flush"
        assert waiting.step.not_before == clock.moment + 4 * MINUTE
        clock.moment += 4 * MINUTE
        assert worker.work(lambda: not application.log.steps(), seconds=PATIENCE)
        ask(7)

    facts = facts_of(application.log)
    application.close()
    (compressed,) = (fact for fact in facts if isinstance(fact, e.ContextCompressed))
    assert {fact.reason for fact in facts if isinstance(fact, e.CompressionRequested)} == {"idle"}
    assert compressed.tokens_after < compressed.tokens_before
    assert "question 2 " not in str(claude.requests[-1].body["messages"])
    assert not claude.violations
