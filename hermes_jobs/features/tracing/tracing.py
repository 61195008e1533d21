"""Exports spans of the events that this process appends, by OTLP, from a thread of its own.

OpenTelemetry's instrumentations add the Celery tasks and HTTP requests of a step to the same trace: see
`sending` and `within`.

The first event of a span that this process has ended is read from the log, so any worker may have written it.
Export never blocks work: spans that the collector does not accept are lost; the log still has every event.
Everything about the export (endpoint, headers, sampling, batches) is the SDK's own: see its OTEL_* variables.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from queue import SimpleQueue
from typing import Any

import msgspec
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    get_current_span,
    set_span_in_context,
    use_span,
)

from hermes_jobs.features.tracing.exporters import (
    EndsOnce,
    Redact,
    RedactingExporter,
    watch_client,
    watch_tasks,
)
from hermes_jobs.features.tracing.spans import (
    AGENT,
    Closing,
    ProviderOf,
    SpanRecord,
    is_opened_by,
    root_id,
    span_of,
    step_span_id,
    trace_id,
    turn_of,
)
from hermes_jobs.kernel.engine.ports import Cancel, StepHandler, StepOutcome
from hermes_jobs.kernel.events import Event, TurnSubmitted
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.kernel.streams.stream_kind import StreamState
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.steps import Step

logger = logging.getLogger(__name__)

LOOK_BACK = 64  # events read at a time when looking for a span's first event
SHUTDOWN_SECONDS = 2.0  # for queued spans when the process ends


class _AppendedTurn(msgspec.Struct, frozen=True):
    """Versions of a stream that this process appended; how often their turns had been resumed."""

    stream: str
    after: int
    upto: int
    resumes: Mapping[str, int]


class Tracing:
    """Exports spans of finished work to a collector. `close` sends those that are still queued."""

    def __init__(
        self,
        log: EventLog,
        *,
        version: str,
        content: bool,
        redact: Redact,
        provider: ProviderOf,
        exporter: SpanExporter | None = None,
    ) -> None:
        """`content`: include the texts of messages; `redact` removes secrets from a text; `provider` names
        the provider of a model.

        Without an exporter, one that the OTEL_* variables configure.
        """
        self._log = log
        self._content = content
        self._provider_of = provider
        self._ids = _PresetIds()
        resource = Resource({"service.name": AGENT, "service.version": version})
        self._provider = TracerProvider(
            resource=resource.merge(OTELResourceDetector().detect()),
            id_generator=self._ids,
            shutdown_on_exit=False,
        )
        self._exporter = EndsOnce(RedactingExporter(exporter or OTLPSpanExporter(), redact))
        self._provider.add_span_processor(BatchSpanProcessor(self._exporter))
        self._tracer = self._provider.get_tracer(AGENT, version)
        self._waiting: SimpleQueue[_AppendedTurn | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="tracing", daemon=True)
        self._thread.start()

    def on_append(self, before: StreamState, events: Sequence[Event], after: StreamState) -> None:
        """Queue the spans that these events end. See `AppendHook`."""
        if not isinstance(before, Session) or not any(isinstance(event, Closing) for event in events):
            return
        turns = {turn for event in events if isinstance(turn := getattr(event, "turn", None), str)}
        resumes = {turn: known.times_resumed for turn in turns if (known := before.find(turn)) is not None}
        self._waiting.put(_AppendedTurn(before.stream, before.version, after.version, resumes))

    def watch_tasks(self) -> None:
        """Instrument the Celery tasks that this process sends and runs."""
        watch_tasks(self._provider)

    def watch_client(self, client: Any) -> None:
        """Instrument the requests of an httpx2 client."""
        watch_client(client, self._provider)

    @contextmanager
    def sending(self, step: Step) -> Iterator[None]:
        """While a message for that step is published: it belongs to the trace of the step's turn."""
        turn = turn_of(step)
        if turn is None or get_current_span().get_span_context().trace_id == trace_id(turn):
            yield
            return
        with self._under(trace_id(turn), root_id(turn, 0)):
            yield

    def traced(self, handler: StepHandler) -> StepHandler:
        """The handler, traced."""
        return _TracedHandler(handler, self.within)

    @contextmanager
    def within(self, session: Session, step: Step) -> Iterator[None]:
        """While that step runs; `session` is its state when the step was claimed."""
        turn = session.current
        if turn is None:
            yield
            return
        beside = turn.call(step.id) or turn.reference(step.id)
        has_span = step.id == turn.step_id or beside is not None
        own = (
            step_span_id(session.stream, session.version)
            if has_span
            else root_id(turn.id, turn.times_resumed)
        )
        with self._under(trace_id(turn.id), own):
            yield

    def close(self) -> None:
        """Send queued spans, for `SHUTDOWN_SECONDS` at most."""
        giving_up = threading.Timer(SHUTDOWN_SECONDS, self._exporter.shutdown)
        giving_up.daemon = True
        giving_up.start()
        self._waiting.put(None)
        self._thread.join(SHUTDOWN_SECONDS)
        self._provider.shutdown()
        giving_up.cancel()

    def _run(self) -> None:
        while (appended := self._waiting.get()) is not None:
            try:
                for record in self._spans(appended):
                    self._send(record)
            except Exception:
                logger.exception("what happened in %s could not be traced", appended.stream)

    def _spans(self, appended: _AppendedTurn) -> Iterator[SpanRecord]:
        recent = list(self._log.read(appended.stream, after=appended.after, upto=appended.upto))
        for closing in list(recent):
            if not isinstance(closing.event, Closing):
                continue
            opening, recent = self._opening(closing, recent)
            if opening is None:
                continue
            between = [event.event for event in recent if opening.version < event.version <= closing.version]
            resumes = appended.resumes.get(closing.event.turn or "", 0)
            span = span_of(
                opening,
                closing,
                between,
                resumes=resumes,
                content=self._content,
                provider=self._provider_of,
            )
            if span is not None:
                yield span

    def _opening(
        self, closing: RecordedEvent, recent: list[RecordedEvent]
    ) -> tuple[RecordedEvent | None, list[RecordedEvent]]:
        """The first event of the span that `closing` ends, and all events from there on.

        Reads events before `recent` where it is not among those.
        """
        event = closing.event
        assert isinstance(event, Closing)
        while True:
            earlier = (
                recorded_event
                for recorded_event in reversed(recent)
                if recorded_event.version < closing.version
            )
            opening = next(
                (recorded_event for recorded_event in earlier if is_opened_by(recorded_event.event, event)),
                None,
            )
            first = recent[0].version
            if opening is not None or first == 1 or _is_submitted_before(recent, event):
                return opening, recent
            before = self._log.read(closing.stream, after=max(0, first - 1 - LOOK_BACK), upto=first - 1)
            recent = [*before, *recent]

    def _send(self, record: SpanRecord) -> None:
        parent = None if record.parent is None else self._context(record.trace, record.parent)
        self._ids.give(record.trace, record.span)
        span = self._tracer.start_span(
            record.name,
            context=None if parent is None else set_span_in_context(NonRecordingSpan(parent)),
            kind=SpanKind.CLIENT if record.client else SpanKind.INTERNAL,
            attributes=dict(record.attributes),
            start_time=record.start,
        )
        if record.error:
            span.set_status(Status(StatusCode.ERROR, record.message or record.error))
        span.end(record.end)

    def _under(self, trace: int, span: int) -> AbstractContextManager[object]:
        """While it is open, spans that begin in this thread are children of that one."""
        return use_span(NonRecordingSpan(self._context(trace, span)))

    def _context(self, trace: int, span: int) -> SpanContext:
        """The context of a span of a turn's trace; every process takes the same sampling decision."""
        sampled = self._provider.sampler.should_sample(None, trace, f"invoke_agent {AGENT}")
        is_sampled = sampled.decision is Decision.RECORD_AND_SAMPLE
        flags = TraceFlags(TraceFlags.SAMPLED if is_sampled else TraceFlags.DEFAULT)
        return SpanContext(trace, span, is_remote=True, trace_flags=flags)


