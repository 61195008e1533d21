"""Spans on their way to a collector: what this process appends, told by OTLP from a thread of its own.

The log is asked for the beginning of each span that an append of this process has ended, so that it does not
matter who began it. Nobody waits for a collector: what it does not take is lost, and the log has it all.
Everything about the export (endpoint, headers, sampling, batches) is the SDK's own: see its OTEL_* variables.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from queue import SimpleQueue

import msgspec
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from hermes_jobs.domain.events import Event, TurnSubmitted
from hermes_jobs.domain.session import Session
from hermes_jobs.domain.streams import StreamState
from hermes_jobs.eventlog.log import EventLog, Recorded
from hermes_jobs.telemetry.spans import AGENT, Closing, SpanRecord, opens, span_of

logger = logging.getLogger(__name__)

LOOK_BACK = 64  # events that are read at a time on the way to a span's beginning
LEAVING_SECONDS = 2.0  # for what waits to be sent when the process ends


class _Written(msgspec.Struct, frozen=True):
    """Versions of a stream that this process appended; how often their turns had been taken up again."""

    stream: str
    after: int
    upto: int
    resumes: Mapping[str, int]


class Tracing:
    """Tells a collector what this process has finished. Close it to send what waits."""

    def __init__(
        self, log: EventLog, *, version: str, content: bool, exporter: SpanExporter | None = None
    ) -> None:
        """`content`: also what was said. Without an exporter, one that the OTEL_* variables configure."""
        self._log = log
        self._content = content
        self._ids = _GivenIds()
        named = Resource({"service.name": AGENT, "service.version": version})
        self._provider = TracerProvider(
            resource=named.merge(OTELResourceDetector().detect()),
            id_generator=self._ids,
            shutdown_on_exit=False,
        )
        self._exporter = _EndsOnce(exporter or OTLPSpanExporter())
        self._provider.add_span_processor(BatchSpanProcessor(self._exporter))
        self._tracer = self._provider.get_tracer(AGENT, version)
        self._waiting: SimpleQueue[_Written | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="tracing", daemon=True)
        self._thread.start()

    def witness(self, before: StreamState, facts: Sequence[Event], after: StreamState) -> None:
        """Take note of what was appended. See `Witness`."""
        if not isinstance(before, Session) or not any(isinstance(fact, Closing) for fact in facts):
            return
        turns = {turn for fact in facts if isinstance(turn := getattr(fact, "turn", None), str)}
        found = {turn: known.resumes for turn in turns if (known := before.find(turn)) is not None}
        self._waiting.put(_Written(before.stream, before.version, after.version, found))

    def close(self) -> None:
        """Send what waits, for a few seconds at most."""
        giving_up = threading.Timer(LEAVING_SECONDS, self._exporter.shutdown)
        giving_up.daemon = True
        giving_up.start()
        self._waiting.put(None)
        self._thread.join(LEAVING_SECONDS)
        self._provider.shutdown()
        giving_up.cancel()

    def _run(self) -> None:
        while (written := self._waiting.get()) is not None:
            try:
                for record in self._spans(written):
                    self._send(record)
            except Exception:
                logger.exception("what happened in %s could not be traced", written.stream)

    def _spans(self, written: _Written) -> Iterator[SpanRecord]:
        recent = list(self._log.read(written.stream, after=written.after, upto=written.upto))
        for closing in list(recent):
            if not isinstance(closing.event, Closing):
                continue
            opening, recent = self._opening(closing, recent)
            if opening is None:
                continue
            between = [each.event for each in recent if opening.version < each.version <= closing.version]
            resumes = written.resumes.get(closing.event.turn or "", 0)
            span = span_of(opening, closing, between, resumes=resumes, content=self._content)
            if span is not None:
                yield span

    def _opening(self, closing: Recorded, recent: list[Recorded]) -> tuple[Recorded | None, list[Recorded]]:
        """The event that began what that one ends, and all from there on; events before `recent` are read."""
        fact = closing.event
        assert isinstance(fact, Closing)
        while True:
            earlier = (each for each in reversed(recent) if each.version < closing.version)
            found = next((each for each in earlier if opens(each.event, fact)), None)
            first = recent[0].version
            if found is not None or first == 1 or _is_submitted_before(recent, fact):
                return found, recent
            before = self._log.read(closing.stream, after=max(0, first - 1 - LOOK_BACK), upto=first - 1)
            recent = [*before, *recent]

    def _send(self, record: SpanRecord) -> None:
        self._ids.trace, self._ids.span = record.trace, record.span
        span = self._tracer.start_span(
            record.name,
            context=set_span_in_context(NonRecordingSpan(self._parent(record))) if record.parent else None,
            kind=SpanKind.CLIENT if record.client else SpanKind.INTERNAL,
            attributes=dict(record.attributes),
            start_time=record.start,
        )
        if record.error:
            span.set_status(Status(StatusCode.ERROR, record.message or record.error))
        span.end(record.end)

    def _parent(self, record: SpanRecord) -> SpanContext:
        """The turn's span, sampled as its own process will find, or has found."""
        assert record.parent is not None
        sampled = self._provider.sampler.should_sample(None, record.trace, f"invoke_agent {AGENT}")
        is_sampled = sampled.decision is Decision.RECORD_AND_SAMPLE
        flags = TraceFlags(TraceFlags.SAMPLED if is_sampled else TraceFlags.DEFAULT)
        return SpanContext(record.trace, record.parent, is_remote=True, trace_flags=flags)


class _EndsOnce(SpanExporter):
    """An exporter that may be told to end more than once: in good order, and because it takes too long."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self._lock = threading.Lock()
        self._has_ended = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        if self._has_ended:
            return SpanExportResult.FAILURE
        return self._exporter.export(spans)

    def shutdown(self) -> None:
        with self._lock:
            if self._has_ended:
                return
            self._has_ended = True
        self._exporter.shutdown()


class _GivenIds(IdGenerator):
    """Hands out the ids of the span that is about to be made; for the one thread that makes them."""

    trace = 0
    span = 0

    def generate_trace_id(self) -> int:
        return self.trace

    def generate_span_id(self) -> int:
        return self.span


def _is_submitted_before(recent: Sequence[Recorded], closing: Closing) -> bool:
    """Whether the turn's own beginning was read, before which nothing of it can stand."""
    return any(isinstance(each.event, TurnSubmitted) and each.event.turn == closing.turn for each in recent)
