"""A sound log is found sound, and every way to be unsound is found."""

from __future__ import annotations

import pytest

from hermes_jobs.kernel.events import TurnCompleted, TurnSubmitted
from hermes_jobs.kernel.log.log import StreamWrite
from hermes_jobs.kernel.log.sql import SqlEventLog
from hermes_jobs.kernel.log.verify import verify
from hermes_jobs.kernel.turns.commands import SubmitTurn
from hermes_jobs.kernel.turns.decide import decide
from hermes_jobs.kernel.turns.evolve import fold
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.steps import next_steps
from tests.eventlog.changes import append, key, write


@pytest.fixture
def sound(log: SqlEventLog) -> SqlEventLog:
    """A session with a turn that is due and one that waits, a key, and a stream of another kind."""
    session = Session(stream="session-s1")
    for turn in ("t1", "t2"):
        submitted = TurnSubmitted(turn=turn, session="s1", text="hello", source="cli")
        events = decide(SubmitTurn(submitted), session)
        after = fold(session, events)
        before = {step.id for step in next_steps(session)}
        due = tuple(step for step in next_steps(after) if step.id not in before)
        change = StreamWrite(stream=session.stream, events=events, expected=session.version, due=due)
        log.append(append(change, keys=(key(turn),)))
        session = after
    log.append(append(write("session-s9", "one", "two")))
    return log


def change(log: SqlEventLog, statement: str) -> None:
    """Do to the tables what the log never does."""
    with log._database.write_lock() as begin:
        connection = begin(True)
        connection.execute(statement)
        connection.commit()


def test_a_sound_log_is_found_sound(sound: SqlEventLog) -> None:
    report = verify(sound)
    assert report.is_sound
    assert (report.findings, report.unread) == ((), ())
    assert (report.num_events, report.num_streams, report.num_steps) == (4, 2, 1)


def test_an_empty_log_is_sound(log: SqlEventLog) -> None:
    assert verify(log).is_sound


@pytest.mark.parametrize(
    ("damage", "stream", "sentence"),
    [
        (
            "UPDATE events SET data = replace(data, 'one', 'two') WHERE position = 3",
            "session-s9",
            "Version 1 was changed, or the one before: its hash differs.",
        ),
        (
            "UPDATE events SET meta = '{\"worker\":\"other\"}' WHERE version = 2 AND stream = 'session-s9'",
            "session-s9",
            "Version 2 was changed, or the one before: its hash differs.",
        ),
        (
            "UPDATE events SET recorded_at = 'earlier' WHERE version = 1 AND stream = 'session-s1'",
            "session-s1",
            "Version 1 was changed, or the one before: its hash differs.",
        ),
        (
            "DELETE FROM events WHERE stream = 'session-s9' AND version = 1",
            "session-s9",
            "Version 2 follows on version 0.",
        ),
        (
            "DELETE FROM events WHERE stream = 'session-s9' AND version = 2",
            "session-s9",
            "The head says version 2, the last event is version 1.",
        ),
        (
            "DELETE FROM events WHERE stream = 'session-s9'",
            "session-s9",
            "The head says version 2, but there are no events.",
        ),
        (
            "DELETE FROM streams WHERE stream = 'session-s9'",
            "session-s9",
            "There are 2 versions, but no head.",
        ),
        (
            "UPDATE streams SET hash = 'other' WHERE stream = 'session-s9'",
            "session-s9",
            "The head says version 2, the last event is version 2.",
        ),
        (
            "UPDATE events SET position = 0 WHERE stream = 'session-s9' AND version = 2",
            "session-s9",
            "Version 2 stands before version 1: position 0.",
        ),
        (
            "UPDATE events SET position = 9 WHERE stream = 'session-s9' AND version = 2",
            None,
            "4 events stand at positions 1 to 9: some are missing.",
        ),
        (
            "DELETE FROM steps",
            "session-s1",
            "Step t1-prefetch follows from the events, but is not due.",
        ),
        (
            "UPDATE steps SET id = 'other'",
            "session-s1",
            "Step other is due, but does not follow from the events.",
        ),
        (
            "UPDATE steps SET stream = 'session-none'",
            "session-none",
            "1 steps are due in a stream without events.",
        ),
        (
            "UPDATE keys SET position = 4 WHERE position = 1",
            "session-s1",
            "The turn key 't1' points at position 4, where no event of this stream stands.",
        ),
        (
            "UPDATE keys SET position = 99 WHERE position = 1",
            "session-s1",
            "The turn key 't1' points at position 99, where no event of this stream stands.",
        ),
    ],
)
def test_each_finding_is_described(
    sound: SqlEventLog, damage: str, stream: str | None, sentence: str
) -> None:
    change(sound, damage)
    findings = {(finding.stream, finding.message) for finding in verify(sound).findings}
    assert (stream, sentence) in findings


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE steps SET attempt = 2",
        "UPDATE steps SET not_before = 5",
        "UPDATE steps SET lane = 'tools'",
        "UPDATE steps SET kind = 'turn.run_tool'",
    ],
)
def test_a_step_that_differs_from_its_events_is_found(sound: SqlEventLog, damage: str) -> None:
    change(sound, damage)
    (finding,) = verify(sound).findings
    assert finding.message.startswith("Step t1-prefetch is ")


def test_the_holder_of_a_step_is_not_verified(sound: SqlEventLog) -> None:
    change(sound, "UPDATE steps SET owner = 'w-1', fence = 5")
    assert verify(sound).is_sound


@pytest.mark.parametrize("data", ["{", '{"turn":"t1"}'])
def test_events_that_cannot_be_read_are_reported(sound: SqlEventLog, data: str) -> None:
    change(sound, f"UPDATE events SET data = '{data}' WHERE stream = 'session-s1' AND version = 1")
    messages = [finding.message for finding in verify(sound).findings]
    assert any(message.startswith("Version 1 cannot be read: A stored TurnSubmitted") for message in messages)


def test_events_that_cannot_follow_on_each_other_are_reported(log: SqlEventLog) -> None:
    event = TurnCompleted(turn="t1", answer="")
    log.append(append(StreamWrite(stream="session-s1", events=(event,), expected=0)))
    (finding,) = verify(log).findings
    assert finding.message.startswith("Version 1, TurnCompleted, cannot follow on what was before:")


def test_a_stream_for_a_newer_build_is_listed_and_not_judged(sound: SqlEventLog) -> None:
    change(sound, "UPDATE events SET schema = 99 WHERE stream = 'session-s1' AND version = 2")
    assert verify(sound).unread == ("session-s1",)
