"""OpenTelemetry's instrumentations of Celery's tasks and of the model's HTTP client.

The model's client wraps httpx2, and only that client is watched: what else speaks HTTP in the process is not
ours to tell of. Each is imported when it is wanted; one that is not installed is missed, and nothing else.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

if TYPE_CHECKING:
    from opentelemetry.instrumentation.httpx import RequestInfo
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

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
    instrumentor = CeleryInstrumentor()  # type: ignore[no-untyped-call]  # it has no types there
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
