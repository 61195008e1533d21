"""What `hermes-jobs doctor` looks at where a collector of traces is configured."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from importlib.util import find_spec
from urllib.parse import urlsplit

from hermes_jobs.interfaces.cli.checks import CONNECT_SECONDS, Finding, ok, warn
from hermes_jobs.telemetry.otel_config import EXTRA, collector_endpoint, traces_are_wanted

CHECK = "traces"
PORTS = {"http": 80, "https": 443}
ANSWER_SECONDS = 3.0
START_IT = "Start the collector with a receiver for OTLP over HTTP, or mend OTEL_EXPORTER_OTLP_ENDPOINT."


def traces(environ: Mapping[str, str]) -> Finding:
    """Whether spans can be made, and are taken where they are sent."""
    if not traces_are_wanted(environ):
        return ok(CHECK, "not sent: no collector is configured (OTEL_EXPORTER_OTLP_ENDPOINT)")
    missing = [name for name in EXTRA if not _is_there(name)]
    if missing:
        told = f"a collector is configured, and {missing[0]} is missing"
        return warn(CHECK, told, "pip install 'hermes-jobs[otel]'")
    where = collector_endpoint(environ)
    refused = _unreachable(where) or _refused()
    if refused:
        return warn(CHECK, f"{where} takes no spans: {refused}", START_IT)
    return ok(CHECK, f"{where} takes them")


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # a package that it would be in
        return False


def _unreachable(url: str) -> str:
    try:
        address = urlsplit(url)
        port = address.port or PORTS.get(address.scheme, 0)
        socket.create_connection((address.hostname or "", port), timeout=CONNECT_SECONDS).close()
    except (OSError, ValueError) as error:
        return getattr(error, "strerror", None) or str(error)
    return ""


def _refused() -> str:
    from hermes_jobs.telemetry.probe_collector import probe_collector

    try:
        return probe_collector(ANSWER_SECONDS)
    except ValueError as error:
        return str(error)
