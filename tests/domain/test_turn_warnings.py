"""What a turn's `warnings` hold: limits nearly used up, a context nearly full, waits for a quota."""

from __future__ import annotations

import msgspec
import pytest

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns.context_notices import turn_warnings

FULL = e.ContextPressure(turn="t1", tokens=850, threshold=1_000, window=2_000)
WAIT = e.ModelCallFailed(
    turn="t1", step="t1-1", attempt=1, kind="rate_limit", message="", model="m", quota_until=1_796_000_000.0
)


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (FULL, "fills 85% of what is kept"),
        (msgspec.structs.replace(FULL, high=False), ""),
        (WAIT, "the turn waited for the quota of m, which was used up until 2026-11-30 00:53 UTC"),
        (msgspec.structs.replace(WAIT, quota_until=None), ""),
        (e.TurnCompleted(turn="t1", answer="Yes."), ""),
    ],
)
def test_an_event_adds_these_words_to_the_warnings_of_its_turn(event: e.Event, words: str):
    text = "; ".join(turn_warnings(event))

    assert words in text
    assert bool(text) == bool(words)
