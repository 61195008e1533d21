"""Events of model calls: the reply, or the failure."""

from __future__ import annotations

from hermes_jobs.kernel.events.event import Event
from hermes_jobs.kernel.events.session.tool_call import PlannedCall
from hermes_jobs.kernel.streams.usage import NO_USAGE, Reservation, Usage
from hermes_jobs.kernel.turns.messages import Payload, ToolCall


class ModelCallStarted(Event, frozen=True, kw_only=True):
    """A model call was started. `reserved`: its reservation."""

    turn: str
    step: str
    attempt: int
    reserved: Reservation | None = None


class ModelReplied(Event, frozen=True, kw_only=True):
    """A model's reply, as received. `plan` is parallel to `tool_calls`.

    `estimated`: estimated usage, where the endpoint did not report it. `payload`: provider data to send back.
    `notes`: what was left out of the request because the endpoint refused it. `warning`: that the server
    seems to have cut the prompt; empty if not. `failures`: the models that failed before this one answered,
    with reasons; empty for none. `stalled`: the text was cut off and repeats itself, or adds nothing; it is
    not continued.
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
    stalled: bool = False
    warning: str = ""


class ModelCallFailed(Event, frozen=True, kw_only=True):
    """A call without a usable response; it is retried at `retry_at` if that is set, else it was the last
    attempt.

    `max_tokens`: the output limit of the retry, where the requested one was refused. `window`: the model's
    window in tokens, where the refusal names it. `estimated`: estimated usage of a call without reported
    usage. `quota_until`: when the quota resets that the call waits for. `fallback`: the model of the retry,
    and `resets_at` when the used-up quota of the model that it replaces resets. `back_to`: the model whose
    quota the call waits for because its fallback cannot be used. `content`: the partial text of a cancelled
    answer.
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
    """The usage of a response outside the transcript: a summary, a flush. `turn` is charged for it, if set.

    `estimated`: estimated usage where none was reported, as of a cancelled call.
    """

    turn: str | None
    step: str
    purpose: str
    model: str
    usage: Usage = NO_USAGE
    cost_usd: float | None = None
    estimated: Usage = NO_USAGE
    estimated_cost_usd: float | None = 0.0
