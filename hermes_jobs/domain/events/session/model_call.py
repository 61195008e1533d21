"""Events of model calls: what the model said, or why it did not."""

from __future__ import annotations

from hermes_jobs.domain.events.event import Event
from hermes_jobs.domain.events.session.tool_call import PlannedCall
from hermes_jobs.domain.session.messages import Payload, ToolCall
from hermes_jobs.domain.usage import NO_USAGE, Reservation, Usage


class ModelCallStarted(Event, frozen=True, kw_only=True):
    """`reserved`: what was set aside for the call."""

    turn: str
    step: str
    attempt: int
    reserved: Reservation | None = None


class ModelReplied(Event, frozen=True, kw_only=True):
    """A response, as it was said. `plan` stands beside `tool_calls`, one for one.

    `estimated`: about what it used, where the endpoint did not report it. `payload`: what the provider
    attached and wants back. `notes`: what was left out of the request because the endpoint refused it.
    `failures`: which model was asked first and failed, and with what; empty where none was.
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
    payload: Payload | None = None
    notes: tuple[str, ...] = ()
    failures: str = ""


class ModelCallFailed(Event, frozen=True, kw_only=True):
    """A call that gave no usable response; with `retry_at` it is tried again then, else it was the last.

    `max_tokens`: the longest answer that the call is tried again with, where the one asked for was refused.
    `window`: how many tokens the model takes, where the refusal says so. `estimated`: what the call may have
    used, where it was under way and nobody reported it. `quota_until`: when the quota resets that the call
    waits for. `fallback`: the model that the call is tried again with, and `resets_at` when the quota resets
    of the one that it replaces, where it is used up. `back_to`: the model whose quota the call waits for, as
    its fallback cannot be used. `content`: what had been said of an answer that was cancelled.
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
    quota_until: float | None = None
    fallback: str = ""
    content: str = ""
    resets_at: float | None = None
    back_to: str = ""


class ResponseBooked(Event, frozen=True, kw_only=True):
    """A response that says nothing in the conversation: a summary, a flush. `turn` paid for it, if any.

    `estimated`: what it may have used, where nobody reported it, as of a call that was cancelled.
    """

    turn: str | None
    step: str
    purpose: str
    model: str
    usage: Usage = NO_USAGE
    cost_usd: float | None = None
    estimated: Usage = NO_USAGE
    estimated_cost_usd: float | None = 0.0
