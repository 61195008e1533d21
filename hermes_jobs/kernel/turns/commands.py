"""Commands on a session: from users, and from the engine on behalf of a step."""

from __future__ import annotations

import msgspec

from hermes_jobs.kernel.events import (
    AbandonReason,
    ApprovalGiven,
    ApprovalRequested,
    ApprovalScope,
    BudgetWarned,
    CompressionFailed,
    CompressionReason,
    ContextCompressed,
    ContextPrefetched,
    ContextPressure,
    FilesDelivered,
    FilesRestored,
    InputAction,
    InputRequest,
    Mode,
    ModelCallFailed,
    ModelReplied,
    ReferenceFailed,
    ReferenceReplied,
    ResponseBooked,
    ServerTaskBegun,
    ServerTaskPolled,
    SessionEvent,
    SessionStarted,
    ToolFinished,
    ToolInterrupted,
    TurnRated,
    TurnResumed,
    TurnSubmitted,
)
from hermes_jobs.kernel.events.session.session import McpCatalogue
from hermes_jobs.kernel.streams.decision import Decision
from hermes_jobs.kernel.streams.usage import Reservation


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """Base class of all commands."""


# --- from users --------------------------------------------------------------------------------


class SubmitTurn(Command, frozen=True):
    """Submit a new turn, in the stream's newest session; `opening` counts in a new stream only."""

    submitted: TurnSubmitted


class CancelTurn(Command, frozen=True, kw_only=True):
    """End a turn; a running one ends when its steps are interrupted."""

    turn: str
    by: str


class ResumeTurn(Command, frozen=True):
    """Resume a turn. `only_stopped`: only if a limit stopped it."""

    resumed: TurnResumed
    only_stopped: bool = False


class RateTurn(Command, frozen=True):
    """Rate a turn that has ended; `none` removes the rating."""

    rated: TurnRated


class LabelTurn(Command, frozen=True, kw_only=True):
    """Add labels to a turn, and remove labels from it."""

    turn: str
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    by: str = "user"


class EndWait(Command, frozen=True, kw_only=True):
    """Continue a waiting turn (for a quota, or to begin) at once, with `model` if given."""

    turn: str
    by: str = "user"
    model: str = ""


class ApproveCall(Command, frozen=True, kw_only=True):
    """Approve a call. `now` is in seconds since the epoch: after the wait has expired it is too late.

    `scope`: also approve the calls offered with it, for the rest of the session, or by a rule.
    """

    turn: str
    call: str | None
    by: str
    now: float = 0.0
    scope: ApprovalScope = "once"


class DenyCall(Command, frozen=True, kw_only=True):
    """Deny a call that waits for approval; `call` None: the only waiting one. The model gets the reason."""

    turn: str
    call: str | None
    by: str
    reason: str = ""


class AnswerInput(Command, frozen=True, kw_only=True):
    """Answer a server's question in a call. `call` and `key` None: the first request of the only one.

    `content` is a JSON object, for an accepted form. `now` is in seconds since the epoch: after the wait has
    expired it is too late for `user`.
    """

    turn: str
    call: str | None = None
    key: str | None = None
    action: InputAction
    content: str = ""
    by: str
    now: float = 0.0


class RenameSession(Command, frozen=True, kw_only=True):
    """Give the session a title."""

    title: str


class ChangeModel(Command, frozen=True, kw_only=True):
    """Use `model` for turns from here on."""

    model: str


class ChangeMode(Command, frozen=True, kw_only=True):
    """Change what the agent may do without asking, from here on."""

    mode: Mode
    by: str


class ForkSession(Command, frozen=True, kw_only=True):
    """Fork a session. `started` names the parent and the version of its stream that the fork starts from."""

    started: SessionStarted


class RequestCompression(Command, frozen=True, kw_only=True):
    """Request a compression. `tokens` estimates the history's size, in a window of `window`; `focus` is the
    summary's main subject; `refusal` is the model's message where the reason is `refused`.

    `number` is the compression's number in the lineage, for a request based on a certain version of the
    history: it is not requested twice. None: the next one. `not_before`: see `CompressionRequested`.
    """

    reason: CompressionReason
    tokens: int = 0
    window: int = 0
    focus: str = ""
    refusal: str = ""
    number: int | None = None
    not_before: float = 0.0


class CancelReview(Command, frozen=True, kw_only=True):
    """Cancel a review that waits or runs."""

    review: str
    by: str


class EndSession(Command, frozen=True, kw_only=True):
    """End the session: it accepts no more turns."""

    reason: str = "user"


class RecordRestored(Command, frozen=True):
    """Record that the changes of an ended turn to files were undone or redone."""

    restored: FilesRestored


# --- from the engine ---------------------------------------------------------------------------


class BeginStep(Command, frozen=True, kw_only=True):
    """A step was claimed: its start is recorded before its effects. `reserved`: for its model call."""

    step: str
    reserved: Reservation | None = None


class FinishPrefetch(Command, frozen=True, kw_only=True):
    """The prefetch is done. `started` is set on the session's first turn; `responses` are of calls that
    recall took."""

    step: str
    prefetched: ContextPrefetched
    started: SessionStarted | None = None
    responses: tuple[ResponseBooked, ...] = ()


class PostponeTurn(Command, frozen=True, kw_only=True):
    """The turn cannot begin yet: see `TurnPostponed`."""

    step: str
    reason: str
    retry_at: float
    since: float
    what: str = ""


