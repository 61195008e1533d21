"""Traces of turns for OpenTelemetry; imported only if an endpoint is configured."""

from __future__ import annotations

from hermes_jobs.kernel.feature import Feature

FEATURE = Feature(__name__, checks="doctor:checks", tracing="wiring:create_tracing")
