"""What the engine needs from the world, as small protocols. Adapters are named in `hermes_jobs.wiring`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Protocol

import msgspec

from hermes_jobs.domain.changes import Change
from hermes_jobs.domain.events import (
    Author,
    CompressionReason,
    Effect,
    Event,
    MemoryEvent,
    PlannedCall,
    SessionEvent,
    SessionStarted,
    Todo,
)
from hermes_jobs.domain.messages import Message, ToolCall
from hermes_jobs.domain.session import Session
from hermes_jobs.domain.steps import Step
from hermes_jobs.domain.streams import StreamState
from hermes_jobs.domain.usage import NO_USAGE, Usage

CANCELLED = "cancelled"
"""The reason of a `Cancel`, and the kind of a `ModelError`, where a person wanted no more of it."""


class Clock(Protocol):
    """Two clocks: what people call the time, and one that only runs forward."""

    def now(self) -> float:
        """Seconds since the epoch, UTC."""

    def monotonic(self) -> float:
        """Seconds since some moment of this process's host."""


class Ids(Protocol):
    """Fresh names and numbers."""

    def name(self, prefix: str) -> str:
        """A new id: the prefix and lower-case letters and digits."""

    def fence(self) -> int:
        """A number that no claim carried before: 63 random bits."""

    def fraction(self) -> float:
        """A random number from 0 up to 1, for jitter."""


class Cancel(Protocol):
    """How an act learns that it is no longer wanted."""

    @property
    def reason(self) -> str | None:
        """Null while it is wanted; else `cancelled` (by a person) or `shutdown` or `lost`."""

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back once, from any thread, when (or at once if) cancelled; returns how to take that back."""


class Carrier(Protocol):
    """Carries wake-ups. It may drop, delay, double and reorder them."""

    def wake(self, steps: Sequence[Step]) -> None:
        """Say that somebody should look at these steps. Never raises."""


class Follow(Protocol):
    """Lets what people read follow the log at once, such as the files of the memory and of skills."""

    def __call__(self, streams: Sequence[str]) -> None:
        """These streams, none of them a session's, have new facts. Never raises."""


class Witness(Protocol):
    """Hears at once what this process has appended, and is lost with it; a `Listener` misses nothing."""

    def __call__(self, before: StreamState, facts: Sequence[Event], after: StreamState) -> None:
        """One stream has these new facts. Never raises, and makes nobody wait."""


