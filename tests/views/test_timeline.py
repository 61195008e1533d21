"""A turn as spans of time: what may be drawn of any history, and what is drawn of some."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import EventMeta, RecordedEvent
from hermes_jobs.kernel.streams.usage import Reservation
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.kernel.views.timeline import Timeline, timeline, tracks
from tests.examples import examples
from tests.views.histories import random_history

BEGAN = datetime(2026, 11, 21, 12, tzinfo=UTC)
EPOCH = BEGAN.timestamp()


def recorded(events: Iterable[tuple[float, e.Event]], worker: str = "w1") -> Sequence[RecordedEvent]:
    """Events of one stream, each at so many seconds."""
    return [
        RecordedEvent(
            position=version,
            stream="session-aa",
            version=version,
            type=type(event).__name__,
            event=event,
            meta=EventMeta(worker=worker),
            schema=1,
            recorded_at=f"{BEGAN + timedelta(seconds=at):%Y-%m-%dT%H:%M:%S.%fZ}",
            hash="",
        )
        for version, (at, event) in enumerate(events, 1)
    ]


def drawn(found: Timeline) -> list[tuple[str, str, float, float, int, str]]:
    return [(span.kind, span.label, span.start, span.end, span.lane, span.outcome) for span in found.spans]


@given(seed=st.integers(0, 2**32), backwards=st.booleans())
@settings(max_examples=examples(60))
def test_whatever_happened_spans_lie_within_the_turn_and_never_overlap_in_a_lane(
    seed: int, backwards: bool
) -> None:
    random = Random(seed)
    history = random_history(random, 120, ("aa",))
    at, timed = 0.0, []
    for _, fact in history.facts:
        at += random.choice([0.0, 0.001, 0.25, 3.0]) * (-1 if backwards and random.random() < 0.2 else 1)
        timed.append((at, fact))
    events = recorded(timed)
    for turn in {each.turn for _, each in history.facts if isinstance(each, e.TurnSubmitted)}:
        found = timeline(turn, events, now=random.choice([None, EPOCH + at + 5]))
        holds(found)
        calls_agree(found, turn, [event for _, event in timed], ended=turn in history.sessions["aa"].ended)


def holds(found: Timeline) -> None:
    assert all(0 <= span.start <= span.end <= found.seconds for span in found.spans)
    assert list(found.spans) == sorted(found.spans, key=lambda span: (span.start, span.end, span.position))
    lanes = {span.lane for span in found.spans}
    assert lanes | {0} == set(range(max(lanes, default=0) + 1)), "no lane is left empty"
    for lane in lanes:
        tracks = [span for span in found.spans if span.lane == lane and span.kind != "ordered"]
        assert all(one.end <= next_.start for one, next_ in pairwise(tracks)), (lane, tracks)


def calls_agree(found: Timeline, turn: str, events: Sequence[e.Event], *, ended: bool) -> None:
    own = [event for event in events if getattr(event, "turn", None) == turn]
    begun = sum(isinstance(event, e.ModelCallStarted) for event in own)
    assert sum(span.kind == "model_call" for span in found.spans) == begun
    tools = [event.call for event in own if isinstance(event, e.ToolStarted)]
    drawn_tools = [span.step for span in found.spans if span.kind == "tool_call"]
    assert all(drawn_tools.count(call) >= tools.count(call) for call in tools)
    if ended:
        assert not [span for span in found.spans if span.outcome in {"running", "waiting"}]


SUBMITTED = e.TurnSubmitted(turn="t", text="hi", source="cli", session="aa")
PREFETCHED = e.ContextPrefetched(turn="t", model="m", max_iterations=9)
STARTED = e.ModelCallStarted(
    turn="t", step="t-1", attempt=1, reserved=Reservation(model="m", input_tokens=1, output_tokens=1, day="d")
)
TWO_CALLS = e.ModelReplied(
    turn="t",
    step="t-1",
    content="",
    model="m",
    finish_reason="tool_calls",
    tool_calls=(ToolCall("a", "terminal", '{"command": "ls"}'), ToolCall("b", "read_file", "{}")),
    plan=(e.PlannedCall(call="t-1-0", effect="write"), e.PlannedCall(call="t-1-1", effect="read")),
)
ANSWERED = e.ModelReplied(turn="t", step="t-2", content="done", model="m", finish_reason="stop")


def tool(call: str, name: str) -> e.ToolStarted:
    return e.ToolStarted(
        turn="t", step="t-1", call=call, name=name, arguments="{}", attempt=1, effect="write"
    )


def test_a_call_that_runs_after_others_says_which() -> None:
    """Given a call that changes files between two that read, where the last one waits for all of them."""
    ids = ("t-1-0", "t-1-1", "t-1-2")
    plan = tuple(e.PlannedCall(call=call, effect="write", after=ids[:at]) for at, call in enumerate(ids))
    calls = tuple(ToolCall(call, "terminal", "{}") for call in ids)
    ended = [e.ToolFinished(turn="t", call=call, ok=True, content="") for call in ids]
    found = timeline(
        "t",
        recorded(
            [
                (0, SUBMITTED),
                (0, PREFETCHED),
                (0, STARTED),
                (1, replace(TWO_CALLS, tool_calls=calls, plan=plan)),
                (1, tool(ids[0], "terminal")),
                (3, ended[0]),
                (4, tool(ids[1], "terminal")),
                (5, ended[1]),
            ]
        ),
        EPOCH + 9,
    )
    kept = [span for span in found.spans if span.lane]
    assert [(span.kind, span.start, span.end, span.number, span.after) for span in kept] == [
        ("ordered", 1, 3, 2, (1,)),
        ("tool_call", 1, 3, 1, ()),
        ("ordered", 1, 5, 3, (2,)),
        ("waiting", 3, 4, 2, (1,)),
        ("tool_call", 4, 5, 2, (1,)),
        ("waiting", 5, 9, 3, (2,)),
    ]
    assert [track.name for track in tracks(kept)] == ["terminal", "terminal", "waits for a worker"]


def test_tools_side_by_side_have_lanes_of_their_own() -> None:
    second = e.ModelCallStarted(turn="t", step="t-2", attempt=1)
    found = timeline(
        "t",
        recorded(
            [
                (0, SUBMITTED),
                (1, PREFETCHED),
                (1, STARTED),
                (3, TWO_CALLS),
                (3, tool("t-1-0", "terminal")),
                (4, tool("t-1-1", "read_file")),
                (6, e.ToolFinished(turn="t", call="t-1-1", ok=False, content="no such file")),
                (7, e.ToolFinished(turn="t", call="t-1-0", ok=True, content="a.txt")),
                (7.5, second),
                (9, ANSWERED),
                (9.25, e.TurnCompleted(turn="t", answer="done")),
                (11, e.ReviewRequested(review="v", kind="memory", reason="due")),
            ]
        ),
    )
    assert drawn(found) == [
        ("waiting", "waiting", 0, 1, 0, "ok"),
        ("model_call", "m", 1, 3, 0, "ok"),
        ("waiting", "waiting", 3, 4, 2, "ok"),
        ("tool_call", "terminal", 3, 7, 1, "ok"),
        ("tool_call", "read_file", 4, 6, 2, "error"),
        ("waiting", "waiting", 7, 7.5, 0, "ok"),
        ("model_call", "m", 7.5, 9, 0, "ok"),
        ("record", "record", 9, 9.25, 0, "ok"),
    ]
    assert (found.seconds, found.workers) == (9.25, ("w1",))


def test_a_failed_call_is_waited_out_and_a_dead_worker_s_is_begun_again() -> None:
    failed = e.ModelCallFailed(
        turn="t", step="t-1", attempt=1, kind="rate_limit", message="slow down", retry_at=EPOCH + 5
    )
    died = e.StepAbandoned(turn="t", step="t-1", worker="w1", attempt=2, reason="died")
    again = e.ModelCallStarted(turn="t", step="t-1", attempt=2)
    found = timeline(
        "t",
        recorded(
            [
                (0, SUBMITTED),
                (0, PREFETCHED),
                (0, STARTED),
                (2, failed),
                (6, again),
                (8, died),
                (9, e.ModelCallStarted(turn="t", step="t-1", attempt=3)),
            ]
        ),
        now=EPOCH + 12,
    )
    assert drawn(found) == [
        ("model_call", "m", 0, 2, 0, "failed"),
        ("backoff", "pause after rate limit", 2, 5, 0, "ok"),
        ("waiting", "waiting", 5, 6, 0, "ok"),
        ("model_call", "model", 6, 8, 0, "abandoned"),
        ("waiting", "waiting", 8, 9, 0, "ok"),
        ("model_call", "model", 9, 12, 0, "running"),
    ]
    assert found.spans[0].message == "rate_limit: slow down"


def test_an_approval_is_waited_for_in_the_lane_of_its_call() -> None:
    one = e.ModelReplied(
        turn="t",
        step="t-1",
        content="",
        model="m",
        finish_reason="tool_calls",
        tool_calls=(ToolCall("a", "terminal", "{}"),),
        plan=(e.PlannedCall(call="t-1-0", effect="write"),),
    )
    asked = e.ApprovalRequested(turn="t", call="t-1-0", digest="d", rule="removes files", expires_at=EPOCH)
    begun = [(0, SUBMITTED), (0, PREFETCHED), (0, STARTED), (1, one), (1, asked)]
    waits = timeline("t", recorded(begun), now=EPOCH + 4)
    assert drawn(waits)[1:] == [("approval", "terminal", 1, 4, 1, "waiting")]
    given_then = [
        (5, e.ApprovalGiven(turn="t", call="t-1-0", by="user")),
        (6, tool("t-1-0", "terminal")),
        (8, e.ToolFinished(turn="t", call="t-1-0", ok=True, content="")),
    ]
    assert drawn(timeline("t", recorded([*begun, *given_then])))[1:] == [
        ("approval", "terminal", 1, 5, 1, "approved"),
        ("waiting", "waiting", 5, 6, 1, "ok"),
        ("tool_call", "terminal", 6, 8, 1, "ok"),
    ]


def test_a_question_of_a_server_is_waited_for_between_two_attempts_at_the_call() -> None:
    one = e.ModelReplied(
        turn="t",
        step="t-1",
        content="",
        model="m",
        finish_reason="tool_calls",
        tool_calls=(ToolCall("a", "notes__book", "{}"),),
        plan=(e.PlannedCall(call="t-1-0", effect="write"),),
    )
    requests = (e.InputRequest(key="a", message="A?"), e.InputRequest(key="b", message="B?"))
    asked = e.InputRequested(turn="t", call="t-1-0", server="notes", requests=requests, expires_at=EPOCH)
    answered = e.InputAnswered(turn="t", call="t-1-0", key="a", action="accept", by="user")
    events = [
        *[(0, SUBMITTED), (0, PREFETCHED), (0, STARTED), (1, one), (1, tool("t-1-0", "notes__book"))],
        *[(2, asked), (3, answered), (5, replace(answered, key="b", action="decline"))],
        (6, replace(tool("t-1-0", "notes__book"), attempt=2)),
        (8, e.ToolFinished(turn="t", call="t-1-0", ok=True, content="", attempt=2)),
    ]
    assert drawn(timeline("t", recorded(events)))[1:] == [
        ("tool_call", "notes__book", 1, 2, 1, "ok"),
        ("question", "notes__book", 2, 5, 1, "answered"),
        ("waiting", "waiting", 5, 6, 1, "ok"),
        ("tool_call", "notes__book", 6, 8, 1, "ok"),
    ]


def test_a_turn_behind_another_is_queued_until_that_ends() -> None:
    other = e.TurnSubmitted(turn="o", text="hi", source="cli", session="aa")
    events = recorded(
        [(0, other), (1, SUBMITTED), (4, e.TurnCompleted(turn="o", answer="")), (5, PREFETCHED)]
    )
    assert drawn(timeline("t", events)) == [
        ("queued", "queued", 0, 3, 0, "ok"),
        ("waiting", "waiting", 3, 4, 0, "ok"),
    ]


def postponed(number: int, retry_at: float) -> e.TurnPostponed:
    return e.TurnPostponed(
        turn="t",
        reason="It is away.",
        retry_at=EPOCH + retry_at,
        since=EPOCH + 1.0,
        number=number,
        what="MCP server notes",
    )


def test_a_waiting_turn_shows_its_reason_and_next_attempt() -> None:
    begun = [(0, SUBMITTED), (1, postponed(1, 3)), (4, postponed(2, 8))]
    waits = ("backoff", "waits for MCP server notes", 1.0)
    found = timeline("t", recorded(begun), now=EPOCH + 6)
    assert drawn(found) == [("waiting", "waiting", 0, 1, 0, "ok"), (*waits, 6, 0, "ok")]
    (track,) = tracks(found.spans)
    assert (track.name, track.last.message) == (waits[1], "It is away.")
    assert track.last.retry_at == EPOCH + 8
    under_way = timeline("t", recorded(begun), now=EPOCH + 9)
    assert drawn(under_way)[1:] == [(*waits, 9, 0, "ok")]
    assert under_way.spans[-1].retry_at is None
    done = timeline("t", recorded([*begun, (9, PREFETCHED), (9, STARTED)]), now=EPOCH + 9)
    assert drawn(done)[1:3] == [(*waits, 8, 0, "ok"), ("waiting", "waiting", 8, 9, 0, "ok")]
    at_once = timeline("t", recorded([*begun, (5, e.WaitEnded(turn="t", by="user")), (6, postponed(1, 8))]))
    assert drawn(at_once)[1:] == [
        (*waits, 5, 0, "ok"),
        ("waiting", "waiting", 5, 6, 0, "ok"),
        ("backoff", "waits for MCP server notes", 6, 6, 0, "ok"),
    ]


def test_a_turn_whose_prefetch_may_be_under_way_is_not_said_to_wait_for_a_worker() -> None:
    first = [(0, SUBMITTED)]
    retried = [*first, (1, postponed(1, 3)), (2, e.WaitEnded(turn="t", by="user"))]
    for events in (first, retried):
        assert tracks(timeline("t", recorded(events), now=EPOCH + 4).spans)[-1].name == "until begun"
    prefetched = timeline("t", recorded([*first, (1, PREFETCHED)]), now=EPOCH + 4)
    assert tracks(prefetched.spans)[-1].name == "waits for a worker"


def test_a_compression_and_the_pause_before_a_retry_are_shown() -> None:
    events = recorded(
        [
            (0, SUBMITTED),
            (0, PREFETCHED),
            (0, e.CompressionRequested(turn="t", reason="threshold")),
            (1, e.CompressionStarted(turn="t", step="t-flush-1", attempt=1)),
            (2, e.ContextFlushed(turn="t", step="t-flush-1", saved="2 entries")),
            (2, e.CompressionStarted(turn="t", step="t-compress-1", attempt=1)),
            (
                4,
                e.ContextCompressed(
                    turn="t",
                    step="t-compress-1",
                    into="s2",
                    removed=9,
                    summary="",
                    messages=(),
                    number=1,
                    tokens_before=9000,
                    tokens_after=2000,
                ),
            ),
            (4, e.TurnFailed(turn="t", kind="budget", message="spent")),
            (9, e.TurnResumed(turn="t")),
            (9, e.ModelCallStarted(turn="t", step="t-1", attempt=1)),
        ]
    )
    assert drawn(timeline("t", events)) == [
        ("waiting", "waiting", 0, 1, 0, "ok"),
        ("compression", "memory flush", 1, 2, 0, "ok"),
        ("compression", "compression", 2, 4, 0, "ok"),
        ("paused", "failed: budget", 4, 9, 0, "ok"),
        ("model_call", "model", 9, 9, 0, "running"),
    ]
    assert timeline("t", events).spans[2].message == "9,000 → 2,000 tokens"


def test_a_turn_that_was_never_submitted_has_no_timeline() -> None:
    with pytest.raises(ValueError, match="not submitted"):
        timeline("other", recorded([(0, SUBMITTED)]))
