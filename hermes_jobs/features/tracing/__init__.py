"""Traces of turns for OpenTelemetry; imported only if an endpoint is configured."""
