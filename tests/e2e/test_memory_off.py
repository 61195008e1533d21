"""Where memory is not enabled, nothing writes it and no call is paid for that."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_jobs.features.memory.rules.memory import STREAM
from hermes_jobs.kernel import events as e
from tests.e2e.invariants import facts_of
from tests.e2e.test_bookings import installed, submit, work
from tests.e2e.test_windows import CHECKPOINT, is_summary, kinds
from tests.model_script import Action, Answer, AskedCall, Seen
from tests.model_server import ModelServer
from tests.reviews.talker import is_flush

SAVE = AskedCall("memory", {"action": "add", "target": "memory", "content": "Likes tea."})
SMALL = {
    "HERMES_JOBS_MODEL__CONTEXT_LENGTH": "8192",
    "HERMES_JOBS_COMPRESSION__PROTECT_LAST_N": "1",
    "HERMES_JOBS_MEMORY__NUDGE_INTERVAL": "1",
    "HERMES_JOBS_SKILLS__CREATION_NUDGE_INTERVAL": "0",
}


def eager(seen: Seen) -> Action:
    """Saves to memory in flushes and reviews, wherever it is given the tool, and talks in conversations."""
    if is_summary(seen):
        return Answer(text=CHECKPOINT)
    tools = [tool["function"]["name"] for tool in seen.body.get("tools", ())]
    if "memory" in tools and "terminal" not in tools and seen.rounds == 0:
        return Answer(tool_calls=(SAVE,))
    return Answer(text="word " * 300)


@pytest.mark.parametrize(("enabled", "is_on"), [('["terminal"]', False), ('["terminal", "memory"]', True)])
def test_a_flush_and_a_review_write_memory_only_where_it_is_enabled(
    tmp_path: Path, model_server: ModelServer, enabled: str, is_on: bool
) -> None:
    model_server.follow(eager)
    with installed(tmp_path, model_server, **SMALL, HERMES_JOBS_TOOLSETS__ENABLED=enabled) as application:
        for number in range(4):
            submit(application, f"t{number}", f"text {number} " + "and so on " * 500)
        work(application)
        facts = facts_of(application.log)
        written = application.log.read(STREAM)
    assert kinds(facts, e.ContextCompressed)
    assert bool(written) == is_on
    assert any(is_flush(seen) for seen in model_server.requests) == is_on
    assert bool(kinds(facts, e.ReviewCompleted)) == is_on
