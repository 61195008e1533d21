"""Events of tool calls: how one is to be run, what came of it, and who allowed it."""

from __future__ import annotations

from typing import Literal

import msgspec

from hermes_jobs.domain.events.event import Event
from hermes_jobs.domain.usage import Reservation

Effect = Literal["read", "idempotent", "write"]
InterruptReason = Literal["cancelled", "unknown_outcome", "worker_lost"]


class PlannedCall(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a tool call will be run: decided when the reply arrived, by the tools as they were then.

    `call` is our own id, `{turn}-{step}-{index}`; `after` names calls of the same reply that go first.
    """

    call: str
    effect: Effect
    after: tuple[str, ...] = ()


class ToolStarted(Event, frozen=True, kw_only=True):
    """A worker begins with the call. `reserved`: what was set aside for the model that the tool asks."""

    turn: str
    step: str
    call: str
    name: str
    arguments: str
    attempt: int
    effect: Effect
    reserved: Reservation | None = None


class ToolFinished(Event, frozen=True, kw_only=True):
    """The call's one result. `invalid`: the call itself was wrong (unknown tool, bad arguments).

    `spilled_to`: the whole result is kept there, and `content` stands in its place. `source`: the file that
    the content was read from.
    """

    turn: str
    call: str
    ok: bool
    content: str
    attempt: int = 1
    invalid: bool = False
    spilled_to: str | None = None
    source: str | None = None


class ToolInterrupted(Event, frozen=True, kw_only=True):
    """The call ended without its tool's answer; this stands in the transcript as its result."""

    turn: str
    call: str
    reason: InterruptReason
    attempt: int = 1


class ApprovalRequested(Event, frozen=True, kw_only=True):
    """The call waits for a person until `expires_at`; `digest` is the SHA-256 of its arguments."""

    turn: str
    call: str
    digest: str
    rule: str
    expires_at: float


class ApprovalGiven(Event, frozen=True, kw_only=True):
    """A person allowed the call."""

    turn: str
    call: str
    by: str


class ApprovalDenied(Event, frozen=True, kw_only=True):
    """A person refused the call; the model is told so in its result."""

    turn: str
    call: str
    by: str
