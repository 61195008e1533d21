"""Commands on a session: from users, and from the engine on behalf of a step."""

from __future__ import annotations

import msgspec

from hermes_jobs.domain.decision import Decision
from hermes_jobs.domain.events import (
    AbandonReason,
    ApprovalRequested,
    BusyPolicy,
    CompressionFailed,
    CompressionReason,
    ContextCompressed,
    ContextPrefetched,
    ContextPressure,
    ModelCallFailed,
    ModelReplied,
    Opening,
    ResponseBooked,
    SessionEvent,
    SessionStarted,
    ToolFinished,
    ToolInterrupted,
)
from hermes_jobs.domain.usage import Reservation


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """Base class of all commands."""


# --- from users --------------------------------------------------------------------------------


class SubmitTurn(Command, frozen=True, kw_only=True):
    """Submit a new turn; submitting again with the same `key` returns the same turn."""

    turn: str
    session: str
    text: str
    source: str
    key: str | None = None
    if_busy: BusyPolicy = "queue"
    model: str | None = None
    toolsets: tuple[str, ...] | None = None
    attended: bool = True
    opening: Opening | None = None
    deliver: tuple[str, ...] = ()
    budget_usd: float | None = None


class CancelTurn(Command, frozen=True, kw_only=True):
    """End a turn; a running one ends when its steps are interrupted."""

    turn: str
    by: str


class ResumeTurn(Command, frozen=True, kw_only=True):
    """Resume a turn. `budget_usd`: its total limit from now on; None: unchanged.

    `model`: the model from now on, empty for the same.
    """

    turn: str
    by: str = "user"
    budget_usd: float | None = None
    model: str = ""


class EndWait(Command, frozen=True, kw_only=True):
    """Let a turn that waits for a quota continue at once, with `model` where that is not empty."""

    turn: str
    by: str = "user"
    model: str = ""


class ApproveCall(Command, frozen=True, kw_only=True):
    """Approve a call. `now` is in seconds since the epoch: after the wait has expired it is too late."""

    turn: str
    call: str | None
    by: str
    now: float = 0.0


class DenyCall(Command, frozen=True, kw_only=True):
    """Deny a call that waits for approval; `call` None: the only waiting one."""

    turn: str
    call: str | None
    by: str


class RenameSession(Command, frozen=True, kw_only=True):
    """Give the session a title."""

    title: str


class ChangeModel(Command, frozen=True, kw_only=True):
    """Use `model` for turns from here on."""

    model: str


class ForkSession(Command, frozen=True, kw_only=True):
    """Fork a session. `started` names the parent and the version of its stream that the fork starts from."""

    started: SessionStarted


class RequestCompression(Command, frozen=True, kw_only=True):
    """Request a compression. `tokens` estimates the history's size, in a window of `window`; `focus` is the
    summary's main subject; `refusal` is the model's message where the reason is `refused`.

    `number` is the compression's number in the lineage, for a request based on a certain version of the
    history: it is not requested twice. None: the next one.
    """

    reason: CompressionReason
    tokens: int = 0
    window: int = 0
    focus: str = ""
    refusal: str = ""
    number: int | None = None


class CancelReview(Command, frozen=True, kw_only=True):
    """Cancel a review that waits or runs."""

    review: str
    by: str


class EndSession(Command, frozen=True, kw_only=True):
    """End the session: it accepts no more turns."""

    reason: str = "user"


# --- from the engine ---------------------------------------------------------------------------


class BeginStep(Command, frozen=True, kw_only=True):
    """A step was claimed: its start is recorded before its effects. `reserved`: for its model call."""

    step: str
    reserved: Reservation | None = None


class FinishPrefetch(Command, frozen=True, kw_only=True):
    """The prefetch is done. `started` is set on the session's first turn."""

    step: str
    prefetched: ContextPrefetched
    started: SessionStarted | None = None


class FinishModelCall(Command, frozen=True, kw_only=True):
    """The model call is done. `approvals`: the reply's calls that need approval before they start.

    `pressure`: the new level of context use, where users are to be notified. `compress`: the prompt was
    refused as too long and is compressed before the retry. `change`: a decision on other streams that follows
    from a failure. `responses`: usage of models that failed before another one answered.
    """

    step: str
    outcome: ModelReplied | ModelCallFailed
    responses: tuple[ResponseBooked, ...] = ()
    change: Decision | None = None
    approvals: tuple[ApprovalRequested, ...] = ()
    pressure: ContextPressure | None = None
    compress: RequestCompression | None = None


class FinishToolCall(Command, frozen=True, kw_only=True):
    """A tool call is done. `kept`: the whole result, where the outcome holds a preview of it.

    `facts`: events of the session that the call caused; they precede its outcome. `change`: the call's
    decision on other streams, made at the append; its answer or its rejection becomes the outcome's content.
    """

    step: str
    outcome: ToolFinished | ToolInterrupted
    kept: str | None = None
    facts: tuple[SessionEvent, ...] = ()
    change: Decision | None = None


class ExpireApproval(Command, frozen=True, kw_only=True):
    """Deny a call whose approval nobody gave in time."""

    step: str


class FinishFlush(Command, frozen=True, kw_only=True):
    """The flush is done with these `responses`; `change` saves their entries,
    and its answer becomes `saved`.
    """

    step: str
    responses: tuple[ResponseBooked, ...] = ()
    saved: str = ""
    message: str = ""
    change: Decision | None = None


class FinishCompression(Command, frozen=True, kw_only=True):
    """The compression is done. `system_prompt` and `title` are for the
    continuing session; None: unchanged.
    """

    step: str
    outcome: ContextCompressed | CompressionFailed
    responses: tuple[ResponseBooked, ...] = ()
    system_prompt: str | None = None
    title: str | None = None


class FinishTurn(Command, frozen=True, kw_only=True):
    """Complete the turn: all its steps are done."""

    step: str


class FailTurn(Command, frozen=True, kw_only=True):
    """Fail the turn: no worker can run the step."""

    step: str
    kind: str
    message: str
    hint: str = ""


class AbandonStep(Command, frozen=True, kw_only=True):
    """Release a step whose worker died or left, so that another worker can claim it."""

    step: str
    worker: str
    reason: AbandonReason


StepOutcome = (
    FinishPrefetch
    | FinishModelCall
    | FinishToolCall
    | ExpireApproval
    | FinishTurn
    | FailTurn
    | FinishFlush
    | FinishCompression
)
SessionCommand = (
    SubmitTurn
    | CancelTurn
    | ResumeTurn
    | EndWait
    | ApproveCall
    | DenyCall
    | RenameSession
    | ChangeModel
    | ForkSession
    | EndSession
    | RequestCompression
    | CancelReview
    | BeginStep
    | AbandonStep
    | StepOutcome
)
