"""The lines about sub-agents at work below a turn."""

from __future__ import annotations

import pytest

from hermes_jobs.interfaces.cli.output import line_width
from hermes_jobs.interfaces.cli.turns.child_lines import ChildLines
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import EventMeta, RecordedEvent

GOAL = "Read the changes of httpx since the last release and say which of them break our client"


def recorded(event: e.Event, stream: str = "session-s1") -> RecordedEvent:
    return RecordedEvent(
        position=1,
        stream=stream,
        version=1,
        event=event,
        type=type(event).__name__,
        meta=EventMeta(worker="w"),
        recorded_at="2026-11-22T09:00:00.000000Z",
        schema=1,
        hash="",
    )


def begun(width: int, told: list[str] | None = None, goal: str = GOAL) -> ChildLines:
    lines = ChildLines((told if told is not None else []).append, lambda: 0.0, lambda: width)
    ref = e.ChildRef(session="s2", turn="t2", goal=goal, role="research")
    lines.handle(recorded(e.ChildrenStarted(turn="t1", call="t1-1-0", children=(ref,))))
    return lines


@pytest.mark.parametrize("goal", [GOAL, GOAL.replace("httpx", "网络库的客户端")])
@pytest.mark.parametrize("width", [79, 119])
def test_a_goal_gets_the_columns_that_the_line_has(width: int, goal: str) -> None:
    (line,) = begun(width, goal=goal).lines()
    assert line.startswith("  ↳ research: Read the changes of ")
    assert line.endswith("… · waiting for the model")
    assert width - 12 <= line_width(line) <= width, "cut at a word near the end"


def test_a_goal_that_fits_is_whole_and_in_a_narrow_terminal_something_of_it_is_left() -> None:
    assert begun(200).lines() == [f"  ↳ research: {GOAL} · waiting for the model"]
    assert begun(20).lines() == ["  ↳ research: Read … · waiting for the model"]


def test_an_end_has_the_same_width() -> None:
    told: list[str] = []
    lines = begun(99, told)
    lines.handle(recorded(e.ChildEnded(turn="t1", call="t1-1-0", child="s2", status="out_of_budget")))
    (end,) = told
    assert end.startswith("· research: Read the changes of httpx since")
    assert end.endswith("…: out of budget (0 model calls, 0 tool calls)")
    assert line_width(end) <= 99
    assert lines.lines() == []
