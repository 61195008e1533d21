"""Texts are read in the log, by the positions of their events."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_jobs.errors import Corrupt
from hermes_jobs.kernel.events import ModelReplied, ToolInterrupted, TurnSubmitted
from hermes_jobs.kernel.events.recorded import EventMeta
from hermes_jobs.kernel.log.log import Append, StreamWrite
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.turns.synthetic_messages import INTERRUPTED
from hermes_jobs.kernel.views.message_texts import texts_of
from tests.views.histories import new_log

EVENTS = (
    TurnSubmitted(turn="t", text="Look.", source="cli", session="s"),
    ModelReplied(turn="t", step="t-1", content="I look.", model="m", finish_reason="stop"),
    ToolInterrupted(turn="t", call="t-1-0", reason="cancelled"),
)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[SqlEventLog]:
    log = new_log(tmp_path)
    write = StreamWrite(stream="session-s", events=EVENTS, expected=0)
    log.append(Append(meta=EventMeta(worker="w"), recorded_at="2026-11-22T12:00:00.000000Z", writes=(write,)))
    yield log
    log.close()


def test_each_kind_of_message_has_its_text(log: SqlEventLog) -> None:
    texts = texts_of(log)
    assert texts(iter((3, 1))) == {1: "Look.", 3: INTERRUPTED["cancelled"]}
    assert texts([2, 2]) == {2: "I look."}
    assert texts(()) == {}


def test_a_text_whose_event_is_gone_is_no_empty_one(log: SqlEventLog) -> None:
    with pytest.raises(Corrupt, match="no event at position 7"):
        texts_of(log)([1, 9, 7])
