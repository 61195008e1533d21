"""Children of a session: the effect of each event, and the texts about their ends for the parent's model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.decision import LargeResult
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns import outside
from hermes_jobs.kernel.turns.call import Call
from hermes_jobs.kernel.turns.loop_guard import with_warning
from hermes_jobs.kernel.turns.rounds import repeats_before, with_call
from hermes_jobs.kernel.turns.session import OpenChild, Session, replace_turn, running_turn
from hermes_jobs.kernel.turns.steps import require_due
from hermes_jobs.kernel.turns.stops import BUDGET, stop_sentence
from hermes_jobs.kernel.turns.tool_results import preview_of, result_path
from hermes_jobs.kernel.turns.turn import Turn
from hermes_jobs.text.figures import money
from hermes_jobs.text.marks import without_marks

SOURCE = outside.CHILD
"""Prefix of the source of a text about a child's end; the child's session follows."""
PARENT = outside.PARENT
"""Prefix of the source of a child's first text; the parent's session follows."""
GOAL_CHARS = 200
"""Characters of a goal as it is shown."""

BEGUN = "Begun, and you need not wait: {names}. When one ends you get a message with its answer."
LOST = "It is not at work here, and nothing here says how it ended."
_STATUS: dict[e.ChildStatus, str] = {
    "completed": "completed",
    "failed": "FAILED",
    "cancelled": "CANCELLED",
    "out_of_budget": "OUT OF BUDGET",
    "stopped": "STOPPED by a limit before it was done",
    "unknown": "UNKNOWN: look at the state of things before you have it done again",
}
_FAILURES: dict[str, e.ChildStatus] = {BUDGET: "out_of_budget", "worker_lost": "unknown"}


def evolve(session: Session, event: e.DelegationEvent) -> Session:
    """The session after the event."""
    match event:
        case e.ChildrenStarted():
            turn = running_turn(session)
            call = turn.call(event.call)
            assert call is not None, f"{event.call} is not in the open round of {turn.id}"
            waiting = replace(call.released(), children=event.children if event.waits else ())
            opened = (
                OpenChild(ref=ref, parent_turn=turn, call=event.call, waits=event.waits)
                for ref in event.children
            )
            session = replace(session, children=(*session.children, *opened))
            return replace_turn(session, with_call(turn, waiting))
        case e.ChildEnded():
            remaining = tuple(child for child in session.children if child.ref.session != event.child)
            session = replace(session, children=remaining)
            parent_call = waiting_call(session, event.turn, event.call)
            if parent_call is None:
                return session
            turn, call = parent_call
            text = replace(call, child_ends=(*call.child_ends, event))
            return replace_turn(session, with_call(turn, text))
        case e.TurnReleased():
            open_turn = session.find(event.turn)
            return session if open_turn is None else replace_turn(session, replace(open_turn, held=False))


def waiting_call(session: Session, turn: str, call: str) -> tuple[Turn, Call] | None:
    """The running turn and its call that waits for children; None if it no longer waits."""
    current = session.current
    waiting = current.call(call) if current is not None and current.id == turn else None
    if current is None or waiting is None or not waiting.waits_for_children:
        return None
    return current, waiting


def start(command: c.StartChildren, session: Session) -> Iterator[e.SessionEvent]:
    """The parent's events of a call that delegates; none in a turn that is being cancelled."""
    _, turn = require_due(session, command.step)
    call = turn.call(command.step)
    assert call is not None, f"{command.step} is not a call of {turn.id}"
    if turn.cancelled_by is not None:
        yield e.ToolInterrupted(turn=turn.id, call=call.id, reason="cancelled", attempt=call.attempt)
        return
    refs = tuple(
        e.ChildRef(session=child.session, turn=child.turn, goal=child.goal[:GOAL_CHARS], role=child.role)
        for child in command.children
    )
    yield e.ChildrenStarted(turn=turn.id, call=call.id, children=refs, waits=command.waits)
    if not command.waits:
        names = ", ".join(f"{ref.session} ({ref.goal})" for ref in refs)
        content = with_warning(
            repeats_before(turn, call.id), call.id, call.request, BEGUN.format(names=names)
        )
        yield e.ToolFinished(turn=turn.id, call=call.id, ok=True, content=content, attempt=call.attempt)


