"""Probes the configured collector by an export without spans."""

from __future__ import annotations

import logging

from opentelemetry.exporter.otlp.proto.http import trace_exporter
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult


class _LastRecord(logging.Handler):
    """Stores the last message of the exporter, which reports failures to its logger only."""

    def __init__(self) -> None:
        super().__init__()
        self.told = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.told = record.getMessage()


def probe_collector(seconds: float) -> str:
    """Why the collector accepts no spans; "" where it does. Raises `ValueError` for a wrong variable."""
    kept, text = _LastRecord(), logging.getLogger(trace_exporter.__name__)
    before, text.propagate = text.propagate, False
    text.addHandler(kept)
    exporter: SpanExporter = trace_exporter.OTLPSpanExporter(timeout=seconds)
    try:
        taken = exporter.export(()) is SpanExportResult.SUCCESS
    finally:
        exporter.shutdown()
        text.removeHandler(kept)
        text.propagate = before
    return "" if taken else kept.told or "it did not say why"