class _TracedHandler:
    """A `StepHandler` whose calls are traced under the span of its step; `within` is that of `Tracing`."""

    def __init__(
        self, handler: StepHandler, within: Callable[[Session, Step], AbstractContextManager[None]]
    ) -> None:
        self._handler = handler
        self._within = within

    def run(self, session: Session, step: Step, cancel: Cancel) -> StepOutcome:
        """See `StepHandler`."""
        with self._within(session, step):
            return self._handler.run(session, step, cancel)


class _PresetIds(RandomIdGenerator):
    """Gives the next span of a thread the ids that were set for it; random ones otherwise."""

    def __init__(self) -> None:
        self._here = threading.local()

    def give(self, trace: int, span: int) -> None:
        self._here.ids = (trace, span)

    def generate_trace_id(self) -> int:
        ids = getattr(self._here, "ids", None)
        return ids[0] if ids else super().generate_trace_id()

    def generate_span_id(self) -> int:
        ids = getattr(self._here, "ids", None)
        return ids[1] if ids else super().generate_span_id()


def _is_submitted_before(recent: Sequence[RecordedEvent], closing: Closing) -> bool:
    """Whether the turn's submission was read: no event of the turn comes before it."""
    return any(
        isinstance(event.event, TurnSubmitted) and event.event.turn == closing.turn for event in recent
    )
