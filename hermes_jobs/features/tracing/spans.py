"""Spans from events: which event begins a span, which ends it, and its attributes.

| span                | begins with                    | ends with                                       |
|---------------------|--------------------------------|-------------------------------------------------|
| `invoke_agent NAME` | `TurnSubmitted`, `TurnResumed` | `TurnCompleted`, `TurnFailed`, `TurnCancelled`  |
| `chat MODEL`        | `ModelCallStarted`             | `ModelReplied`, `ModelCallFailed`               |
|                     | `ReferenceStarted`             | `ReferenceReplied`, `ReferenceFailed`           |
|                     | `CompressionStarted`           | `ResponseBooked`                                |
| `execute_tool NAME` | `ToolStarted`                  | `ToolFinished`, `ToolInterrupted`               |
| any of the last two | its own                        | `StepAbandoned`                                 |

A turn is one trace, whose ids follow from the turn's: every process that ends a span knows where it belongs.
Names are those of the semantic conventions for generative AI (opentelemetry.io/docs/specs/semconv/gen-ai).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Literal

import msgspec

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.paid import CallOutcome
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.streams.streams import SESSIONS
from hermes_jobs.kernel.turns.session import lineage_of
from hermes_jobs.kernel.turns.steps import Step

AGENT = "hermes-jobs"
ProviderOf = Callable[[str, str], str]
"""The provider of a model for a purpose, as the conventions name it; an empty model: the configured one."""

Value = str | int | float | bool | Sequence[str]
Closing = (
    e.TurnEnd
    | e.ModelReplied
    | e.ModelCallFailed
    | e.ReferenceReplied
    | e.ReferenceFailed
    | e.ResponseBooked
    | e.ToolFinished
    | e.ToolInterrupted
    | e.StepAbandoned
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class SpanRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A span that has ended. Ids are 128 and 64 bits, moments nanoseconds since the epoch.

    `error`: a short class of the failure, empty without one; `message` describes it.
    """

    trace: int
    span: int
    parent: int | None
    name: str
    client: bool
    start: int
    end: int
    attributes: Mapping[str, Value]
    error: str = ""
    message: str = ""


def trace_id(turn: str) -> int:
    """The trace of a turn; never 0."""
    return int.from_bytes(sha256(f"turn {turn}".encode()).digest()[:16]) or 1


def root_id(turn: str, resumes: int) -> int:
    """The span of a turn that was taken up again so many times; never 0."""
    return _id("invoke_agent", turn, resumes)


def step_span_id(stream: str, version: int) -> int:
    """The span of a model call or tool call that began with that event; never 0."""
    return _id(stream, version)


def turn_of(step: Step) -> str | None:
    """The turn that a step works for; None for one that begins a review, fires a schedule or delivers."""
    if not step.stream.startswith(SESSIONS) or step.id.endswith("-begin"):
        return None
    return step.id.split("-", 1)[0]


def is_opened_by(event: e.Event, closing: Closing) -> bool:
    """Whether the span that `closing` ends began with that event."""
    match closing:
        case e.TurnCompleted() | e.TurnFailed() | e.TurnCancelled():
            return isinstance(event, e.TurnSubmitted | e.TurnResumed) and event.turn == closing.turn
        case e.ToolFinished() | e.ToolInterrupted():
            return isinstance(event, e.ToolStarted) and (event.call, event.attempt) == (
                closing.call,
                closing.attempt,
            )
        case e.ResponseBooked():
            return isinstance(event, e.CompressionStarted) and event.step == closing.step
        case e.StepAbandoned():
            step = event.call if isinstance(event, e.ToolStarted) else getattr(event, "step", None)
            begins = isinstance(
                event, e.ToolStarted | e.ModelCallStarted | e.ReferenceStarted | e.CompressionStarted
            )
            return begins and (step, getattr(event, "attempt", 0)) == (closing.step, closing.attempt)
        case e.ReferenceReplied() | e.ReferenceFailed():
            begins = isinstance(event, e.ReferenceStarted) and event.step == closing.step
            return begins and getattr(event, "attempt", 0) == closing.attempt
        case e.ModelReplied() | e.ModelCallFailed():
            begins = isinstance(event, e.ModelCallStarted) and event.step == closing.step
            return begins and getattr(event, "attempt", 0) == closing.attempt


