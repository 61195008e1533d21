"""The check of `hermes-jobs doctor` for traces: the extra for them, and the collector."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from hermes_jobs.features.tracing.wiring import EXTRA, collector_endpoint, traces_are_wanted
from hermes_jobs.interfaces.cli.doctor.finding import DoctorFinding, ok, warn

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application

CONNECT_SECONDS = 1.0
PORTS = {"http": 80, "https": 443}
ANSWER_SECONDS = 3.0
COLLECTOR_HINT = (
    "Start the collector with a receiver for OTLP over HTTP, or correct OTEL_EXPORTER_OTLP_ENDPOINT."
)


def checks(application: Application, *, live: bool) -> Iterator[DoctorFinding]:  # noqa: ARG001 - as of all
    """Whether spans can be created and the collector accepts them."""
    yield _traces(application.environ)


def _traces(environ: Mapping[str, str]) -> DoctorFinding:
    if not traces_are_wanted(environ):
        return ok("traces", "not sent: no collector is configured (OTEL_EXPORTER_OTLP_ENDPOINT)")
    missing = [name for name in EXTRA if not _is_there(name)]
    if missing:
        text = f"a collector is configured, and {missing[0]} is missing"
        return warn("traces", text, "pip install 'hermes-jobs[otel]'")
    where = collector_endpoint(environ)
    problem = _unreachable(where) or _refused()
    if problem:
        return warn("traces", f"{where} takes no spans: {problem}", COLLECTOR_HINT)
    return ok("traces", f"{where} takes them")


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
    from hermes_jobs.features.tracing.exporters import probe_collector

    try:
        return probe_collector(ANSWER_SECONDS)
    except ValueError as error:
        return str(error)