class FinishModelCall(Command, frozen=True, kw_only=True):
    """The model call is done. `approvals`: the reply's calls that need approval before they start, or were
    approved beforehand.

    `pressure`: the new level of context use, where users are to be notified. `compress`: the prompt was
    refused as too long and is compressed before the retry. `change`: a decision on other streams that follows
    from a failure. `responses`: usage of models that failed before another one answered. `warnings`: limits
    that are nearly used up with this call. `answer_faults`: the violations of the turn's schema by a final
    answer, if the schema has regular expressions; None: the decision validates it.
    """

    step: str
    outcome: ModelReplied | ModelCallFailed
    responses: tuple[ResponseBooked, ...] = ()
    change: Decision | None = None
    approvals: tuple[ApprovalRequested | ApprovalGiven, ...] = ()
    pressure: ContextPressure | None = None
    compress: RequestCompression | None = None
    warnings: tuple[BudgetWarned, ...] = ()
    answer_faults: tuple[str, ...] | None = None


class FinishReference(Command, frozen=True, kw_only=True):
    """The call of a member is done. `change`: a decision on other streams that follows from a failure.
    `warnings`: limits that are nearly used up with this call.
    """

    step: str
    outcome: ReferenceReplied | ReferenceFailed
    change: Decision | None = None
    warnings: tuple[BudgetWarned, ...] = ()


class FinishToolCall(Command, frozen=True, kw_only=True):
    """A tool call is done. `large_result`: the complete result, if the outcome contains a preview.

    `events`: events of the session that the call caused; they precede its outcome. `change`: the call's
    decision on other streams, made at the append; its answer or its rejection becomes the outcome's content.
    """

    step: str
    outcome: ToolFinished | ToolInterrupted
    large_result: str | None = None
    events: tuple[SessionEvent, ...] = ()
    change: Decision | None = None


class ChildPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A child to start: the ids of its session and its turn, its text, and its description for users.

    `system` is added to its prompt; with `fork` it continues its parent's history instead, with the tools of
    its parent, of which those of the toolsets `withheld` are refused. None: as for its parent.
    `model_is_fixed`: sub-agents below it cannot have another model.
    """

    session: str
    turn: str
    text: str
    goal: str
    role: str = ""
    model: str | None = None
    toolsets: tuple[str, ...] | None = None
    system: str = ""
    workdir: str | None = None
    budget_usd: float | None = None
    max_iterations: int | None = None
    answer_schema: str = ""
    fork: bool = False
    withheld: tuple[str, ...] = ()
    model_is_fixed: bool = False


class StartChildren(Command, frozen=True, kw_only=True):
    """A tool call starts children. `waits`: it ends with the last of them.

    At most `per_root` run at once below one root, and `per_home` in the whole home.
    """

    step: str
    children: tuple[ChildPlan, ...]
    waits: bool = True
    per_root: int
    per_home: int


class ExpireApproval(Command, frozen=True, kw_only=True):
    """Deny a call that was not approved in time."""

    step: str


class RequestInput(Command, frozen=True, kw_only=True):
    """The server of a tool call, or the agent (`server` empty), asks for input. `state` is sent back to the
    server with the answers.

    `live`: the call of that `attempt` is still being made, and the step continues. `unattended`: also in a
    turn that nobody attends.
    """

    step: str
    server: str
    requests: tuple[InputRequest, ...]
    expires_at: float
    state: str | None = None
    live: bool = False
    attempt: int = 1
    unattended: bool = False


class ExpireInput(Command, frozen=True, kw_only=True):
    """End a call's wait for input after its time: the call is made with the answers so far."""

    step: str


class FollowServerTask(Command, frozen=True):
    """The server of a tool call runs it as a task, or was asked what has become of that."""

    progress: ServerTaskBegun | ServerTaskPolled


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
    """The compression is done. `system_prompt`, `title` and `mcp` (the listings of MCP servers, with
    `mcp_away`) are for the continuing session; None: unchanged.
    """

    step: str
    outcome: ContextCompressed | CompressionFailed
    responses: tuple[ResponseBooked, ...] = ()
    system_prompt: str | None = None
    title: str | None = None
    mcp: tuple[McpCatalogue, ...] | None = None
    mcp_away: tuple[str, ...] = ()
    mcp_search: bool = False


class FinishTurn(Command, frozen=True, kw_only=True):
    """Complete the turn: all its steps are done. `rested_at` and `compress`: if nothing waits, the session
    rests from then on, in seconds since the epoch, and is compressed if it still rests later. `spoken`: the
    answer as a sound, and its cost."""

    step: str
    rested_at: float | None = None
    compress: RequestCompression | None = None
    spoken: tuple[FilesDelivered | ResponseBooked, ...] = ()


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
    | PostponeTurn
    | FinishModelCall
    | FinishReference
    | FinishToolCall
    | StartChildren
    | ExpireApproval
    | RequestInput
    | ExpireInput
    | FollowServerTask
    | FinishTurn
    | FailTurn
    | FinishFlush
    | FinishCompression
)
UserCommand = (
    SubmitTurn
    | CancelTurn
    | ResumeTurn
    | EndWait
    | RateTurn
    | LabelTurn
    | ApproveCall
    | DenyCall
    | AnswerInput
    | RenameSession
    | ChangeModel
    | ChangeMode
    | ForkSession
    | EndSession
    | RequestCompression
    | CancelReview
    | RecordRestored
)
StepCommand = BeginStep | AbandonStep | StepOutcome
SessionCommand = UserCommand | StepCommand