def span_of(
    opening: RecordedEvent,
    closing: RecordedEvent,
    between: Iterable[e.Event],
    *,
    resumes: int,
    content: bool,
    provider: ProviderOf,
) -> SpanRecord | None:
    """The span from one event to the other; None where it belongs to no turn.

    `between` are the events after the opening, `resumes` counts how often the turn was taken up again before.
    With `content` it includes the texts, else only their sizes.
    """
    event = closing.event
    assert isinstance(event, Closing)
    turn = event.turn
    if not turn:
        return None
    what = _content_of(opening.event, event, between, content=content)
    model = str(what.attributes.get("gen_ai.request.model", ""))
    purpose = str(what.attributes.get("hermes_jobs.purpose", ""))
    is_root = isinstance(event, e.TurnEnd)
    # One compression may book several responses; every other span has its beginning for itself.
    own = closing.version if isinstance(event, e.ResponseBooked) else opening.version
    attributes: dict[str, Value] = {
        "gen_ai.operation.name": what.operation,
        "gen_ai.conversation.id": lineage_of(closing.stream),
        "hermes_jobs.turn": turn,
        "hermes_jobs.worker": closing.meta.worker,
        **what.attributes,
    }
    if what.operation != "execute_tool":
        attributes["gen_ai.provider.name"] = provider(model, purpose)
    if what.error:
        attributes["error.type"] = what.error
    return SpanRecord(
        trace=trace_id(turn),
        span=root_id(turn, resumes) if is_root else step_span_id(closing.stream, own),
        parent=None if is_root else root_id(turn, resumes),
        name=f"{what.operation} {what.of}".rstrip(),
        client=what.operation == "chat",
        start=_nanoseconds(opening.recorded_at),
        end=max(_nanoseconds(opening.recorded_at), _nanoseconds(closing.recorded_at)),
        attributes=attributes,
        error=what.error,
        message=what.message,
    )


class _SpanContent(msgspec.Struct, frozen=True):
    """What a span says besides where it belongs."""

    operation: Literal["invoke_agent", "chat", "execute_tool"]
    of: str
    attributes: dict[str, Value]
    error: str = ""
    message: str = ""


def _content_of(
    opening: e.Event, event: Closing, between: Iterable[e.Event], *, content: bool
) -> _SpanContent:
    match event:
        case e.TurnCompleted() | e.TurnFailed() | e.TurnCancelled():
            return _turn(opening, event, between, content=content)
        case (
            e.ModelReplied()
            | e.ModelCallFailed()
            | e.ReferenceReplied()
            | e.ReferenceFailed()
            | e.ResponseBooked()
        ):
            return _call(event, content=content)
        case e.ToolFinished() | e.ToolInterrupted():
            assert isinstance(opening, e.ToolStarted)
            return _tool(opening, event, content=content)
        case e.StepAbandoned():
            reason = f"its worker {'died' if event.reason == 'died' else 'left'}"
            if isinstance(opening, e.ToolStarted):
                return msgspec.structs.replace(
                    _tool(opening, None, content=content), error="abandoned", message=reason
                )
            return _SpanContent(
                "chat", event.model, _request_attributes(event.model, event.attempt), "abandoned", reason
            )


