"""Exporters between a process's spans and the collector: they redact secrets, and `shutdown` can be repeated.

Also a probe of the collector, and OpenTelemetry's instrumentations of Celery's tasks and of the model's HTTP
client, each imported when it is enabled; one that is not installed is skipped.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import Status

if TYPE_CHECKING:
    from opentelemetry.instrumentation.httpx import RequestInfo
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span
from opentelemetry.exporter.otlp.proto.http import trace_exporter

Redact = Callable[[str], str]


class RedactingExporter(SpanExporter):
    """Exports all spans without secrets: instrumentations record addresses and headers."""

    def __init__(self, exporter: SpanExporter, redact: Redact) -> None:
        self._exporter = exporter
        self._redact = redact

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """See `SpanExporter`."""
        return self._exporter.export([self._redacted(span) for span in spans])

    def shutdown(self) -> None:
        """See `SpanExporter`."""
        self._exporter.shutdown()

    def _redacted(self, span: ReadableSpan) -> ReadableSpan:
        text = span.status.description
        return ReadableSpan(
            name=self._redact(span.name),
            context=span.context,
            parent=span.parent,
            resource=span.resource,
            attributes=self._values(span.attributes),
            events=[
                Event(event.name, self._values(event.attributes), event.timestamp) for event in span.events
            ],
            links=span.links,
            kind=span.kind,
            status=Status(span.status.status_code, text and self._redact(text)),
            start_time=span.start_time,
            end_time=span.end_time,
            instrumentation_scope=span.instrumentation_scope,
        )

    def _values(self, values: Mapping[str, Any] | None) -> dict[str, Any]:
        return {name: self._value(value) for name, value in (values or {}).items()}

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._redact(value)
        if isinstance(value, Sequence) and not isinstance(value, bytes):
            return [self._value(item) for item in value]
        return value


class EndsOnce(SpanExporter):
    """An exporter whose `shutdown` may be called more than once: at the end, and after a timeout."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self._lock = threading.Lock()
        self._has_ended = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """See `SpanExporter`."""
        if self._has_ended:
            return SpanExportResult.FAILURE
        return self._exporter.export(spans)

    def shutdown(self) -> None:
        """End, the first time."""
        with self._lock:
            if self._has_ended:
                return
            self._has_ended = True
        self._exporter.shutdown()


logger = logging.getLogger(__name__)

ADDRESSES = ("http.url", "url.full")  # before and after a change of the conventions
MISSING = "%s are not traced: %s is missing. Install hermes-jobs[otel]."


def watch_tasks(provider: TracerProvider) -> None:
    """Export a span for every task that this process sends or runs."""
    try:
        from opentelemetry.instrumentation.celery import CeleryInstrumentor
    except ModuleNotFoundError as error:
        logger.warning(MISSING, "Tasks", error.name)
        return
    instrumentor = CeleryInstrumentor()  # type: ignore[no-untyped-call]  # untyped upstream
    instrumentor.instrument(tracer_provider=provider)


def watch_client(client: Any, provider: TracerProvider) -> None:
    """Export a span for every request of that httpx2 client."""
    try:
        from opentelemetry.instrumentation.httpx import HTTPX2ClientInstrumentor
    except ModuleNotFoundError as error:
        logger.warning(MISSING, "Requests", error.name)
        return
    HTTPX2ClientInstrumentor.instrument_client(client, tracer_provider=provider, request_hook=_without_query)


async def _without_query(span: Span, _request: RequestInfo) -> None:
    """A query may hold a key."""
    for name in ADDRESSES:
        address = (getattr(span, "attributes", None) or {}).get(name)  # one that is not sampled has none
        if isinstance(address, str):
            span.set_attribute(name, urlunsplit((*urlsplit(address)[:3], "", "")))


class _LastRecord(logging.Handler):
    """Stores the last message of the exporter, which reports failures to its logger only."""

    def __init__(self) -> None:
        super().__init__()
        self.message = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.message = record.getMessage()


def probe_collector(seconds: float) -> str:
    """Why the collector accepts no spans; "" where it does. Raises `ValueError` for a wrong variable."""
    last_record, text = _LastRecord(), logging.getLogger(trace_exporter.__name__)
    before, text.propagate = text.propagate, False
    text.addHandler(last_record)
    exporter: SpanExporter = trace_exporter.OTLPSpanExporter(timeout=seconds)
    try:
        succeeded = exporter.export(()) is SpanExportResult.SUCCESS
    finally:
        exporter.shutdown()
        text.removeHandler(last_record)
        text.propagate = before
    return "" if succeeded else last_record.message or "it did not say why"