class NotHeard(Exception):
    """A listener stumbled: of a session, over the fact behind version `upto`. Its message holds no secret."""

    def __init__(self, message: str, *, upto: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.upto = upto


class Listener(Protocol):
    """Learns from what sessions come to, such as a memory beside our own. Safe for many threads."""

    @property
    def name(self) -> str:
        """`memory:NAME` or `context:NAME`."""

    def hear(self, session: Session, after: int) -> None:
        """Be told what became of the session after that version of its stream, up to its own.

        It may have been told before, by a process that died then. Takes seconds. Raises `NotHeard`.
        """


class WriteListener(Listener, Protocol):
    """A listener that hears of the memory's writes besides."""

    def hear_write(self, session: Session, write: MemoryEvent) -> None:
        """The memory was written to; it is told as part of what that session came to. Raises `NotHeard`."""


# --- the model -------------------------------------------------------------------------------


class ToolSpec(msgspec.Struct, frozen=True, dict=True):
    """A tool as the model is told of it; `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: dict[str, Any]

    @cached_property
    def num_characters(self) -> int:
        """How long it is where the model reads it."""
        return len(self.name) + len(self.description) + len(msgspec.json.encode(self.parameters))


class ProvidedSpec(ToolSpec, frozen=True, dict=True):
    """A tool that somebody brings along. `effect` says whether it may run again by itself."""

    effect: Effect = "write"


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One model call. `max_tokens` and `temperature` null leave these to the provider."""

    model: str
    system_prompt: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int | None = None
    temperature: float | None = None


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """One response, as said. `finish_reason`: `stop`, `tool_calls`, `length`, or the provider's word."""

    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    finish_reason: str = "stop"
    usage: Usage = NO_USAGE
    model: str = ""


class ModelError(Exception):
    """A call that gave no usable response. Its message holds no secret.

    `kind`: auth, billing, rate_limit, overloaded, server, timeout, context_overflow, output_limit,
    payload_too_large, model_not_found, content_policy, bad_request, connection, garbage, unknown, cancelled.
    `retryable`: the same call may succeed later, after `retry_after` seconds where the provider said so.
    `limit`: tokens, where the provider named them: for context_overflow the model's window, for output_limit
    the longest answer.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        hint: str = "",
        retryable: bool = False,
        retry_after: float | None = None,
        limit: int | None = None,
        usage: Usage = NO_USAGE,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.hint = hint
        self.retryable = retryable
        self.retry_after = retry_after
        self.limit = limit
        self.usage = usage


class Model(Protocol):
    """A language model. Blocks the calling thread; safe for many threads."""

    def reply(self, request: ModelRequest, cancel: Cancel, on_text: Callable[[str], None]) -> Reply:
        """Ask once, calling `on_text` with each piece of visible text as it arrives.

        Raises `ModelError`; kind `cancelled`, at once, when `cancel` fires.
        """


class RetryPlan(Protocol):
    """When a failed call is tried again."""

    def __call__(self, kind: str, retries: int, retry_after: float | None, fraction: float) -> float | None:
        """Seconds to wait before the next attempt after `retries` so far; null to give up.

        `fraction` is random, from 0 up to 1.
        """


class Pricing(Protocol):
    """What tokens cost."""

    def cost_usd(self, model: str, usage: Usage) -> float | None:
        """US dollars, or null where the price is not known."""


# --- the tools -------------------------------------------------------------------------------


class Verdict(msgspec.Struct, frozen=True):
    """Whether a call may run: `allow`, `ask` a person, or `deny`; `rule` names why not simply allowed."""

    decision: str
    rule: str = ""


class ToolContext(msgspec.Struct, frozen=True, kw_only=True):
    """For whom a tool works. `workdir` is the session's folder; `attended` when a person can answer.

    `lineage` is the session that its lineage began with.
    `author`: as whose words the log keeps what the tool writes. `toolsets` are those that are on. `source`:
    where the turn's text came from; `deliver`: where its answer goes.
    """

    session: str
    turn: str
    call: str
    workdir: str
    attended: bool
    todos: tuple[Todo, ...] = ()
    author: Author = "turn"
    toolsets: tuple[str, ...] = ()
    source: str = ""
    deliver: tuple[str, ...] = ()
    lineage: str = ""


class ToolOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """A tool's answer to the model. `invalid`: the call itself was wrong and nothing was done.

    `interrupted`: it was stopped by `cancel` before it had an answer. `source`: the file that was read.
    `facts` become facts of the session together with the answer: the whole effect of a tool that works on
    nothing else. `change` is the whole effect of a tool that works on other streams; it has the answer, and
    `content` is empty.
    """

    content: str
    source: str | None = None
    ok: bool = True
    invalid: bool = False
    interrupted: bool = False
    facts: tuple[SessionEvent, ...] = ()
    change: Change | None = None


class Toolbox(Protocol):
    """All tools there are. Never raises for what a model wrote."""

    @property
    def toolsets(self) -> tuple[str, ...]:
        """The names by which tools may be asked for."""

    def specs(self, toolsets: Sequence[str] | None) -> tuple[ToolSpec, ...]:
        """The tools of these toolsets (null: the configured ones) that are available here, by name."""

    def plan(
        self, call_prefix: str, calls: Sequence[ToolCall], context_workdir: str
    ) -> tuple[PlannedCall, ...]:
        """How to run a reply's calls: ids `{call_prefix}-{index}`, effects, and which go after which."""

    def verdict(self, call: ToolCall, context: ToolContext) -> Verdict:
        """Whether the call may run as it is."""

    def run(
        self, call: ToolCall, context: ToolContext, toolsets: Sequence[str] | None, cancel: Cancel
    ) -> ToolOutcome:
        """Validate and run the call. Returns early, `interrupted`, when `cancel` fires."""


# --- the context's size ----------------------------------------------------------------------


class ContextSize(msgspec.Struct, frozen=True, kw_only=True):
    """What the next call would send, in tokens. `is_measured`: mostly as the provider counted it.

    `first_call`: of its turn. `num_compressions`: in this turn so far.
    """

    window: int
    tokens: int
    num_messages: int
    is_measured: bool
    first_call: bool
    num_compressions: int


class History(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be compressed. `todos` are those that are open; `summary_window` is the summariser's."""

    messages: tuple[Message, ...]
    todos: tuple[str, ...]
    focus: str
    window: int
    summary_window: int


class Shortened(msgspec.Struct, frozen=True, kw_only=True):
    """A history made smaller: `removed` of its messages gave way to `summary`."""

    messages: tuple[Message, ...]
    summary: str
    removed: int


class Ask(Protocol):
    """Asks the summariser."""

    def __call__(self, system_prompt: str, text: str, max_tokens: int) -> str:
        """Its answer. Raises `ModelError`."""


class ContextEngine(Protocol):
    """Decides when a history is too long, and makes it smaller.

    Each question comes with all it needs. One that keeps more in mind has some of `context.hooks` besides.
    """

    def threshold(self, window: int) -> int:
        """Tokens from which on a history is compressed."""

    def should_compress(self, size: ContextSize) -> CompressionReason | None:
        """Whether to compress before the next call, and why."""

    def pressure(self, size: ContextSize) -> bool:
        """Whether the context comes close to being compressed."""

    def has_content_to_compress(self, messages: Sequence[Message], window: int) -> bool:
        """Whether a compression would find anything to take away."""

    def estimate(self, messages: Sequence[Message]) -> int:
        """About how many tokens the messages take."""

    def newest(self, messages: Sequence[Message], room: int) -> tuple[Message, ...]:
        """As many of the newest messages as fit into `room` tokens, no tool call without its results."""

    def compress(self, history: History, ask: Ask) -> Shortened:
        """The history made smaller. Raises `ModelError` where the summariser gives nothing to use."""

    def set_aside(self, history: History) -> Shortened:
        """The history made smaller without a summariser."""


class ContextEngines(Protocol):
    """The context engine of each session."""

    def of(self, session: Session) -> ContextEngine:
        """The one that looks after that session, and by now knows what it came to. Never raises."""


# --- the prompt ------------------------------------------------------------------------------


class Recall(Protocol):
    """Brings to mind what bears on a turn."""

    def __call__(self, session: Session, text: str) -> str:
        """What is known from elsewhere about what the user just said; empty: nothing. Never raises.

        Takes a few seconds at most.
        """


class PromptBuilder(Protocol):
    """Writes a session's system prompt, once."""

    def start(self, session: Session) -> SessionStarted:
        """The session's start with its frozen prompt, from its opening and the configuration."""
