"""Facts of a session's stream: what was asked, what the model said, what the tools did, what it cost.

Moments inside a fact (`retry_at`, `expires_at`) are seconds since the epoch, UTC.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from hermes_jobs.domain.events.event import Event
from hermes_jobs.domain.messages import Message, ToolCall
from hermes_jobs.domain.usage import NO_USAGE, Reservation, Usage

BusyPolicy = Literal["queue", "collect", "steer", "interrupt", "reject"]
SessionKind = Literal["conversation", "review", "scheduled", "subagent"]
Effect = Literal["read", "idempotent", "write"]
CompressionReason = Literal["hygiene", "threshold", "overflow", "manual"]
ReviewKind = Literal["memory", "skills", "combined", "curate"]
AbandonReason = Literal["died", "shutdown"]
InterruptReason = Literal["cancelled", "unknown_outcome", "worker_lost"]
TodoStatus = Literal["pending", "in_progress", "completed", "cancelled"]


# --- the session -----------------------------------------------------------------------------


class Opening(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the first text of a new session fixes for all of it."""

    kind: SessionKind = "conversation"
    model: str | None = None
    system: str | None = None
    workdir: str | None = None
    toolsets: tuple[str, ...] | None = None
    title: str | None = None


class SessionStarted(Event, frozen=True, kw_only=True):
    """The frozen prompt. With `parent` and `at` the session goes on from the parent's version `at`."""

    session: str
    kind: SessionKind
    source: str
    model: str
    system_prompt: str
    parent: str | None = None
    at: int | None = None
    workdir: str | None = None
    toolsets: tuple[str, ...] | None = None


class SessionTitled(Event, frozen=True, kw_only=True):
    session: str
    title: str


class SessionEnded(Event, frozen=True, kw_only=True):
    session: str
    reason: str


class ModelChanged(Event, frozen=True, kw_only=True):
    session: str
    model: str


