"""Traces of turns for OpenTelemetry; nothing of it is imported unless an endpoint is configured."""
