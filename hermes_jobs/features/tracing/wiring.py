"""Traces of turns for an OpenTelemetry collector, where its standard variables name one."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from hermes_jobs import __version__
from hermes_jobs.errors import Misconfigured

if TYPE_CHECKING:
    from hermes_jobs.features.tracing.tracing import Tracing
    from hermes_jobs.kernel.log.log import EventLog
    from hermes_jobs.settings import Settings

logger = logging.getLogger(__name__)

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


def create_tracing(settings: Settings, log: EventLog, environ: Mapping[str, str]) -> Tracing | None:
    """The exporter of traces; None if `environ` configures none, or the extra for it is missing.

    Raises `Misconfigured` for OTEL_* variables that cannot be used.
    """
    if not traces_are_wanted(environ):
        return None
    try:
        from hermes_jobs.features.tracing.tracing import Tracing
    except ModuleNotFoundError as error:
        logger.warning("no traces are sent: %s is missing. Install hermes-jobs[otel].", error.name)
        return None
    try:
        return Tracing(
            log,
            version=__version__,
            content=content_is_wanted(environ),
            redact=settings.secrets.redact,
            provider=partial(provider_of, settings),
        )
    except ValueError as error:
        raise Misconfigured(
            f"An OTEL_* variable cannot be used: {error}.",
            hint="Mend it, or set OTEL_SDK_DISABLED=true to go without traces.",
        ) from error


_TASKS = {"review": "review", "flush": "compression", "compression": "compression", "title": "title"}
"""The key of `auxiliary` in the configuration for each purpose of a model call."""


def provider_of(settings: Settings, model: str, purpose: str) -> str:
    """The provider of a model as OpenTelemetry's semantic conventions name it; an empty model is the
    configured one."""
    chosen = settings.set_apart(_TASKS[purpose]) if purpose in _TASKS else None
    if chosen is None or chosen.model != model:
        chosen = settings.choice(model or None)
    return chosen.at.semantic_name
