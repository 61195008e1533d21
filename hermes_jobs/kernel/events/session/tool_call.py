"""Events of tool calls: plan, start, result, approval.

A call may become a task of an MCP server, which runs on after the response and is polled.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from hermes_jobs.kernel.events.approval import ApprovalScope, CallPattern
from hermes_jobs.kernel.events.event import Event
from hermes_jobs.kernel.streams.field_kinds import JSON, TEXT
from hermes_jobs.kernel.streams.usage import Reservation
from hermes_jobs.kernel.turns.attachments import Attachment

Effect = Literal["read", "idempotent", "write"]
InterruptReason = Literal["cancelled", "unknown_outcome", "worker_lost"]


class PlannedCall(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a tool call will be run, decided when the reply arrived, by the tools available at that moment.

    `call` is our own id, `{turn}-{step}-{index}`; `after` names the calls of the same reply that must end
    first.
    """

    call: str
    effect: Effect
    after: tuple[str, ...] = ()


class ToolStarted(Event, frozen=True, kw_only=True):
    """A worker started the call. `reserved`: the reservation for the model that the tool calls."""

    turn: str
    step: str
    call: str
    name: str
    arguments: Annotated[str, JSON]
    attempt: int
    effect: Effect
    reserved: Reservation | None = None


class ToolFinished(Event, frozen=True, kw_only=True):
    """The call's only result. `invalid`: the call itself was wrong (unknown tool, bad arguments).
    `refused`: it was not allowed, by that `rule`, or had no folder to work in, and nothing was done. One
    with a `rule` that was not refused has done nothing either, but waits for a person, as it says.

    `spilled_to`: the path of the whole result where `content` is a preview. `source`: the file that the
    content was read from. `attachments`: the pictures and documents that it shows to the model. `outside`:
    the origin of text in it that others wrote; empty for none.
    """

    turn: str
    call: str
    ok: bool
    content: str
    attempt: int = 1
    invalid: bool = False
    spilled_to: str | None = None
    source: Annotated[str | None, TEXT] = None
    refused: bool = False
    rule: str = ""
    attachments: tuple[Attachment, ...] = ()
    outside: str = ""


class ToolInterrupted(Event, frozen=True, kw_only=True):
    """The call ended without its tool's result; `content` is the result in the transcript."""

    turn: str
    call: str
    reason: InterruptReason
    attempt: int = 1


class ApprovalRequested(Event, frozen=True, kw_only=True):
    """The call waits for a user's approval until `expires_at`; `digest` is the SHA-256 of its arguments.

    `offer`: the calls that can be approved with it, for longer than this once.
    """

    turn: str
    call: str
    digest: str
    rule: str
    expires_at: float
    offer: CallPattern | None = None


class ApprovalGiven(Event, frozen=True, kw_only=True):
    """A user approved the call, or had approved it before.

    `rule`: what it was approved by, if not for this call alone. `calls`: those that are approved with it, as
    `scope` says: for the rest of the session, or by a rule.
    """

    turn: str
    call: str
    by: str
    rule: str = ""
    scope: ApprovalScope = "once"
    calls: CallPattern | None = None


class ApprovalDenied(Event, frozen=True, kw_only=True):
    """A user denied the call; the model gets that as the result, with the `reason` given."""

    turn: str
    call: str
    by: str
    reason: str = ""


class ServerTaskBegun(Event, frozen=True, kw_only=True):
    """The server of the call runs it as a task, with the id `task` there; it is polled at `poll_at`. `at`:
    the time of the response. `message`: the server's description of its status.
    """

    turn: str
    call: str
    server: str
    task: str
    at: float
    poll_at: float
    message: str = ""


class ServerTaskPolled(Event, frozen=True, kw_only=True):
    """The task was polled at `at` and has not ended; the next poll is at `poll_at`. `reached`: the server has
    responded, and has received the answers given until then.
    """

    turn: str
    call: str
    at: float
    poll_at: float
    message: str = ""
    reached: bool = True


ToolEvent = ToolStarted | ToolFinished | ToolInterrupted | ApprovalRequested | ApprovalGiven | ApprovalDenied
ServerTaskEvent = ServerTaskBegun | ServerTaskPolled