def _turn(opening: e.Event, end: e.TurnEnd, between: Iterable[e.Event], *, content: bool) -> _SpanContent:
    attributes: dict[str, Value] = {"gen_ai.agent.name": AGENT}
    for event in between:
        if isinstance(event, e.UsageRecorded) and event.turn == end.turn:
            read, cache_written = event.cache_read_tokens, event.cache_write_tokens
            attributes["gen_ai.request.model"] = event.model
            attributes["gen_ai.usage.input_tokens"] = event.input_tokens + read + cache_written
            attributes["gen_ai.usage.output_tokens"] = event.output_tokens
            if event.cost_usd is not None:
                attributes["hermes_jobs.cost_usd"] = event.cost_usd
    if content and isinstance(opening, e.TurnSubmitted):
        attributes["gen_ai.input.messages"] = _message("user", opening.text)
    match end:
        case e.TurnCompleted():
            if content:
                attributes["gen_ai.output.messages"] = _message("assistant", end.answer)
            return _SpanContent("invoke_agent", AGENT, attributes)
        case e.TurnFailed():
            return _SpanContent("invoke_agent", AGENT, attributes, end.kind, end.message if content else "")
        case e.TurnCancelled():
            return _SpanContent("invoke_agent", AGENT, attributes, "cancelled", f"cancelled by {end.by}")


def _call(event: CallOutcome | e.ResponseBooked, *, content: bool) -> _SpanContent:
    attempt = 1 if isinstance(event, e.ResponseBooked) else event.attempt
    attributes = {**_request_attributes(event.model, attempt), "hermes_jobs.purpose": event.purpose}
    usage = event.usage
    if usage.total_tokens:
        attributes["gen_ai.usage.input_tokens"] = usage.prompt_tokens
        attributes["gen_ai.usage.output_tokens"] = usage.output_tokens
        attributes["gen_ai.usage.cache_read.input_tokens"] = usage.cache_read_tokens
        attributes["gen_ai.usage.cache_creation.input_tokens"] = usage.cache_write_tokens
        attributes["gen_ai.usage.reasoning.output_tokens"] = usage.reasoning_tokens
    if event.cost_usd is not None:
        attributes["hermes_jobs.cost_usd"] = event.cost_usd
    if isinstance(event, e.ModelCallFailed | e.ReferenceFailed):
        return _SpanContent("chat", event.model, attributes, event.kind, event.message if content else "")
    attributes["gen_ai.response.model"] = event.model
    if isinstance(event, e.ModelReplied | e.ReferenceReplied):
        attributes["gen_ai.response.finish_reasons"] = (event.finish_reason,)
        if content:
            attributes["gen_ai.output.messages"] = _message("assistant", event.content)
    return _SpanContent("chat", event.model, attributes)


def _tool(
    started: e.ToolStarted, end: e.ToolFinished | e.ToolInterrupted | None, *, content: bool
) -> _SpanContent:
    attributes: dict[str, Value] = {
        "gen_ai.tool.name": started.name,
        "gen_ai.tool.call.id": started.call,
        "gen_ai.tool.type": "function",
        "hermes_jobs.attempt": started.attempt,
    }
    if content:
        attributes["gen_ai.tool.call.arguments"] = started.arguments
    match end:
        case e.ToolFinished():
            if content:
                attributes["gen_ai.tool.call.result"] = end.content
            return _SpanContent("execute_tool", started.name, attributes, "" if end.ok else "tool_error")
        case e.ToolInterrupted():
            return _SpanContent("execute_tool", started.name, attributes, end.reason)
        case None:
            return _SpanContent("execute_tool", started.name, attributes)


def _request_attributes(model: str, attempt: int) -> dict[str, Value]:
    return {
        "gen_ai.request.model": model,
        "hermes_jobs.attempt": attempt,
    }


def _message(role: str, text: str) -> str:
    """One message in the conventions' own form."""
    return msgspec.json.encode([{"role": role, "parts": [{"type": "text", "content": text}]}]).decode()


def _id(*parts: object) -> int:
    return int.from_bytes(sha256(" ".join(map(str, parts)).encode()).digest()[:8]) or 1


def _nanoseconds(moment: str) -> int:
    return (datetime.fromisoformat(moment) - _EPOCH) // timedelta(microseconds=1) * 1000