def end_of(
    child: Session, place: e.Delegation, end: e.TurnEnd, recorded: e.UsageRecorded | None
) -> e.ChildEnded:
    """The parent's event at the end of a child's turn, with the usage recorded in the same append."""
    text = e.ChildEnded(
        turn=place.parent_turn,
        call=place.call,
        child=child.lineage,
        status="completed",
        outside=child.outside,
    )
    if recorded is not None:
        text = replace(
            text,
            num_model_calls=recorded.num_model_calls,
            num_tool_calls=recorded.num_tool_calls,
            usage=Usage(*(getattr(recorded, name) for name in Usage.__struct_fields__)),
            cost_usd=recorded.cost_usd,
        )
    match end:
        case e.TurnCompleted(stopped_by=None):
            return replace(text, answer=end.answer)
        case e.TurnCompleted():
            why = stop_sentence(end.stopped_by or "")
            return replace(text, status="stopped", answer=end.answer, message=why)
        case e.TurnFailed():
            return replace(text, status=_FAILURES.get(end.kind, "failed"), message=end.message)
        case e.TurnCancelled():
            return replace(text, status="cancelled", message=f"Cancelled by {end.by}.")


def lost(child: OpenChild) -> e.ChildEnded:
    """The parent's event for a child that does not exist in this log."""
    return e.ChildEnded(
        turn=child.parent_turn.id, call=child.call, child=child.ref.session, status="unknown", message=LOST
    )


def joined(turn: Turn, call: Call) -> tuple[e.ToolFinished, tuple[LargeResult, ...]]:
    """The result of a call whose children have all ended, in the order in which they were begun."""
    ends = {end.child: end for end in call.child_ends}
    answers = [
        section(ref, ends[ref.session], f"{number}/{len(call.children)}")
        for number, ref in enumerate(call.children, 1)
    ]
    content = without_marks("\n\n".join(answers))
    is_large = len(content) > turn.result_chars > 0
    shown = preview_of(content, result_path(call.id), turn.preview_chars) if is_large else content
    finished = e.ToolFinished(
        turn=turn.id,
        call=call.id,
        ok=any(end.status == "completed" for end in call.child_ends),
        content=with_warning(repeats_before(turn, call.id), call.id, call.request, shown),
        attempt=call.attempt,
        spilled_to=result_path(call.id) if is_large else None,
    )
    return finished, (LargeResult(call=call.id, content=content),) if is_large else ()


def text_of_end(child: OpenChild, ended: e.ChildEnded) -> tuple[str, tuple[LargeResult, ...]]:
    """The text in its parent's session about the end of a child for which no call waited."""
    text = without_marks(section(child.ref, ended, f"session {ended.child}"))
    if not len(text) > child.parent_turn.result_chars > 0:
        return text, ()
    stored = LargeResult(call=child.ref.turn, content=text)
    return preview_of(text, result_path(stored.call), child.parent_turn.preview_chars), (stored,)


def section(ref: e.ChildRef, ended: e.ChildEnded, name: str) -> str:
    """One child's end for its parent's model: name, status, usage and answer."""
    role = f" {ref.role}:" if ref.role else ""
    took = f"{_count(ended.num_model_calls, 'model call')}, {_count(ended.num_tool_calls, 'tool call')}"
    cost = f", {money(ended.cost_usd)}" if ended.cost_usd else ""
    lines = [f"[Sub-agent {name}]{role} {ref.goal}", f"Status: {_STATUS[ended.status]} ({took}{cost})."]
    if ended.message:
        lines.append(ended.message)
    if ended.answer:
        lines.append(f"Its answer:\n{ended.answer}")
    elif ended.status == "completed":
        lines.append("It gave no answer.")
    return "\n".join(lines)


def open_below(session: Session, turn: str) -> Sequence[OpenChild]:
    """The children that the turn began and that have not ended."""
    return [child for child in session.children if child.parent_turn.id == turn]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
