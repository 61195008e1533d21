"""The pieces of a turn, and their numbers: the same for who reads along and for who reads later."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from hermes_jobs.features.api.pieces import Ended, Reply, TextPiece, TurnReader
from hermes_jobs.features.api.response_json import ResponseEvent, ResponseWriter, behind
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.live import TextDelta
from hermes_jobs.kernel.turns.messages import ToolCall

TEXT = "Let me see what is there."
CALL = ToolCall("call_9", "todo", "{}")


def delta(text: str, at: int, *, attempt: int = 1, step: str = "t1-1") -> TextDelta:
    return TextDelta(turn="t1", step=step, attempt=attempt, call=f"{step}.{attempt}", at=at, text=text)


def started(attempt: int = 1, step: str = "t1-1") -> e.ModelCallStarted:
    return e.ModelCallStarted(turn="t1", step=step, attempt=attempt)


def replied(step: str, text: str, *calls: ToolCall) -> e.ModelReplied:
    return e.ModelReplied(
        turn="t1", step=step, content=text, model="m", finish_reason="stop", tool_calls=calls, attempt=2
    )


FAILED = e.ModelCallFailed(turn="t1", step="t1-1", attempt=1, kind="server", message="Gone.")
HAPPENED = (
    started(),
    delta("Let me th", 0),
    FAILED,
    started(2),
    delta("Let me see", 0, attempt=2),
    delta(" what is", 10, attempt=2),
    replied("t1-1", TEXT, CALL),
    delta("Noth", 0, attempt=2, step="t1-2"),  # it arrives before the event of its call
    e.ToolFinished(turn="t1", call="t1-1-0", ok=True, content="Nothing."),
    started(2, step="t1-2"),
    delta("ing.", 4, attempt=2, step="t1-2"),
    replied("t1-2", "Nothing."),
    e.TurnCompleted(turn="t1", answer="Nothing."),
)


def events(*happened: e.Event | TextDelta) -> Iterator[ResponseEvent]:
    reader, writer = TurnReader("t1"), ResponseWriter("t1")
    for each in happened:
        for piece in reader.delta(each) if isinstance(each, TextDelta) else reader.event(each):
            yield from writer.take(piece)


def text_of(found: list[ResponseEvent], block: int) -> str:
    return "".join(each.delta or "" for each in found if each.sequence_number >> 20 == block)


def test_who_reads_later_gets_the_rest_of_what_who_reads_along_has_seen() -> None:
    along = list(events(*HAPPENED))
    later = list(events(*(each for each in HAPPENED if not isinstance(each, TextDelta))))
    assert [text_of(along, block) for block in (1, 2, 4)] == ["Let me th", TEXT, "Nothing."]
    assert [text_of(later, block) for block in (1, 2, 4)] == ["", TEXT, "Nothing."]
    numbers = [each.sequence_number for each in along]
    assert numbers == sorted(set(numbers))
    for at, last in enumerate(numbers):
        seen = [text_of(along[: at + 1], block) for block in (2, 4)]
        rest = [left for each in later if (left := behind(each, last)) is not None]
        assert [one + text_of(rest, block) for one, block in zip(seen, (2, 4), strict=True)] == [
            TEXT,
            "Nothing.",
        ]
        kinds = [each.type for each in along[at + 1 :] if each.sequence_number >> 20 > 1]
        assert [kind for kind in kinds if kind.endswith("done")] == [
            each.type for each in rest if each.type.endswith("done")
        ]


def test_the_text_of_a_failed_attempt_is_marked_and_a_call_has_the_id_of_its_step() -> None:
    reader = TurnReader("t1")
    pieces = [
        piece
        for each in HAPPENED
        for piece in (reader.delta(each) if isinstance(each, TextDelta) else reader.event(each))
    ]
    cut, whole, last = (each for each in pieces if isinstance(each, Reply))
    assert (cut.text, cut.is_cut, whole.is_cut) == ("Let me th", True, False)
    assert [call.id for call in whole.calls] == ["t1-1-0"]
    assert last.text == "Nothing."
    assert isinstance(pieces[-1], Ended)


def test_an_end_after_which_the_turn_was_resumed_is_none() -> None:
    failed = e.TurnFailed(turn="t1", kind="server", message="Gone.")
    resumed = e.TurnResumed(turn="t1", by="user")
    other = e.TurnCompleted(turn="t2", answer="Other.")
    done = e.TurnCompleted(turn="t1", answer="Done.")
    reader = TurnReader("t1")
    found = list(reader.backlog([failed, resumed, started(2), replied("t1-1", "Done."), other, done]))
    assert [type(each) for each in found] == [TextPiece, Reply, Ended]


def test_what_a_sub_agent_asks_while_a_reply_is_written_is_said_after_it() -> None:
    """Given a sub-agent in the background that asks in the middle of a text, and is then cancelled."""
    child = e.ChildRef(session="s2", turn="t2", goal="Clean")
    happened: list[e.Event | TextDelta] = [
        started(2),
        replied("t1-1", "I send one.", CALL),
        e.ChildrenStarted(turn="t1", call="t1-1-0", children=(child,), waits=False),
        e.ToolFinished(turn="t1", call="t1-1-0", ok=True, content="Sent."),
        started(2, step="t1-2"),
        delta("Mean", 0, attempt=2, step="t1-2"),
        msgspec.structs.replace(replied("t2-1", "", ToolCall("call_1", "terminal", "{}")), turn="t2"),
        e.ApprovalRequested(turn="t2", call="t2-1-0", digest="ab", rule="deletes", expires_at=9.0),
        delta("while", 4, attempt=2, step="t1-2"),
        replied("t1-2", "Meanwhile", CALL),
        e.TurnCancelled(turn="t2", by="user"),
        e.TurnCompleted(turn="t1", answer="Meanwhile"),
    ]
    along = list(events(*happened))
    later = list(events(*(each for each in happened if not isinstance(each, TextDelta))))
    for found in (along, later):
        assert [
            each.type for each in found if each.type.startswith("hermes.") or each.type.endswith("text.done")
        ] == [
            "response.output_text.done",
            "response.output_text.done",
            "hermes.waiting",
            "hermes.answered",
        ]
        numbers = [each.sequence_number for each in found]
        assert numbers == sorted(set(numbers))
    asked = [
        [each.sequence_number for each in found if each.type == "hermes.waiting"] for found in (along, later)
    ]
    assert asked[0] == asked[1]
    (waiting,) = next(each for each in along if each.type == "hermes.waiting").waiting or ()
    assert (waiting.turn, waiting.call, waiting.tool) == ("t2", "t2-1-0", "terminal")
