"""An event's line holds all of its fields, whatever they hold."""

from __future__ import annotations

import json

import pytest

from hermes_jobs.interfaces.cli.output import print_event
from hermes_jobs.kernel.events import ModelReplied
from hermes_jobs.kernel.events.recorded import EventMeta, RecordedEvent
from hermes_jobs.kernel.streams.usage import Usage


def test_fields_have_their_defaults_and_those_that_were_never_set_are_left_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    event = ModelReplied(
        turn="t1", step="t1-1", content="Hi.", model="m", finish_reason="stop", usage=Usage(3, 1)
    )
    recorded = RecordedEvent(
        position=1,
        stream="session-s1",
        version=1,
        type="ModelReplied",
        event=event,
        meta=EventMeta(worker="w"),
        schema=1,
        recorded_at="2026-01-01T00:00:00.000000Z",
        hash="",
    )
    print_event(recorded)
    data = json.loads(capsys.readouterr().out)["data"]
    assert (data["purpose"], data["attempt"], data["plan"]) == ("turn", 1, [])
    assert data["usage"]["input_tokens"] == 3
    assert "cache_write_1h_tokens" not in data["usage"]
