"""Reads OpenTelemetry's standard variables: whether to trace, where to, and with which content."""

from __future__ import annotations

from collections.abc import Mapping

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
DISABLED = "OTEL_SDK_DISABLED"
EXPORTER = "OTEL_TRACES_EXPORTER"
EXTRA = (
    "opentelemetry.sdk",
    "opentelemetry.exporter.otlp.proto.http",
    "opentelemetry.instrumentation.celery",
    "opentelemetry.instrumentation.httpx",
)
"""What the extra `otel` installs."""
CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


def traces_are_wanted(environ: Mapping[str, str]) -> bool:
    """Whether a collector is configured."""
    if environ.get(DISABLED, "").lower() == "true" or environ.get(EXPORTER, "otlp") not in {"", "otlp"}:
        return False
    return any(environ.get(name) for name in ENDPOINTS)


def collector_endpoint(environ: Mapping[str, str]) -> str:
    """The configured endpoint for spans."""
    everything, traces = (environ.get(name, "") for name in ENDPOINTS)
    return traces or everything


def content_is_wanted(environ: Mapping[str, str]) -> bool:
    """Whether spans include the texts of messages, not only their sizes."""
    return environ.get(CONTENT, "").lower() in {"true", "1", "span_only", "span_and_event"}
