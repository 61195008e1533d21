"""What can be asked of a session: by people, and by the engine on behalf of a step."""

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
    """Root of all commands."""


# --- asked by people ---------------------------------------------------------------------------


class SubmitTurn(Command, frozen=True, kw_only=True):
    """A new turn in a session; `key` makes submitting it again return the same turn."""

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
    """End a turn; one that is running ends when its steps are interrupted."""

    turn: str
    by: str


class ResumeTurn(Command, frozen=True, kw_only=True):
    """`budget_usd`: what the turn may cost from now on, all in all; None leaves its own budget as it was.

    `model`: the model that answers from now on, empty for the same.
    """

    turn: str
    by: str = "user"
    budget_usd: float | None = None
    model: str = ""


class EndWait(Command, frozen=True, kw_only=True):
    """Let a turn that waits for a quota go on at once, with `model` where that is not empty."""

    turn: str
    by: str = "user"
    model: str = ""


class ApproveCall(Command, frozen=True, kw_only=True):
    """`now`, seconds since the epoch: after a call's wait has expired its approval comes too late."""

    turn: str
    call: str | None
    by: str
    now: float = 0.0


class DenyCall(Command, frozen=True, kw_only=True):
    """Refuse a call that waits for approval; `call` None: the only one that waits."""

    turn: str
    call: str | None
    by: str


class RenameSession(Command, frozen=True, kw_only=True):
    """Give the session a title."""

    title: str


class ChangeModel(Command, frozen=True, kw_only=True):
    """Have turns from now on answered by `model`."""

    model: str


class ForkSession(Command, frozen=True, kw_only=True):
    """`started` names the parent and the version of its stream at which the new session branches off."""

    started: SessionStarted


class RequestCompression(Command, frozen=True, kw_only=True):
    """`tokens` is about the size of the history, in a window of `window`; `focus`: what to keep above all;
    `refusal`: what the model said where the reason is `refused`.

    `number` is that of the compression among those of the lineage, for the caller because of what was seen of
    the history: once it has been asked for, it is not asked for again. None: the next one, whichever it is.
    """

    reason: CompressionReason
    tokens: int = 0
    window: int = 0
    focus: str = ""
    refusal: str = ""
    number: int | None = None


class CancelReview(Command, frozen=True, kw_only=True):
    """End a review that is due or running."""

    review: str
    by: str


class EndSession(Command, frozen=True, kw_only=True):
    """Take no more turns."""

    reason: str = "user"


# --- asked by the engine -----------------------------------------------------------------------


class BeginStep(Command, frozen=True, kw_only=True):
    """A step was claimed: its start is an event before anything is done. `reserved`: for its model call."""

    step: str
    reserved: Reservation | None = None


class FinishPrefetch(Command, frozen=True, kw_only=True):
    """`started` when this is the session's first turn."""

    step: str
    prefetched: ContextPrefetched
    started: SessionStarted | None = None


class FinishModelCall(Command, frozen=True, kw_only=True):
    """`approvals`: those of the reply's calls that a person must allow before they start.

    `pressure`: how full the context is by now, where people are to be told. `compress`: the prompt was
    refused as too long, and is to be compressed before it is sent again. `change`: what its failure
    has taught. `responses`: what a model came to that failed before another one was asked in its place.
    """

    step: str
    outcome: ModelReplied | ModelCallFailed
    responses: tuple[ResponseBooked, ...] = ()
    change: Decision | None = None
    approvals: tuple[ApprovalRequested, ...] = ()
    pressure: ContextPressure | None = None
    compress: RequestCompression | None = None


class FinishToolCall(Command, frozen=True, kw_only=True):
    """`kept`: the whole result, where the outcome holds only what stands in its place.

    `facts`: what the call did to the session itself; they stand before its outcome. `change`: what it does to
    other streams, decided when it is appended; its answer, or its refusal, becomes the outcome's content.
    """

    step: str
    outcome: ToolFinished | ToolInterrupted
    kept: str | None = None
    facts: tuple[SessionEvent, ...] = ()
    change: Decision | None = None


class ExpireApproval(Command, frozen=True, kw_only=True):
    """Refuse a call whose approval nobody gave in time."""

    step: str


class FinishFlush(Command, frozen=True, kw_only=True):
    """`responses` were asked for; `change` saves what they named, and its answer becomes `saved`."""

    step: str
    responses: tuple[ResponseBooked, ...] = ()
    saved: str = ""
    message: str = ""
    change: Decision | None = None


class FinishCompression(Command, frozen=True, kw_only=True):
    """`system_prompt` and `title` are those of the session that goes on; None: as they are, none."""

    step: str
    outcome: ContextCompressed | CompressionFailed
    responses: tuple[ResponseBooked, ...] = ()
    system_prompt: str | None = None
    title: str | None = None


class FinishTurn(Command, frozen=True, kw_only=True):
    """Complete the turn whose steps are all done."""

    step: str


class FailTurn(Command, frozen=True, kw_only=True):
    """The step cannot be done by anybody: the turn ends here."""

    step: str
    kind: str
    message: str
    hint: str = ""


class AbandonStep(Command, frozen=True, kw_only=True):
    """Release a step whose worker died or left, so that another can take it."""

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
