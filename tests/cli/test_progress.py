"""The lines that say how the calls of a turn's tools ended."""

from __future__ import annotations

import pytest

from hermes_jobs.interfaces.cli.turns.progress import ProgressLines
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import EventMeta, RecordedEvent
from hermes_jobs.kernel.turns.attachments import Heard
from hermes_jobs.kernel.turns.loop_guard import REFUSAL

AT = "2026-11-22T09:00:00.000000Z"


def recorded(event: e.SessionEvent) -> RecordedEvent:
    return RecordedEvent(
        position=1,
        stream="session-s1",
        version=1,
        event=event,
        type=type(event).__name__,
        meta=EventMeta(worker="w"),
        recorded_at=AT,
        schema=1,
        hash="",
    )


@pytest.mark.parametrize(
    ("content", "invalid", "told"),
    [
        (REFUSAL, False, "not run, 0 ms: the same call with the same result, repeated"),
        ("Error: there is no tool `read_file`; did you mean …", True, "not a valid call, 0 ms"),
        ("Error: calc.py does not exist.", False, "failed, 0 ms: calc.py does not exist."),
        ("No such file: calc.py", False, "failed, 0 ms: No such file: calc.py"),
        (f"ERROR {'at the door ' * 10}because", False, f"failed, 0 ms: ERROR {'at the door ' * 10}because"),
    ],
)
def test_a_call_without_success_is_explained_in_words_for_people(
    content: str, invalid: bool, told: str
) -> None:
    lines: list[str] = []
    progress = ProgressLines(lines.append, lambda: 0.0)
    progress.handle(
        recorded(
            e.ToolStarted(
                turn="t1",
                step="t1-1-0",
                call="c1",
                name="read_file",
                arguments='{"path": "calc.py"}',
                attempt=1,
                effect="read",
            )
        )
    )
    progress.handle(
        recorded(e.ToolFinished(turn="t1", call="c1", ok=False, content=content, invalid=invalid))
    )
    assert lines == [f"· read_file calc.py: {told}"]


def test_what_was_heard_and_described_is_told() -> None:
    lines: list[str] = []
    heard = (
        Heard(digest="a", words="Water the\ntomatoes."),
        Heard(digest="b", words="A lighthouse.", is_picture=True),
        Heard(digest="c", problem="too long", is_picture=True),
    )
    begun = e.ContextPrefetched(turn="t1", model="m", max_iterations=1, heard=heard)
    ProgressLines(lines.append, lambda: 0.0).handle(recorded(begun))
    assert lines == [
        "· heard: “Water the tomatoes.”",
        "· described: “A lighthouse.”",
        "· not described: too long",
    ]
