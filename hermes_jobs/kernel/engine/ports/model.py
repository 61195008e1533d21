"""The port for a language model: request, reply, errors, prices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, Protocol

import msgspec

from hermes_jobs.kernel.engine.ports.host import Cancel
from hermes_jobs.kernel.engine.ports.toolbox import ToolSpec
from hermes_jobs.kernel.streams.decision import Decision
from hermes_jobs.kernel.streams.usage import NO_USAGE, Usage
from hermes_jobs.kernel.turns.messages import Message, Payload, ToolCall
from hermes_jobs.kernel.turns.rhythm import CacheTtl
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.tool_results import UNLIMITED


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One model call. The provider chooses `max_tokens` and `temperature` where they are None.

    `session` is the same for all calls of a lineage, so that providers can route them to one prompt cache.
    `tool_choice` `none`: the tools are known, and none may be called. `answer_schema`: the JSON Schema, as
    JSON text, that the answer should be constrained to where the endpoint can; empty for none. The messages
    contain it, too. `cache_ttl`: how long the provider is to keep the prompt; None: as configured.
    `contents`: the bytes of attachments by digest, which the client adds.
    """

    model: str
    system_prompt: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int | None = None
    temperature: float | None = None
    session: str = ""
    tool_choice: Literal["auto", "none"] = "auto"
    answer_schema: str = ""
    cache_ttl: CacheTtl | None = None
    contents: Mapping[str, bytes] = {}

    @property
    def offered(self) -> tuple[ToolSpec, ...]:
        """The tools that may be called in the reply."""
        return self.tools if self.tool_choice == "auto" else ()


class FailedCall(msgspec.Struct, frozen=True):
    """The call of a model for which another one answered, and why it failed."""

    model: str
    error: ModelError


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """One response. `finish_reason`: `stop`, `tool_calls`, `length`, or the provider's word.

    `payload` goes back with the message. `notes` name parameters that the endpoint refused and that were left
    out; `warning` is told to the user. `instead_of`: the call that failed before this one was made in its
    place.
    """

    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    finish_reason: str = "stop"
    usage: Usage = NO_USAGE
    model: str = ""
    payload: Payload | None = None
    notes: tuple[str, ...] = ()
    warning: str = ""
    instead_of: FailedCall | None = None


class ModelError(Exception):
    """A call without a usable response. The message holds no secret.

    `kind`: auth, billing, rate_limit, overloaded, server, timeout, context_overflow, output_limit,
    payload_too_large, model_not_found, content_policy, bad_request, connection, garbage, unknown, cancelled.
    `retryable`: the same call may succeed later, after `retry_after` seconds where the provider said so.
    `limit`: tokens, if the provider reported them: for context_overflow the model's window, for output_limit
    the longest answer. `unexplained`: the reason could not be recognised; it may be the size. `instead_of`:
    the call that failed before this one was made in its place.
    """

    unexplained = False
    instead_of: FailedCall | None = None

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
        """Call the model once; `on_text` is called with each piece of visible text as it arrives.

        Raises `ModelError`; kind `cancelled`, at once, when `cancel` fires.
        """


class Ensemble(msgspec.Struct, frozen=True, kw_only=True):
    """Several models by one name: the `members` are asked first, and the `aggregator` answers."""

    name: str
    members: tuple[str, ...]
    aggregator: str


class RetryPlan(Protocol):
    """When a failed call is tried again."""

    def __call__(self, kind: str, retries: int, retry_after: float | None, fraction: float) -> float | None:
        """Seconds to wait before the next attempt after `retries` so far; None to give up.

        `fraction` is random, from 0 up to 1.
        """


class Pricing(Protocol):
    """Prices of tokens."""

    def cost_usd(self, model: str, usage: Usage) -> float | None:
        """The cost in US dollars; None where the price is not known."""


class ConfiguredModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model at its endpoint. `name` is None where each session names its own, whose fallbacks then apply.

    `window_of(model)` is a context window in tokens; `learn(model, window)` the decision that records one.
    """

    model: Model
    pricing: Pricing
    name: str | None = None
    window_of: Callable[[str], int] = lambda model: UNLIMITED
    learn: Callable[[str, int], Decision | None] = lambda model, window: None


class Models(msgspec.Struct, frozen=True, kw_only=True):
    """The models by purpose of a call: a conversation's turns, reviews, and saving before a compression."""

    turn: ConfiguredModel
    review: ConfiguredModel
    flush: ConfiguredModel

    def of(self, session: Session) -> ConfiguredModel:
        """The model of the session's turns."""
        return self.review if session.is_review else self.turn

    def window_of(self, session: Session, model: str) -> int:
        """The context window of that model where the session's turns call it, in tokens."""
        return self.of(session).window_of(model)


def same_for_all(model: ConfiguredModel) -> Models:
    """One model for all purposes."""
    return Models(turn=model, review=model, flush=model)


class Bill(msgspec.Struct, frozen=True):
    """The model that answered, and the cost in US dollars; None where no usage was reported, or the price is
    not known."""

    model: str
    cost_usd: float | None


def bill(reply: Reply, requested: str, pricing: Pricing) -> Bill:
    """The bill of a reply; `asked` is the model where the endpoint does not say which one answered."""
    model = reply.model or requested
    return Bill(model, None if reply.usage == NO_USAGE else pricing.cost_usd(model, reply.usage))
