"""Tool calls that wait for approval: approved, denied or expired."""

from __future__ import annotations

from collections.abc import Iterator

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.streams.approval_rules import pattern_text
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.call import Call
from hermes_jobs.kernel.turns.session import Session, require_open_turn
from hermes_jobs.kernel.turns.steps import require_due

DENIED = "Error: this call was refused by {by}. Do not try it again; find another way or ask."
DENIED_BECAUSE = "Error: this call was refused by {by}, who says: {reason}"
SCOPES: dict[e.ApprovalScope, str] = {"once": "", "session": "for this session: ", "always": "always: "}
EXPIRED = "Error: nobody approved this call in time. Do not try it again; find another way or ask."


def approve(command: c.ApproveCall, session: Session) -> Iterator[e.SessionEvent]:
    """Approve the call. Raises `Rejected` if no call waits for approval, or its wait has expired."""
    call = _awaiting(session, command.turn, command.call)
    if call.expires_at <= command.now:
        raise Rejected(
            f"The call {call.id} was not approved in time: it will not be run.",
            kind="expired",
            hint=f"Let the turn continue without it: hermes-jobs turns follow {command.turn}",
        )
    lasting = call.offer if command.scope != "once" else None
    if command.scope != "once" and lasting is None:
        raise Rejected(
            f"The call {call.id} can be approved for this once only.",
            kind="only_once",
            hint="No pattern would tell whether the next one is as harmless.",
        )
    yield e.ApprovalGiven(
        turn=command.turn,
        call=call.id,
        by=command.by,
        rule=f"{SCOPES[command.scope]}{pattern_text(lasting)}" if lasting else "",
        scope=command.scope,
        calls=lasting,
    )


def deny(command: c.DenyCall, session: Session) -> Iterator[e.SessionEvent]:
    """Deny the call: the refusal is its result. Raises `Rejected` if no call waits for approval."""
    call = _awaiting(session, command.turn, command.call)
    text = DENIED_BECAUSE if command.reason else DENIED
    answer = text.format(by=command.by, reason=command.reason)
    yield from _denied(command.turn, call, command.by, answer, command.reason)


def expire(command: c.ExpireApproval, session: Session) -> Iterator[e.SessionEvent]:
    """End the wait for approval: the call was not approved in time."""
    _, turn = require_due(session, command.step)
    call = turn.call(command.step)
    if call is not None and call.approval == "waiting":
        yield from _denied(turn.id, call, "timeout", EXPIRED)


def _awaiting(session: Session, turn_id: str, call_id: str | None) -> Call:
    turn = require_open_turn(session, turn_id)
    waiting = [call for call in turn.calls if call.approval == "waiting" and call.result is None]
    if call_id is not None:
        waiting = [call for call in waiting if call.id == call_id]
    if not waiting:
        asks = any(call.waits_for_input for call in turn.calls)
        hint = f"It asks something: hermes-jobs turns answer {turn_id}" if asks else ""
        raise Rejected(
            f"Turn {turn_id} has no such call waiting for approval.", kind="not_waiting", hint=hint
        )
    if len(waiting) > 1:
        names = ", ".join(call.id for call in waiting)
        raise Rejected(
            f"Turn {turn_id} has {len(waiting)} calls waiting for approval: {names}.",
            kind="ambiguous",
            hint="Name one with --call.",
        )
    return waiting[0]


def _denied(turn: str, call: Call, by: str, answer: str, reason: str = "") -> Iterator[e.SessionEvent]:
    yield e.ApprovalDenied(turn=turn, call=call.id, by=by, reason=reason)
    yield e.ToolFinished(turn=turn, call=call.id, ok=False, content=answer, attempt=call.attempt)