class Todo(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that the agent has set itself to do; `id` is its own."""

    id: str
    text: str
    status: TodoStatus = "pending"


class TodosWritten(Event, frozen=True, kw_only=True):
    """The agent's whole list, as it is from now on."""

    session: str
    items: tuple[Todo, ...]


# --- the turn's life -------------------------------------------------------------------------


class TurnSubmitted(Event, frozen=True, kw_only=True):
    """A text was accepted. `opening` only on the first text of a stream.

    `deliver`: where the answer goes besides the log, such as `file:PATH`. `budget_usd`: what this turn may
    cost, besides what the configuration allows every turn.
    """

    turn: str
    text: str
    source: str
    session: str
    key: str | None = None
    if_busy: BusyPolicy = "queue"
    model: str | None = None
    toolsets: tuple[str, ...] | None = None
    attended: bool = True
    opening: Opening | None = None
    deliver: tuple[str, ...] = ()
    budget_usd: float | None = None


class ContextPrefetched(Event, frozen=True, kw_only=True):
    """The turn begins; what the configuration said at that moment holds for all of it.

    `memory_nudge` user turns, or `skill_nudge` rounds of tool calls, make a review due; 0: none.
    `recalled` stands beside the user's text in this turn's requests, and nowhere else. `listeners` are to be
    told what the session comes to.
    """

    turn: str
    model: str
    max_iterations: int
    result_chars: int = 100_000
    turn_chars: int = 200_000
    preview_chars: int = 1_500
    memory_nudge: int = 0
    skill_nudge: int = 0
    recalled: str = ""
    listeners: tuple[str, ...] = ()


class TurnMerged(Event, frozen=True, kw_only=True):
    """The text was collected into, or steered to, another turn; that one's end is its end."""

    turn: str
    into: str


class TurnCancelRequested(Event, frozen=True, kw_only=True):
    turn: str
    by: str


class TurnResumed(Event, frozen=True, kw_only=True):
    """`budget_usd`: what the turn may cost from now on, all in all; null leaves its own budget as it was."""

    turn: str
    by: str = "user"
    budget_usd: float | None = None


class UsageRecorded(Event, frozen=True, kw_only=True):
    """What the turn's responses used since it was last recorded; `cost_usd` null where a price is unknown.

    `estimated` is apart from that: what calls may have used that ended without their response.
    """

    turn: str
    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float | None = None
    num_model_calls: int = 0
    num_tool_calls: int = 0
    estimated: Usage = NO_USAGE
    estimated_cost_usd: float | None = 0.0


class TurnCompleted(Event, frozen=True, kw_only=True):
    turn: str
    answer: str
    stopped_by: str | None = None


class TurnFailed(Event, frozen=True, kw_only=True):
    turn: str
    kind: str
    message: str
    hint: str = ""


class TurnCancelled(Event, frozen=True, kw_only=True):
    turn: str
    by: str


# --- model calls -----------------------------------------------------------------------------


class PlannedCall(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a tool call will be run: decided when the reply arrived, by the tools as they were then.

    `call` is our own id, `{turn}-{step}-{index}`; `after` names calls of the same reply that go first.
    """

    call: str
    effect: Effect
    after: tuple[str, ...] = ()


class ModelCallStarted(Event, frozen=True, kw_only=True):
    """`reserved`: what was set aside for the call."""

    turn: str
    step: str
    attempt: int
    reserved: Reservation | None = None


class ModelReplied(Event, frozen=True, kw_only=True):
    """A response, as it was said. `plan` stands beside `tool_calls`, one for one.

    `estimated`: about what it used, where the endpoint did not report it.
    """

    turn: str
    step: str
    content: str
    model: str
    finish_reason: str
    attempt: int = 1
    tool_calls: tuple[ToolCall, ...] = ()
    plan: tuple[PlannedCall, ...] = ()
    usage: Usage = NO_USAGE
    cost_usd: float | None = None
    purpose: str = "turn"
    reasoning: str = ""
    estimated: Usage = NO_USAGE
    estimated_cost_usd: float | None = 0.0


class ModelCallFailed(Event, frozen=True, kw_only=True):
    """A call that gave no usable response; with `retry_at` it is tried again then, else it was the last.

    `max_tokens`: the longest answer that the call is tried again with, where the one asked for was refused.
    `window`: how many tokens the model takes, where the refusal says so. `estimated`: what the call may have
    used, where it was under way and nobody reported it.
    """

    turn: str
    step: str
    attempt: int
    kind: str
    message: str
    hint: str = ""
    retry_at: float | None = None
    usage: Usage = NO_USAGE
    cost_usd: float | None = None
    model: str = ""
    purpose: str = "turn"
    max_tokens: int | None = None
    window: int | None = None
    estimated: Usage = NO_USAGE
    estimated_cost_usd: float | None = 0.0


# --- tool calls ------------------------------------------------------------------------------


class ToolStarted(Event, frozen=True, kw_only=True):
    turn: str
    step: str
    call: str
    name: str
    arguments: str
    attempt: int
    effect: Effect


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
    turn: str
    call: str
    by: str


class ApprovalDenied(Event, frozen=True, kw_only=True):
    turn: str
    call: str
    by: str


# --- steps whose worker did not finish them --------------------------------------------------


class StepAbandoned(Event, frozen=True, kw_only=True):
    """The step's owner died or left; `shutdown` counts no attempt.

    `estimated`: what its model call may have used, as it was reserved. `model` was asked.
    """

    turn: str
    step: str
    worker: str
    attempt: int
    reason: AbandonReason
    model: str = ""
    estimated: Usage = NO_USAGE
    estimated_cost_usd: float | None = 0.0


class OutcomeDiscarded(Event, frozen=True, kw_only=True):
    """An outcome arrived after its step was another's: booked, and never in the transcript.

    `reserved`: what was booked as estimated when the step was taken away; the usage stands in its place.
    """

    turn: str
    step: str
    worker: str
    kind: str
    attempt: int = 1
    usage: Usage = NO_USAGE
    cost_usd: float | None = None
    model: str = ""
    reserved: Reservation | None = None


# --- the context's size ----------------------------------------------------------------------


class ResponseBooked(Event, frozen=True, kw_only=True):
    """A response that says nothing in the conversation: a summary, a flush. `turn` paid for it, if any."""

    turn: str | None
    step: str
    purpose: str
    model: str
    usage: Usage = NO_USAGE
    cost_usd: float | None = None


class ContextPressure(Event, frozen=True, kw_only=True):
    """The context comes close to `threshold`, at which it is compressed, or (`high` false) no longer does."""

    turn: str
    tokens: int
    threshold: int
    window: int
    high: bool = True


class CompressionRequested(Event, frozen=True, kw_only=True):
    """The history is to be compressed before the next model call. `tokens` is about its size, in a window of
    `window`; `focus`: what the summary is to be about above all."""

    turn: str | None
    reason: CompressionReason
    tokens: int = 0
    window: int = 0
    focus: str = ""


class CompressionStarted(Event, frozen=True, kw_only=True):
    """A worker begins with the flush, or with the summary. `reserved`: what was set aside for its calls."""

    turn: str | None
    step: str
    attempt: int
    reserved: Reservation | None = None


class ContextFlushed(Event, frozen=True, kw_only=True):
    """Before it is compressed, the conversation was searched for what is worth remembering.

    `saved`: the memory's answer; `message`: why nothing could be saved, where that failed.
    """

    turn: str | None
    step: str
    saved: str = ""
    message: str = ""


class ContextCompressed(Event, frozen=True, kw_only=True):
    """From here on the history is `messages`: `removed` of them gave way to `summary`, "" where none could be
    had. The session goes on as `into`; `number` counts the lineage's compressions, `in_vain` those in a row
    up to this one that had no real effect. Sizes are in tokens."""

    turn: str | None
    step: str
    into: str
    removed: int
    summary: str
    messages: tuple[Message, ...]
    number: int
    tokens_before: int
    tokens_after: int
    in_vain: int = 0


class CompressionFailed(Event, frozen=True, kw_only=True):
    """The history stays as it is; with `retry_at` it is tried again then."""

    turn: str | None
    step: str
    attempt: int
    kind: str
    message: str
    retry_at: float | None = None


# --- what is learned afterwards --------------------------------------------------------------


class ReviewRequested(Event, frozen=True, kw_only=True):
    """The conversation up to here is to be reviewed. `reason` is for people."""

    review: str
    kind: ReviewKind
    reason: str
    turn: str | None = None


class ReviewStarted(Event, frozen=True, kw_only=True):
    """The review works in a session of its own."""

    review: str
    session: str
    turn: str


class ReviewCompleted(Event, frozen=True, kw_only=True):
    """`saved` says in a line what was saved; empty for nothing."""

    review: str
    saved: str


class ReviewFailed(Event, frozen=True, kw_only=True):
    review: str
    kind: str
    message: str


# --- who hears of it -------------------------------------------------------------------------


class ListenerTold(Event, frozen=True, kw_only=True):
    """A listener was told the stream's facts up to version `upto`. `message`: what went wrong with the next
    one, which is told again at `retry_at`; or, without that, what was left out."""

    listener: str
    upto: int
    attempt: int = 1
    message: str = ""
    retry_at: float | None = None


SessionEvent = (
    SessionStarted
    | SessionTitled
    | SessionEnded
    | ModelChanged
    | TodosWritten
    | TurnSubmitted
    | ContextPrefetched
    | TurnMerged
    | TurnCancelRequested
    | TurnResumed
    | UsageRecorded
    | TurnCompleted
    | TurnFailed
    | TurnCancelled
    | ModelCallStarted
    | ModelReplied
    | ModelCallFailed
    | ToolStarted
    | ToolFinished
    | ToolInterrupted
    | ApprovalRequested
    | ApprovalGiven
    | ApprovalDenied
    | StepAbandoned
    | OutcomeDiscarded
    | ResponseBooked
    | ContextPressure
    | CompressionRequested
    | CompressionStarted
    | ContextFlushed
    | ContextCompressed
    | CompressionFailed
    | ReviewRequested
    | ReviewStarted
    | ReviewCompleted
    | ReviewFailed
    | ListenerTold
)
